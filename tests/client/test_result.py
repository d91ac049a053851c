"""Results, as people read them."""

from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.client.result import CleanRun, SweepResult, results_of
from sonde.schema import Grid

Cells = st.none() | st.integers(-3, 3).map(float)


def result(grid: Grid, **changes: Any) -> SweepResult:
    layers, positions = [5 * n for n in range(len(grid))], [2 + n for n in range(len(grid[0]))]
    return SweepResult(layers, positions, "post_block", "logprob", grid, **changes)


def test_nulls_are_nan_in_numpy() -> None:
    array = result([[1.0, None], [None, 2.0]]).to_numpy()
    np.testing.assert_array_equal(array, [[1.0, np.nan], [np.nan, 2.0]])
    assert result([[None, None]]).to_numpy().dtype == np.float64


def test_of_equal_cells_the_first_in_reading_order_is_the_strongest() -> None:
    assert result([[0.0, 3.0], [3.0, 1.0]]).argmax_cell() == (0, 3)
    assert result([[None, 1.0], [3.0, 3.0]]).argmax_cell() == (5, 2)


def test_without_a_number_there_is_no_strongest_cell() -> None:
    assert result([[None], [None]]).argmax_cell() is None
    assert result([[None]]).top() == []


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(Cells, min_size=n, max_size=n), min_size=1, max_size=4)
    ),
    st.integers(-1, 20),
)
def test_the_top_is_a_stable_sort_of_the_numbers(grid: Grid, k: int) -> None:
    found = result(grid)
    cells = [
        (layer, position, value)
        for layer, row in zip(found.layers, grid, strict=True)
        for position, value in zip(found.positions, row, strict=True)
        if value is not None
    ]
    expected = sorted(cells, key=lambda cell: -cell[2])
    assert found.top(k) == expected[: max(k, 0)]
    assert found.argmax_cell() == next((cell[:2] for cell in expected), None)


@pytest.fixture
def no_window() -> Any:
    mpl.use("agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.usefixtures("no_window")
def test_the_heatmap_has_layers_upwards_and_is_centred_on_the_baseline() -> None:
    ax = result([[-5.0, -1.0], [None, -6.0]], corrupt=-5.0).heatmap()
    assert ax.get_ylim()[0] < ax.get_ylim()[1]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["2", "3"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0", "5"]
    assert ax.get_images()[0].get_clim() == (-9.0, -1.0)
    assert ax.get_title() == "post_block"


@pytest.mark.usefixtures("no_window")
def test_the_heatmap_goes_where_and_looks_as_one_says() -> None:
    import matplotlib.pyplot as plt

    given = plt.subplots()[1]
    ax = result([[0.0, 1.0]]).heatmap(given, cmap="gray", vmin=-2, vmax=2)
    assert ax is given
    assert ax.get_images()[0].get_clim() == (-2, 2)
    assert ax.get_images()[0].get_cmap().name == "gray"
    assert result([[None]]).heatmap().get_images()


def summary(**changes: Any) -> dict[str, Any]:
    """The keys that every server of the contract sends, and no others."""
    return {
        "layers": [0, 1],
        "positions": [3],
        "hook": "post_block",
        "metric": "recovered",
        "grid": [[0.5], [None]],
        "clean": -1.0,
        "corrupt": -4.0,
        "argmax": {"layer": 0, "position": 3, "value": 0.5},
        "skipped": [],
        "alignment": None,
        "noise_floor": 0.0,
        "auto_captured": True,
        "captured_source_run": "dash-1",
        "hook_grids": None,
    } | changes


def test_a_summary_of_one_hook_is_one_result() -> None:
    found = results_of(summary())
    assert list(found) == ["post_block"]
    one = found["post_block"]
    assert (one.layers, one.positions, one.grid) == ([0, 1], [3], [[0.5], [None]])
    assert (one.metric_name, one.clean, one.corrupt) == ("recovered", -1.0, -4.0)
    assert (one.auto_captured, one.captured_source_run, one.noise_floor) == (True, "dash-1", 0.0)
    assert (one.notes, one.sweep) == ([], None)


def test_a_summary_of_several_hooks_is_one_result_each_in_their_order() -> None:
    grids = [
        {"hook": "mlp_out", "grid": [[1.0], [2.0]]},
        {"hook": "mlp_in", "grid": [[3.0], [4.0]]},
    ]
    found = results_of(summary(hook="mlp_out", hook_grids=grids), sweep_id="s1")
    assert {hook: (each.hook, each.grid) for hook, each in found.items()} == {
        "mlp_out": ("mlp_out", [[1.0], [2.0]]),
        "mlp_in": ("mlp_in", [[3.0], [4.0]]),
    }
    assert list(found) == ["mlp_out", "mlp_in"]
    assert {each.sweep_id for each in found.values()} == {"s1"}


def test_what_a_reader_has_to_know_is_in_the_notes() -> None:
    skipped = [{"position": 4, "reason": "no counterpart"}]
    found = results_of(summary(skipped=skipped, alignment={"n_clean": 8}, warnings=["mind this"]))
    assert found["post_block"].notes == [
        "skipped=[{'position': 4, 'reason': 'no counterpart'}]",
        "alignment={'n_clean': 8}",
        "warnings=['mind this']",
    ]


def test_a_clean_run_has_the_baseline_of_each_metric() -> None:
    clean = CleanRun("r", 8, "post_block", clean_logprob=-1.0, clean_logit_diff=2.0)
    assert [clean.baseline(m) for m in ("logprob", "recovered", "logit_diff")] == [-1.0, -1.0, 2.0]
