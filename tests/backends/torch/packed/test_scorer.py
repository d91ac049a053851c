"""Work is scored window by window; what a window needs is made once (see also `test_joint`)."""

import pytest

from sonde.backends.base import Row
from sonde.backends.torch.packed import scoring
from tests.backends.torch.tiny import asked, from_vector, prompt, sites, tiny_backend, vector


def test_one_that_cannot_be_joined_is_scored_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = tiny_backend()
    windows: list[int] = []
    compare = scoring.compare

    def counted(window: scoring.Window, *rest: object) -> object:
        windows.append(len(window.prompts))
        return compare(window, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(scoring, "compare", counted)
    work = [asked(prompt(9, seed), [Row(computed=True)]) for seed in range(3)]
    list(backend.score(work))

    assert windows == [3]


def test_the_rate_is_learnt_from_what_was_computed() -> None:
    backend = tiny_backend()
    before = backend._scorer._rate
    rows = from_vector(vector(32), sites(backend, 37))
    list(backend.score([asked(prompt(37, 1), rows)]))

    assert backend._scorer._rate != before


def test_the_cost_of_several_prompts_is_their_sum() -> None:
    backend = tiny_backend()
    work = [asked(prompt(9, seed), from_vector(vector(0), sites(backend, 9))) for seed in (1, 2)]
    one, both = backend.cost(work[:1]), backend.cost(work)

    assert both.computed_rows == 2 * one.computed_rows
    assert both.token_layers == 2 * one.token_layers
