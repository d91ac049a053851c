"""Rows without work are settled at once; the rest come in chunks, each row exactly once."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sonde.backends.base import FromVector, Row, logprobs_of, write_at
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.packed.cells import PackedCell
from sonde.backends.torch.packed.scoring import Pending, Prompt, chunks, sent, settled
from sonde.backends.torch.packed.unembedding import Unembedding
from sonde.errors import OutOfMemory, SourceRunDropped
from tests.architectures import WIDTH
from tests.backends.torch.tiny import (
    asked,
    at_most,
    baseline,
    captured,
    from_run,
    pair_of_prompts,
    prompt,
    scores,
    sites,
    tiny_backend,
    vector,
)


def cell(row: int, first: int, joins: int) -> PackedCell:
    return PackedCell(row, (), first, joins, ())


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4)), max_size=30), st.integers(1, 40))
def test_chunks_hold_every_cell_once_and_no_more_rows_than_fit(
    places: list[tuple[int, int]], most: int
) -> None:
    cells = [cell(i, first, joins) for i, (first, joins) in enumerate(places)]

    made = list(chunks(cells, lambda _: 9, lambda _cells, rows: rows <= most))

    assert sorted(c.row for chunk in made for c in chunk) == list(range(len(cells)))
    for chunk in made:
        assert len(chunk) == 1 or sum(9 - c.first for c in chunk) <= most


def test_cells_that_enter_late_come_first() -> None:
    cells = [cell(0, 0, 0), cell(1, 0, 3), cell(2, 0, 2)]

    made = list(chunks(cells, lambda _: 9, lambda _cells, rows: rows <= 9))

    assert [c.row for chunk in made for c in chunk] == [1, 2, 0]


def test_rows_without_work_have_the_baselines_answer() -> None:
    answer = [-1.5, -2.5]

    scores = settled([Row(), Row(), Row()], {1}, answer)

    assert scores is not None
    assert scores.rows == (0, 2)
    assert scores.computed == 0
    assert scores.values.tolist() == [[-1.5, -2.5]] * 2
    assert settled([Row()], {0}, answer) is None


def test_the_numbers_of_a_chunk_are_its_own() -> None:
    [scores] = sent_as((4, 2), torch.tensor([[-1.5], [-2.5]])).scores()

    assert scores.rows == (4, 2)
    assert scores.values.tolist() == [[-1.5], [-2.5]]
    assert scores.computed == 2


def sent_as(rows: Sequence[int], values: Tensor) -> Pending:
    """Numbers on their way, for rows of one prompt."""
    tokens = prompt(9, 1)
    made = Prompt(0, asked(tokens, [], [5]), tiny_backend()._path.record([tokens], ())[0])
    return Pending([cell(row, 0, 0) for row in rows], sent(values), [made])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_the_numbers_of_a_chunk_do_not_wait_for_the_next_one() -> None:
    pending = sent_as((0, 1), torch.tensor([[-1.5], [-2.5]], device="cuda"))
    next_one = torch.cuda.Event()
    torch.cuda._sleep(4_000_000_000)
    next_one.record()

    assert [part.values.tolist() for part in pending.scores()] == [[[-1.5], [-2.5]]]
    assert not next_one.query()
    torch.cuda.synchronize()


def test_patches_that_change_nothing_are_answered_before_any_work() -> None:
    """Same source, alpha 0, or a site the last position cannot see."""
    backend = tiny_backend()
    clean, corrupt = pair_of_prompts(9)
    run = captured(backend, "clean", clean)
    shared = [(h, layer, p) for h, layer, p in sites(backend, 9) if p < 3]
    unseen = Row((write_at("mlp_out", 2, 4, FromVector(vector(WIDTH))),))
    differing = from_run(run, [("post_block", 1, 4)])

    parts = list(
        backend.score(
            [
                asked(
                    corrupt,
                    [
                        *from_run(run, shared),
                        *from_run(run, [("mlp_in", 1, 5)], alpha=0.0),
                        unseen,
                        *differing,
                    ],
                )
            ]
        )
    )

    assert [part.computed for part in parts] == [0, 1]
    assert parts[0].rows == tuple(range(len(shared) + 2))
    assert (parts[0].values == baseline(backend, corrupt)).all()


def test_a_row_that_is_to_be_computed_is_computed_whatever_it_writes() -> None:
    backend = tiny_backend()
    tokens = prompt(9, 1)
    own = captured(backend, "own", tokens)
    where = [("mlp_in", 1, 4), ("pre_attn", 0, 0)]

    parts = list(backend.score([asked(tokens, from_run(own, where, computed=True))]))  # type: ignore[arg-type]

    assert [part.computed for part in parts] == [2]


class Spied:
    """A backend's path that counts the cells of each chunk it starts, and may refuse one."""

    def __init__(self, backend: TorchBackend, refuse: Callable[[int], bool] = lambda _: False):
        self.started: list[int] = []
        self._path, self._refuse = backend._path, refuse
        backend._scorer._path = self  # type: ignore[assignment]

    def __getattr__(self, name: str) -> object:
        return getattr(self._path, name)

    def start(self, trace: Any, cells: Any, sources: Any) -> object:
        self.started.append(len(cells))
        if self._refuse(len(cells)):
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried …")
        return self._path.start(trace, cells, sources)


