"""Trials side by side are what each is alone: own zero, own controls, own noise floor."""

import numpy as np
import pytest

from sonde.backends.base import FromVector, Row, logprobs_of, write_at
from sonde.engine.controls import control_rows
from sonde.engine.trial import Panel, Trial, run
from sonde.errors import ControlFailed
from tests.scripted import WIDTH, Scripted

NOTHING = FromVector(np.zeros(WIDTH, dtype=np.float32))


def trial(backend: Scripted, text: str) -> Trial:
    """A grid of two layers and all positions, with both controls."""
    tokens, readout = backend.tokenize(text), logprobs_of([9, 10])
    backend.capture("own", tokens, backend.hooks, range(4), range(len(tokens)))
    [baseline] = backend.baselines([(tokens, readout)], [])

    def row_at(place: tuple[int, ...]) -> Row:
        layer, position = place
        return Row((write_at("mlp_in", layer, position, NOTHING),))

    controls = control_rows([write_at("mlp_in", 1, 1, NOTHING)], "own")
    panels = [Panel((2, len(tokens)), row_at)]
    return Trial(backend.describe(), tokens, readout, baseline, panels, controls)


def found(backend: Scripted, trials: list[Trial]) -> list[dict[tuple[int, int], list[float]]]:
    out: dict[int, dict[tuple[int, int], list[float]]] = {id(t): {} for t in trials}
    for made in run(backend, trials):
        for each in made:
            assert (each.panel, each.cell) not in out[id(each.trial)]
            out[id(each.trial)][each.panel, each.cell] = each.values
    return [out[id(t)] for t in trials]


def test_several_trials_together_are_each_what_they_are_alone() -> None:
    texts = ["The Eiffel Tower is", "The Colosseum is in the city"]
    alone = []
    for text in texts:
        backend = Scripted(chunk=3)
        alone += found(backend, [trial(backend, text)])
    backend = Scripted(chunk=3)
    first = trial(backend, texts[0])
    first = Trial(
        first.model, first.tokens, first.readout, first.baseline, first.panels, first.controls[:1]
    )
    trials = [first, trial(backend, texts[1])]

    assert found(backend, trials) == alone
    for each in trials:
        assert each.noise == each.baseline
        assert each.computed == each.n_cells
        assert all(control.passed for control in each.judged)
    assert [len(each.judged) for each in trials] == [1, 2]


def test_cells_are_counted_row_by_row() -> None:
    places: list[tuple[int, ...]] = []
    panel = Panel((2, 3, 4), lambda place: places.append(place) or Row())  # type: ignore[func-returns-value]

    for number in range(panel.n_cells):
        panel.row(number)

    assert places == [(i, j, k) for i in range(2) for j in range(3) for k in range(4)]


def test_cells_without_a_row_are_not_run_and_the_others_keep_their_numbers() -> None:
    backend = Scripted(chunk=3)
    whole, some = trial(backend, "The Eiffel Tower is"), trial(backend, "The Eiffel Tower is")
    [panel] = whole.panels
    some.panels = [Panel(panel.shape, panel.row_at, frozenset({0, 5}))]
    assert some.n_cells == whole.n_cells - 2 == panel.size - 2

    every, found_some = found(backend, [whole, some])
    assert found_some == {cell: v for cell, v in every.items() if cell not in {(0, 0), (0, 5)}}


def test_a_control_that_is_not_the_baseline_ends_everything() -> None:
    backend = Scripted(drift=0.5)

    with pytest.raises(ControlFailed, match="differs from the baseline"):
        found(backend, [trial(backend, "The Eiffel Tower is")])


def test_trials_are_taken_as_they_are_needed() -> None:
    backend, made = Scripted(chunk=3), list[str]()

    def lazily() -> object:
        for text in ("The Eiffel Tower is", "The Colosseum is in"):
            made.append(text)
            yield trial(backend, text)

    scored = run(backend, lazily())  # type: ignore[arg-type]
    next(scored)

    assert len(made) == 1
    scored.close()  # type: ignore[attr-defined]


def test_the_noise_of_an_unpatched_row_is_kept() -> None:
    backend = Scripted(noise=0.25)
    one = trial(backend, "The Eiffel Tower is")
    one.controls = ()
    found(backend, [one])

    assert one.noise is not None
    assert one.noise[0] - one.baseline[0] == pytest.approx(0.25)


def test_a_source_run_is_leased_again_while_trials_run(monkeypatch: pytest.MonkeyPatch) -> None:
    backend, renewed = Scripted(chunk=1), list[int]()
    one = trial(backend, "The Eiffel Tower is")
    one.leases = [lambda: renewed.append(1)]
    monkeypatch.setattr("sonde.engine.trial.RENEW_SECONDS", -1.0)

    found(backend, [one])

    assert len(renewed) > 3


def test_controls_are_told_in_their_order_whichever_was_done_first() -> None:
    backend = Scripted(chunk=3)
    one = trial(backend, "The Eiffel Tower is")
    found(backend, [one])
    kinds = [control.kind for control in one.judged]
    assert len(set(kinds)) == 2

    one.found = dict(reversed(one.found.items()))

    assert [control.kind for control in one.judged] == kinds
