"""The events and the summary say what came out, and only in numbers that JSON has."""

import json
import math
from typing import Any

import pytest

from sonde.engine import Limits
from sonde.engine.metrics import Grading
from sonde.engine.plan import check
from sonde.engine.tally import Tally
from sonde.schema import PatchSweepRequest, PromptTokens, Summary, Timing
from tests.engine.questions import request
from tests.scripted import Scripted

TIMING = Timing(
    baseline_seconds=0.1, capture_seconds=0.1, cells_seconds=0.1, total_seconds=0.3, cells=6,
    computed_cells=6, cells_per_second=20.0,
)  # fmt: skip


def tally_of(asked: PatchSweepRequest, *, clean: list[float] | None = None) -> Tally:
    """Two layers, three positions; corrupt at −4, or −6 for the foil."""
    plan = check(asked, Scripted(), {}, Limits())
    known = clean[0] if clean else asked.clean_baseline
    tally = Tally(
        plan, [2, 3, 8], Grading(-4.0, known), [-4.0, -6.0][: len(plan.token_ids)], clean, None,
        None, PromptTokens(prompt=["x"]), [], [],
    )  # fmt: skip
    tally.noise = list(tally.baseline)
    return tally


def filled(asked: PatchSweepRequest, **options: Any) -> Summary:
    """With cell (row, column) at −row − column/10."""
    tally = tally_of(asked, **options)
    for hook in tally.plan.hooks:
        for row in range(2):
            for column in range(3):
                tally.cell(hook, row, column, [-row - column / 10, -1.0])
    return tally.summary(TIMING)


def test_cells_fill_the_grid_by_row_and_column() -> None:
    summary = filled(request())

    assert summary.grid == [[0.0, -0.1, -0.2], [-1.0, -1.1, -1.2]]
    assert summary.argmax is not None
    assert (summary.argmax.layer, summary.argmax.position, summary.argmax.value) == (0, 2, 0.0)
    assert summary.argmin is not None
    assert (summary.argmin.layer, summary.argmin.position) == (2, 8)
    assert (summary.corrupt, summary.noise_floor) == (-4.0, 0.0)


def test_the_first_event_has_the_baseline_that_the_last_one_has() -> None:
    for metric, baseline in (("logprob", -4.0), ("logit_diff", 2.0), ("recovered", -4.0)):
        tally = tally_of(request(metric=metric, foil_token=" Rome"), clean=[-1.0, -2.0])

        assert tally.start().corrupt == tally.summary(TIMING).corrupt == baseline


def test_a_cell_that_never_came_is_null() -> None:
    tally = tally_of(request())
    tally.cell("post_block", 1, 2, [-2.0])

    assert tally.summary(TIMING).grid == [[None] * 3, [None, None, -2.0]]


def test_events_carry_the_grids_numbers() -> None:
    tally = tally_of(request(metric="recovered"), clean=[-2.0])

    cell = tally.cell("post_block", 1, 2, [-3.0])

    assert (cell.hook, cell.layer, cell.position, cell.value) == ("post_block", 2, 8, 0.5)
    assert tally.summary(TIMING).grid[1][2] == 0.5
    assert "error" not in cell.model_dump()
    assert "values" not in cell.model_dump()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_null_with_a_reason_and_valid_json(bad: float) -> None:
    tally = tally_of(request())
    tally.cell("post_block", 0, 0, [-9.0])

    cell = tally.cell("post_block", 0, 1, [bad])
    summary = tally.summary(TIMING)

    assert (cell.value, cell.error) == (None, "the log-probability is not a finite number")
    assert [s.model_dump() for s in summary.skipped] == [
        {"hook": "post_block", "layer": 0, "position": 3, "reason": cell.error}
    ]
    assert summary.argmax is not None
    assert summary.argmax.value == -9.0
    for event in (cell, summary):
        json.loads(event.model_dump_json(), parse_constant=lambda word: pytest.fail(word))