def test_a_chunk_that_does_not_fit_memory_is_halved_and_its_numbers_stay_the_same() -> None:
    backend = tiny_backend()
    clean, corrupt = pair_of_prompts(9)
    rows = from_run(captured(backend, "clean", clean), sites(backend, 9))
    expected = scores(backend, corrupt, rows)
    spied = Spied(backend, lambda cells: cells > 5)
    assert np.array_equal(scores(backend, corrupt, rows), expected)
    assert max(spied.started) > 5
    assert sum(n for n in spied.started if n <= 5) == spied.started[0]


def test_when_not_even_one_cell_fits_that_is_said_and_the_next_call_works() -> None:
    backend = tiny_backend()
    clean, corrupt = pair_of_prompts(9)
    rows = from_run(captured(backend, "clean", clean), sites(backend, 9))
    full = [True]
    Spied(backend, lambda _: full[0])
    with pytest.raises(OutOfMemory, match="not enough for a single cell"):
        list(backend.score([asked(corrupt, rows)]))
    full[0] = False
    assert len(scores(backend, corrupt, rows)) == len(rows)


def test_work_stops_between_chunks_when_nobody_listens() -> None:
    backend = tiny_backend()
    at_most(backend, 20)
    clean, corrupt = pair_of_prompts(9)
    rows = from_run(captured(backend, "clean", clean), sites(backend, 9))
    spied = Spied(backend)

    work = backend.score([asked(corrupt, rows)])
    next(work)
    next(work)
    work.close()  # type: ignore[attr-defined]

    assert len(spied.started) == 1


def test_a_run_dropped_between_chunks_is_noticed() -> None:
    backend = tiny_backend()
    at_most(backend, 20)
    clean, corrupt = pair_of_prompts(9)
    rows = from_run(captured(backend, "clean", clean), sites(backend, 9))
    work = backend.score([asked(corrupt, rows)])
    next(work)
    next(work)

    backend.drop("clean")

    with pytest.raises(SourceRunDropped, match="source dropped: run 'clean'"):
        next(work)


def test_a_run_replaced_between_chunks_is_noticed_too() -> None:
    """The newer run has the same name and other numbers: they must never mix in one grid."""
    backend = tiny_backend()
    at_most(backend, 20)
    clean, corrupt = pair_of_prompts(9)
    rows = from_run(captured(backend, "clean", clean), sites(backend, 9))
    work = backend.score([asked(corrupt, rows)])
    next(work)

    captured(backend, "clean", prompt(9, 8))

    with pytest.raises(SourceRunDropped, match="source dropped: run 'clean'"):
        next(work)


def test_log_probabilities_are_finite_numbers_below_zero() -> None:
    backend = tiny_backend()
    everything = baseline(backend, prompt(9, 1), range(97))

    assert (everything < 0).all()
    assert np.exp(everything).sum() == pytest.approx(1.0, abs=1e-5)


def test_the_unpatched_prompt_is_graded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer serves every row that needs no work, until the prompt is forgotten."""
    backend = tiny_backend()
    graded: list[int] = []
    logprobs = Unembedding.logprobs

    def counted(self: Unembedding, final: Tensor, token_ids: Sequence[int]) -> Tensor:
        graded.append(len(final))
        return logprobs(self, final, token_ids)

    monkeypatch.setattr(Unembedding, "logprobs", counted)
    first, second = pair_of_prompts(9)
    answers = backend.baselines([(tokens, logprobs_of([5, 50])) for tokens in (first, second)], [])

    for tokens, expected in zip((first, second), answers, strict=True):
        assert scores(backend, tokens, [Row()], [5, 50])[0].tolist() == expected
    assert graded == [2]
    backend.forget()
    assert scores(backend, first, [Row()], [5, 50])[0].tolist() == answers[0]
    assert graded == [2, 1]
