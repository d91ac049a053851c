"""A sweep patches every site once, from the right source, and proves itself on the way."""

import json
import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from sonde.backends.base import FromRun, FromVector
from sonde.engine import VectorModule, sweep
from sonde.errors import BaselineFailed, ControlFailed, HookNeverFired, WeightsChanged
from sonde.schema import CLASSIC_HOOKS, Cell, PatchSweepRequest, Start, Summary
from tests.engine.questions import CLEAN, CORRUPT, events_of, from_zeros, request, summary_of
from tests.scripted import LAYERS, WIDTH, Scripted, weight

VARYING = {"timing"}
trial_module = import_module("sonde.engine.trial")


def told(summary: Summary) -> dict[str, Any]:
    """A summary without its clock."""
    return summary.model_dump(exclude=VARYING)


def test_each_cell_is_the_corrupt_run_with_one_activation_of_the_clean_one() -> None:
    backend = Scripted()
    clean, corrupt = backend.tokenize(CLEAN), backend.tokenize(CORRUPT)
    base = backend.unpatched(corrupt, [9])[0]

    summary = summary_of(backend, request(layers=[2, 0], positions=[3, 2], hook="mlp_in"))

    assert (summary.layers, summary.positions) == ([2, 0], [3, 2])
    for layer, row in zip([2, 0], summary.grid, strict=True):
        for position, value in zip([3, 2], row, strict=True):
            moved = weight("mlp_in", layer, position) * (clean[position] - corrupt[position])
            assert value == pytest.approx(base + moved)
    assert summary.corrupt == base
    assert summary.clean == backend.unpatched(clean, [9])[0]


def test_events_are_a_start_then_every_cell_once_then_the_summary() -> None:
    start, *cells, summary = events_of(Scripted(), request(hooks=["mlp_in", "pre_attn"]))

    assert isinstance(start, Start)
    assert isinstance(summary, Summary)
    assert summary.hook_grids is not None
    grids = {grid.hook: grid.grid for grid in summary.hook_grids}
    seen = set()
    for cell in cells:
        assert isinstance(cell, Cell)
        row, column = start.layers.index(cell.layer), start.positions.index(cell.position)
        assert grids[cell.hook][row][column] == cell.value
        seen.add((cell.hook, cell.layer, cell.position))
    assert len(seen) == len(cells) == start.cells == 12


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_chunks_make_no_difference(chunk: int) -> None:
    asked = request(hooks=list(CLASSIC_HOOKS), layers=list(range(LAYERS)), positions="all_prompt")

    assert told(summary_of(Scripted(chunk=chunk), asked)) == told(summary_of(Scripted(), asked))