def test_a_further_metric_that_is_not_finite_is_reported_too() -> None:
    asked = request(metric="logprob", metrics=["logit_diff"], foil_token=" Rome")
    tally = tally_of(asked)

    cell = tally.cell("post_block", 0, 1, [-2.0, -math.inf])

    assert (cell.value, cell.values) == (-2.0, {"logprob": -2.0, "logit_diff": None})
    assert [skipped.reason for skipped in tally.skipped] == [
        "logit_diff: the log-probability is not a finite number"
    ]


def test_recovered_without_a_gap_is_null_everywhere_and_warned_of() -> None:
    summary = filled(request(metric="recovered"), clean=[-4.0])

    assert summary.metric == "recovered"
    assert summary.grid == [[None] * 3] * 2
    assert summary.argmax is None
    assert summary.argmin is None
    assert len(summary.warnings) == 1
    assert "'recovered' is null: it divides by clean - corrupt" in summary.warnings[0]
    assert (summary.clean, summary.corrupt, summary.noise_floor) == (-4.0, -4.0, 0.0)


def test_recovered_without_a_clean_baseline_says_so() -> None:
    summary = filled(request(metric="recovered"))

    assert summary.grid == [[None] * 3] * 2
    assert "needs a clean baseline" in summary.warnings[0]


def test_the_callers_clean_baseline_is_used_and_echoed() -> None:
    summary = filled(request(metric="recovered", clean_baseline=-2.0))

    assert summary.clean == -2.0
    assert summary.grid[1][0] == 1.5


def test_baselines_under_recovered_are_log_probabilities() -> None:
    summary = filled(request(metric="recovered"), clean=[-2.0])

    assert (summary.clean, summary.corrupt) == (-2.0, -4.0)


def test_under_logit_diff_they_are_differences() -> None:
    asked = request(metric="logit_diff", foil_token=" Rome")

    summary = filled(asked, clean=[-2.0, -5.0])

    assert (summary.clean, summary.corrupt) == (3.0, 2.0)


@pytest.mark.parametrize(("metric", "floor"), [("logprob", 0.5), ("recovered", 0.25)])
def test_the_noise_floor_is_in_the_metrics_units(metric: str, floor: float) -> None:
    tally = tally_of(request(metric=metric), clean=[-2.0])
    tally.noise = [-4.5]

    assert tally.summary(TIMING).noise_floor == floor


def test_hook_grids_come_only_when_hooks_were_asked_for() -> None:
    one, listed = filled(request(hook="mlp_in")), filled(request(hooks=["mlp_in"]))

    assert one.hook_grids is None
    assert listed.hook_grids is not None
    assert [each.hook for each in listed.hook_grids] == ["mlp_in"]
    assert listed.hook_grids[0].grid == one.grid
    assert one.model_dump(exclude={"hook_grids"}) == listed.model_dump(exclude={"hook_grids"})


def test_metric_grids_come_for_every_metric_and_hook_when_asked_for() -> None:
    asked = request(
        hooks=["mlp_in", "pre_attn"], metric="logprob", metrics=["recovered", "logit_diff"],
        foil_token=" Rome",
    )  # fmt: skip

    grids = filled(asked, clean=[-2.0, -5.0]).metric_grids

    assert grids is not None
    assert [(each.metric, each.hook) for each in grids] == [
        (metric, hook)
        for metric in ("logprob", "recovered", "logit_diff")
        for hook in ("mlp_in", "pre_attn")
    ]
    assert grids[2].grid[1][0] == 1.5
    assert grids[4].grid[1][0] == 0.0


def test_the_start_gives_the_final_axes() -> None:
    start = tally_of(request(hooks=["mlp_in"], metric="recovered"), clean=[-2.0]).start()

    assert (start.layers, start.positions, start.cells) == ([0, 2], [2, 3, 8], 6)
    assert (start.hook, start.hooks, start.metric) == ("mlp_in", ["mlp_in"], "recovered")
    assert "hooks" not in tally_of(request()).start().model_dump()


def test_every_key_of_the_summary_is_there() -> None:
    keys = filled(request()).model_dump().keys()

    contract = {
        "layers", "positions", "hook", "metric", "grid", "clean", "corrupt", "argmax", "skipped",
        "alignment", "noise_floor", "auto_captured", "captured_source_run", "hook_grids",
    }  # fmt: skip
    assert contract <= keys
