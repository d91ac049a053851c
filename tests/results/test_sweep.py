"""A finished sweep, as people use it."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sonde.errors import BadRequest, UnknownHook
from sonde.results import ScoredSite, Sweep
from sonde.schema import MetricGrid, PromptTokens, Summary
from sonde.schema.table import Table, TableSummary
from tests.results.summaries import (
    SHAPES,
    axis,
    general,
    provenance,
    summary,
    sweep,
    table,
    three_hooks,
    with_tokens,
)


def test_grids_are_arrays_with_nan_for_null() -> None:
    grid = sweep().grids["post_block"]
    assert grid.shape == (2, 3)
    np.testing.assert_array_equal(grid, [[-5.0, -4.0, np.nan], [-1.0, -5.5, -5.0]])


def test_grids_cannot_be_changed_by_accident() -> None:
    with pytest.raises(ValueError, match="read-only"):
        sweep().grids["post_block"][0, 0] = 1.0


def test_a_sweep_asked_for_by_one_hook_has_that_grid() -> None:
    single = sweep(hook_grids=None)
    assert single.hooks == ["post_block"]
    np.testing.assert_array_equal(single.grids["post_block"], sweep().grids["post_block"])


def test_the_largest_and_the_smallest_value_know_their_token() -> None:
    result = sweep()
    assert result.argmax == ScoredSite("post_block", 1, 0, -1.0, "<s>")
    assert result.argmin == ScoredSite("post_block", 1, 1, -5.5, "The")


def test_of_equal_values_the_first_in_row_major_order_wins_and_the_first_hook() -> None:
    result = sweep({"mlp_out": [[-5.0, -2.0], [-2.0, -5.0]], "pre_attn": [[-2.0, -5.0]] * 2})
    assert result.argmax == ScoredSite("mlp_out", 0, 1, -2.0, "The")
    assert [site[:3] for site in result.top(3)] == [
        ("mlp_out", 0, 1),
        ("mlp_out", 1, 0),
        ("pre_attn", 0, 0),
    ]
    assert result.argmin == ScoredSite("mlp_out", 0, 0, -5.0, "<s>")


def test_the_largest_value_may_be_at_a_later_hook() -> None:
    found = sweep({"mlp_out": [[-4.0]], "pre_attn": [[-3.0]]}).argmax
    assert found is not None
    assert found.hook == "pre_attn"


def test_a_grid_of_nulls_has_no_largest_value() -> None:
    result = sweep({"mlp_out": [[None, None]]})
    assert result.argmax is None
    assert result.argmin is None
    assert result.top() == []


def test_top_by_value_descends_and_by_abs_looks_both_ways_from_the_baseline() -> None:
    result = sweep({"mlp_out": [[-4.0, -8.0, -4.5]]})
    assert [site.value for site in result.top(2)] == [-4.0, -4.5]
    assert [site.value for site in result.top(2, by="abs")] == [-8.0, -4.0]
    assert len(result.top(99)) == 3
    assert result.top(0) == []


def test_columns_carry_the_token_at_their_own_position() -> None:
    result = sweep(positions=[2, 0, 1], tokens=PromptTokens(prompt=["a", "b", "c"]))
    assert result.tokens == ["c", "a", "b"]
    assert result.argmax == ScoredSite("post_block", 1, 2, -1.0, "c")


def test_further_metrics_come_by_metric_and_hook() -> None:
    further = MetricGrid(
        metric="logit_diff", hook="post_block", grid=[[1.0] * 3] * 2, argmax=None, argmin=None
    )
    grids = sweep(metric_grids=[further]).metric_grids
    np.testing.assert_array_equal(grids["logit_diff"]["post_block"], np.ones((2, 3)))
    assert sweep().metric_grids == {}


def test_prompts_are_those_of_the_request_or_else_the_tokens_joined() -> None:
    assert sweep().clean_prompt == "The Eiffel Tower is in the city of"
    bare = Sweep.of(summary(), provenance().model_copy(update={"request": {}}))
    assert bare.clean_prompt is None
    assert bare.corrupt_prompt == "<s>The Colos"


def test_the_rest_of_the_summary_is_within_reach() -> None:
    result = sweep(warnings=["careful"])
    assert (result.metric, result.clean, result.corrupt) == ("logprob", -0.5, -5.0)
    assert (result.layers, result.positions) == ([0, 1], [0, 1, 2])
    assert (result.noise_floor, result.warnings) == (0.0, ["careful"])
    assert len(result.controls) == 2
    assert result.timing.cells == 6


def test_a_result_is_equal_however_it_travelled() -> None:
    streamed = Sweep.of(Summary(**dict(summary())), provenance())
    assert streamed == sweep()
    assert '"type"' not in streamed.to_json()


def test_one_line_says_what_it_is_and_what_it_found() -> None:
    line = repr(sweep())
    assert "\n" not in line
    assert line == (
        "<Sweep tiny/llama logprob, 1 hook × 2 layers × 3 positions; "
        "largest −1.00 at post_block, layer 1, position 0 “<s>”>"
    )


def test_printed_it_lists_the_largest_values() -> None:
    lines = str(sweep()).splitlines()
    assert lines[0] == ("tiny/llama: log-probability of “·Paris”, 1 hook × 2 layers × 3 positions")
    assert lines[2].split(maxsplit=1) == ["−1.00", "post_block, layer 1, position 0 “<s>”"]
    assert len(lines) == 7


def test_neither_repr_nor_str_passes_an_escape_sequence_on() -> None:
    weird = with_tokens("\x1b[2J", "\x1b]0;title\x07")
    evil = provenance().model_copy(update={"model": "\x1b[2J"})
    result = replace(weird, provenance=evil)
    assert "\x1b" not in repr(result) + str(result)


@pytest.mark.parametrize("suffix", ["png", "svg", "html", "json", "csv", "parquet", "PNG"])
def test_saving_writes_what_the_suffix_names_and_nothing_else(tmp_path: Path, suffix: str) -> None:
    saved = sweep().save(tmp_path / f"result.{suffix}")
    assert saved == tmp_path / f"result.{suffix}"
    assert [path.name for path in tmp_path.iterdir()] == [saved.name]
    start = {"png": b"\x89PNG", "svg": b"<?xml", "html": b"<!doctype html>", "json": b"{"}
    start["parquet"] = b"PAR1"
    assert saved.read_bytes().startswith(start.get(suffix.lower(), b'"hook","layer"'))


@pytest.mark.parametrize("name", ["result.pdf", "result", "result."])
def test_an_unknown_suffix_names_those_that_work(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadRequest, match=r"\.png, \.svg, \.html, \.json, \.csv"):
        sweep().save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_the_same_result_gives_the_same_picture(tmp_path: Path) -> None:
    first, second = (three_hooks(4, 3).save(tmp_path / name) for name in ("a.svg", "b.svg"))
    assert first.read_bytes() == second.read_bytes()


def test_a_hook_that_was_not_swept_cannot_be_drawn() -> None:
    with pytest.raises(UnknownHook, match="post_block"):
        sweep().heatmap("mlp_in")


def test_importing_the_layer_imports_neither_torch_nor_matplotlib() -> None:
    code = "import sys, sonde.results; print(sorted({'torch', 'matplotlib'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_a_general_sweep_has_what_a_classic_one_has() -> None:
    result = SHAPES["two axes"]
    assert result.hooks == ["post_block", "mlp_out"]
    assert result.axes["mlp_out"] == {"layer": [0, 3, 6], "position": [1, 2]}
    assert (result.layers, result.positions, result.tokens) == (
        [0, 3, 6],
        [1, 2],
        ["The", " Colos"],
    )
    assert result.argmax == ScoredSite("post_block", 6, 2, -2.5, " Colos")
    assert (result.clean_prompt, result.corrupt_prompt) == ("The Tower", "The Colosseum")
    assert result.summary is None
    assert result.metric_grids == {}


def test_a_sweep_of_layers_alone_has_arrays_of_layers_and_sites_without_a_position() -> None:
    result = SHAPES["one axis"]
    np.testing.assert_array_equal(result.grids["post_block"], [-5.0, -4.5, -4.0])
    assert (result.layers, result.positions, result.tokens) == ([0, 3, 6], [], [])
    assert result.argmax == ScoredSite("post_block", 6, None, -4.0, "")
    assert repr(result).endswith(
        "1 hook × 3 layers, positions together; largest −4.00 at post_block, layer 6>"
    )


def test_other_metrics_are_asked_for_by_name() -> None:
    result = SHAPES["several metrics"]
    assert (result.metric, result.metrics) == ("rank", ["rank", "kl_clean"])
    assert result.values("kl_clean")["post_block"].shape == (3, 2)
    assert list(result.metric_grids) == ["rank", "kl_clean"]
    with pytest.raises(BadRequest, match="'prob' was not measured here; there are rank, kl_clean"):
        result.values("prob")


def test_what_is_beside_the_cells_is_kept_apart_from_them() -> None:
    features = axis("feature", 7, 9)
    beside = Table(
        kind="random_direction",
        hook="post_block",
        axes=[features, axis("draw", 0)],
        values={"logprob": [9.0, 9.0]},
    )
    result = general(table(features), beside)
    assert result.grids["post_block"].shape == (2,)
    assert result.argmax is not None
    assert result.argmax.value == -4.5
    assert len(result.views) == 1
    assert '"random_direction","post_block",7,0,"logprob",9.0' in result.to_csv()


@pytest.mark.parametrize("name", SHAPES)
def test_a_general_sweep_of_any_shape_is_saved_as_anything(tmp_path: Path, name: str) -> None:
    for suffix in ("png", "svg", "html", "json", "csv", "parquet"):
        assert SHAPES[name].save(tmp_path / f"a.{suffix}").stat().st_size > 0
    assert Sweep.from_json(tmp_path / "a.json") == SHAPES[name]
    assert repr(SHAPES[name])
    assert str(SHAPES[name])


def test_a_general_result_is_equal_however_it_travelled() -> None:
    whole = SHAPES["one axis"]
    assert Sweep(TableSummary(**dict(whole.table)), whole.provenance) == whole