@pytest.mark.parametrize("slab", [1, 7, 12])
def test_a_grid_planned_a_slab_at_a_time_is_the_same(
    slab: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve cells; the controls and the noise row come once, with the first."""
    asked = request(hooks=["mlp_in", "pre_attn"])
    expected = told(summary_of(Scripted(), asked))
    monkeypatch.setattr(trial_module, "SLAB", slab)

    assert told(summary_of(Scripted(), asked)) == expected


def test_the_first_cell_of_a_large_grid_does_not_wait_for_the_plan_of_its_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trial_module, "SLAB", 5)
    backend = Scripted()
    given: list[int] = []
    score = backend.score

    def counted(work: Any) -> Any:
        def noted() -> Any:
            for each in work:
                given.append(len(each.rows))
                yield each

        return score(noted())

    monkeypatch.setattr(backend, "score", counted)
    events = sweep(backend, request(hooks=["mlp_in", "pre_attn"]))
    while not isinstance(next(events), Cell):
        pass
    assert len(given) == 1
    list(events)

    assert sum(given) == 12 + 1 + 4  # the cells, the baseline again, two controls at each hook
    assert given[1:] == [5, 2]


def test_a_list_of_one_hook_is_that_hook() -> None:
    one = told(summary_of(Scripted(), request(hook="mlp_out")))
    listed = told(summary_of(Scripted(), request(hooks=["mlp_out"])))

    assert listed.pop("hook_grids")[0]["grid"] == one["grid"]
    assert one.pop("hook_grids") is None
    assert listed == one


def test_several_hooks_give_what_each_gives_alone_from_one_baseline_and_one_capture() -> None:
    backend = Scripted()
    together = summary_of(backend, request(hooks=list(CLASSIC_HOOKS)))

    assert together.hook_grids is not None
    for each in together.hook_grids:
        assert each.grid == summary_of(Scripted(), request(hook=each.hook)).grid
    assert together.grid == together.hook_grids[0].grid
    assert backend.log.count("baselines 2") == 1
    assert backend.log.count("capture clean") == 1
    assert sum(row.computed and not row.writes for row in backend.scored) == 1


def test_several_metrics_come_from_the_same_runs() -> None:
    backend = Scripted()
    asked = request(metric="logprob", metrics=["recovered", "logit_diff"], foil_token=" Rome")

    summary = summary_of(backend, asked)

    assert summary.metric_grids is not None
    for each in summary.metric_grids:
        alone = request(metric=each.metric, foil_token=" Rome")
        assert each.grid == summary_of(Scripted(), alone).grid
    assert backend.log.count("score") == 1


def test_recovered_is_measured_from_corrupt_to_clean() -> None:
    summary = summary_of(Scripted(), request(metric="recovered"))
    raw = summary_of(Scripted(), request())

    assert summary.clean is not None
    assert summary.corrupt is not None
    for row, values in zip(summary.grid, raw.grid, strict=True):
        for share, value in zip(row, values, strict=True):
            assert share is not None
            assert value is not None
            assert share == pytest.approx(
                (value - summary.corrupt) / (summary.clean - summary.corrupt)
            )


def test_equal_prompts_recover_nothing_and_say_so() -> None:
    summary = summary_of(Scripted(), request(metric="recovered", clean_prompt=CORRUPT))

    assert summary.grid == [[None] * 3] * 2
    assert "divides by clean - corrupt" in summary.warnings[0]


def test_alpha_and_mask_reach_every_cell() -> None:
    backend = Scripted()
    summary_of(backend, request(alpha=0.25, mask={"indices": [1, 4]}))

    cells = [row.writes[0] for row in backend.scored if not row.computed]
    assert {patch.alpha for patch in cells} == {0.25}
    for patch in cells:
        assert patch.mask is not None
        assert patch.mask.tolist() == [0, 1, 0, 0, 1, 0, 0, 0]


def test_a_vector_source_needs_no_clean_prompt() -> None:
    backend = Scripted()
    summary = summary_of(backend, from_zeros())

    cells = [row.writes[0] for row in backend.scored if not row.computed]
    assert all(isinstance(p.source, FromVector) and not p.source.values.any() for p in cells)
    assert (summary.clean, summary.alignment, summary.auto_captured) == (None, None, False)
    assert backend.log.count("baselines 1") == 1


def test_a_named_vector_is_taken_at_its_site() -> None:
    vectors = {("mlp_in", layer): np.full(WIDTH, layer, dtype=np.float32) for layer in (0, 2)}
    backend = Scripted()

    summary_of(
        backend,
        from_zeros(source_module="joy", hook="mlp_in"),
        modules={"joy": VectorModule(vectors, scale=3.0)},  # type: ignore[arg-type]
    )

    for row in backend.scored:
        if not row.computed:
            source = row.writes[0].source
            assert isinstance(source, FromVector)
            assert source.values.tolist() == [3.0 * row.writes[0].site.layer] * WIDTH


def test_controls_at_each_hook_are_computed_and_equal_the_baseline() -> None:
    backend = Scripted()
    summary = summary_of(backend, request(hooks=["mlp_in", "post_block"]))

    assert [(c.kind, c.hook, c.layer, c.position) for c in summary.controls] == [
        (kind, hook, 2, 3)
        for hook in ("mlp_in", "post_block")
        for kind in ("alpha_zero", "self_patch")
    ]
    assert all(control.passed and control.difference == 0 for control in summary.controls)
    computed = [row for row in backend.scored if row.computed]
    assert len(computed) == 5
    own = computed[2].writes[0].source
    assert isinstance(own, FromRun)
    assert own.run.endswith(".own")


def test_a_vector_sweep_has_its_controls_too() -> None:
    kinds = [control.kind for control in summary_of(Scripted(), from_zeros()).controls]

    assert kinds == ["alpha_zero", "self_patch"]


def test_a_control_that_fails_ends_the_sweep_without_a_summary() -> None:
    backend = Scripted(drift=1e-9)
    seen: list[object] = []

    with pytest.raises(ControlFailed, match="alpha_zero at post_block, layer 2, position 3"):
        seen.extend(sweep(backend, request()))

    assert backend.runs == {}
    assert backend.leases == set()


def test_where_bits_depend_on_the_batch_controls_may_be_a_little_off() -> None:
    summary = summary_of(Scripted(drift=1e-5, noise=2e-5, exact=False), request())

    assert {round(c.difference, 9) for c in summary.controls} == {1e-5}
    assert summary.noise_floor == pytest.approx(2e-5)


def test_the_noise_floor_is_measured_and_a_number() -> None:
    assert summary_of(Scripted(), request()).noise_floor == 0.0
    noisy = summary_of(Scripted(noise=0.01), request(metric="recovered"))
    gap = abs(noisy.clean - noisy.corrupt)  # type: ignore[operator]
    assert noisy.noise_floor == pytest.approx(0.01 / gap)


@pytest.mark.parametrize("bad", [math.nan, -math.inf])
def test_a_cell_that_is_no_number_is_null_with_a_reason_in_valid_json(bad: float) -> None:
    backend = Scripted(forced={("post_block", 0, 3): [bad]})
    events = events_of(backend, request())

    summary = events[-1]
    assert isinstance(summary, Summary)
    assert summary.grid[0][1] is None
    assert [(s.layer, s.position) for s in summary.skipped] == [(0, 3)]
    assert summary.argmax is not None
    for event in events:
        json.loads(event.model_dump_json(), parse_constant=lambda word: pytest.fail(word))


def test_a_baseline_that_is_no_number_ends_the_sweep() -> None:
    class Broken(Scripted):
        def unpatched(self, tokens: Any, ids: Any) -> list[float]:
            return [math.nan for _ in ids]

    with pytest.raises(BaselineFailed, match="not finite numbers"):
        events_of(Broken(), request())


def test_a_rerun_that_is_no_number_ends_the_sweep() -> None:
    with pytest.raises(ControlFailed, match="run among the cells, gave"):
        events_of(Scripted(noise=math.nan), request())


def test_a_failure_in_mid_sweep_is_the_callers_to_see() -> None:
    def fail(chunk: int) -> None:
        if chunk == 1:
            raise HookNeverFired("0 of 1 patches were applied")

    backend = Scripted(before_chunk=fail)
    events = sweep(backend, request())

    assert isinstance(next(events), Start)
    with pytest.raises(HookNeverFired):
        list(events)
    assert backend.runs == {}


@pytest.mark.parametrize("asked", [request(), from_zeros()])
def test_weights_that_change_in_mid_sweep_leave_no_result(asked: PatchSweepRequest) -> None:
    def train(chunk: int) -> None:
        backend.weights = "w2"

    backend = Scripted(before_chunk=train)
    events = sweep(backend, asked)
    assert isinstance(next(events), Start)
    with pytest.raises(WeightsChanged, match="from w1 to w2 while.*repeat the request"):
        list(events)
    assert backend.runs == {}


def test_weights_that_are_noticed_at_the_baseline_are_those_of_the_sweep() -> None:
    class Trained(Scripted):
        def baselines(self, *args: Any) -> list[list[float]]:
            self.weights = "w2"
            return super().baselines(*args)

    assert isinstance(events_of(Trained(), request())[-1], Summary)


def test_words_stand_under_the_columns() -> None:
    summary = summary_of(Scripted(), request())

    assert summary.tokens.prompt[:3] == ["", "The", " big"]
    assert summary.tokens.clean is not None
    assert summary.tokens.clean[2] == " Eiffel"


def test_the_clock_accounts_for_the_cells() -> None:
    timing = summary_of(Scripted(), request()).timing

    assert (timing.cells, timing.computed_cells) == (6, 6)
    parts = timing.baseline_seconds + timing.capture_seconds + timing.cells_seconds
    assert 0 < parts <= timing.total_seconds
