"""The heatmap as a figure."""

import threading
from collections.abc import Iterator

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from sonde.results.plot import image
from tests.results.summaries import (
    LAYERS,
    SHAPES,
    WEIRD,
    axis,
    general,
    sweep,
    table,
    three_hooks,
    with_tokens,
)


@pytest.fixture(autouse=True)
def _no_figure_left() -> Iterator[None]:
    yield
    plt.close("all")


def test_hooks_stand_side_by_side_on_one_colour_scale() -> None:
    figure = three_hooks(4, 5).heatmap()
    panels = [ax for ax in figure.axes if ax.get_images()]
    assert [ax.get_title() for ax in panels] == ["post_block", "post_attn", "mlp_out"]
    assert len({ax.get_images()[0].get_clim() for ax in panels}) == 1
    assert len({ax.get_position().y0 for ax in panels}) == 1


def test_colours_are_centred_on_the_corrupt_baseline() -> None:
    drawn = sweep().heatmap().axes[0].get_images()[0]
    assert drawn.get_clim() == (-9.0, -1.0)
    assert drawn.origin == "lower"


def test_recovered_is_centred_on_zero() -> None:
    figure = sweep({"mlp_out": [[0.25, 1.0]]}, metric="recovered").heatmap()
    assert figure.axes[0].get_images()[0].get_clim() == (-1.0, 1.0)


def test_one_hook_can_be_drawn_alone_or_on_given_axes() -> None:
    result = three_hooks(4, 5)
    assert len(result.heatmap("mlp_out").axes) == 2  # the panel and its colour bar
    figure = Figure()
    ax = figure.add_subplot()
    assert result.heatmap("post_attn", ax=ax) is ax
    assert ax.get_title() == "post_attn"
    assert result.heatmap(ax=figure.add_subplot()).get_title() == "post_block"


def test_columns_are_tokens_and_rows_are_layers() -> None:
    ax = sweep(layers=[4, 8]).heatmap().axes[0]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["<s>", "The", "·Colos"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["4", "8"]


def test_the_largest_cell_is_framed_in_its_own_panel_only() -> None:
    result = three_hooks(4, 5)
    assert result.argmax is not None
    framed = [ax.get_title() for ax in result.heatmap().axes if ax.get_images() and ax.patches]
    assert framed == [result.argmax.hook]


def test_cells_within_the_noise_floor_are_hatched_and_only_they() -> None:
    def hatched(floor: float) -> int:
        ax = sweep(noise_floor=floor).heatmap().axes[0]
        return sum(len(c.get_paths()) for c in ax.collections if c.get_hatch())

    assert hatched(0.25) == 2
    assert hatched(0.0) == 0


def test_no_token_is_read_as_mathtext_or_warned_about() -> None:
    assert image(with_tokens(*WEIRD), "png").startswith(b"\x89PNG")
    assert b"svg" in image(with_tokens(*WEIRD), "svg")


def test_long_prompts_stack_their_panels() -> None:
    panels = [ax for ax in three_hooks(2, 120).heatmap().axes if ax.get_images()]
    assert len({ax.get_position().x0 for ax in panels}) == 1


@pytest.mark.parametrize(
    "grid", [[[-5.0]], [[None]], [[-5.0, -5.0]]], ids=["one cell", "only a null", "all baseline"]
)
def test_grids_with_nothing_to_see_can_be_drawn(grid: list[list[float | None]]) -> None:
    assert image(sweep({"mlp_in": grid}), "png").startswith(b"\x89PNG")


def test_a_sweep_without_baselines_can_be_drawn() -> None:
    assert image(sweep(clean=None, corrupt=None), "png").startswith(b"\x89PNG")


def test_a_picture_can_be_made_in_any_thread_and_leaves_pyplot_alone() -> None:
    made: list[bytes] = []
    thread = threading.Thread(target=lambda: made.append(image(sweep(), "png")))
    thread.start()
    thread.join()
    assert made[0].startswith(b"\x89PNG")
    assert plt.get_fignums() == []


def test_rows_and_columns_are_those_of_the_axes() -> None:
    ax = SHAPES["one axis"].heatmap().axes[0]
    assert [label.get_text() for label in ax.get_xticklabels()] == [""]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0", "3", "6"]
    assert ax.get_ylabel() == "layer"
    assert SHAPES["three axes"].heatmap().axes[0].get_ylabel() == "layer.feature"


def test_tables_of_unlike_axes_keep_their_own_rows() -> None:
    result = general(table(axis("feature", 7)), table(LAYERS, hook="mlp_out"))
    first, second = (ax for ax in result.heatmap().axes if ax.get_images())
    assert (first.get_ylabel(), second.get_ylabel()) == ("feature", "layer")
    assert len(second.get_yticklabels()) == 3
