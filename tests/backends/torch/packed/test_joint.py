"""Cells of several prompts share chunks, and no bit of any cell depends on it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from sonde.backends.base import Row, Work, logprobs_of
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.packed.joint import NotAlike, joined
from sonde.backends.torch.path import choose_path
from tests.architectures import ARCHITECTURES
from tests.backends.torch.tiny import (
    asked,
    at_most,
    captured,
    from_run,
    prompt,
    sites,
    tiny_backend,
)

LENGTHS = (9, 14, 16, 20, 33, 9)


def pairs(backend: TorchBackend, ids: bool = True) -> list[Work]:
    """A grid of each prompt, each with answers of its own and a source run of its own."""
    out = []
    for number, n in enumerate(LENGTHS):
        clean, corrupt = prompt(n, number), prompt(n, 100 + number)
        run = captured(backend, f"clean-{number}", clean)
        rows = [Row(computed=True), *from_run(run, sites(backend, n)[:: 1 + n // 9])]
        out.append(asked(corrupt, rows, [5 + number, 50] if ids else [5, 50]))
    return out


def scored(backend: TorchBackend, work: Sequence[Work]) -> list[np.ndarray]:
    """[rows, columns] of each prompt; every row exactly once."""
    out = [np.full((len(w.rows), len(w.readout.columns)), np.nan) for w in work]
    for part in backend.score(work):
        assert np.isnan(out[part.work][list(part.rows)]).all()
        out[part.work][list(part.rows)] = part.values
    assert all(np.isfinite(each).all() for each in out)
    return out


@pytest.mark.parametrize("name", ["llama", "gpt2", "gemma2", "qwen3_moe"])
def test_prompts_together_have_the_bits_of_each_alone_in_any_order(name: str) -> None:
    backend = tiny_backend(name)
    work = pairs(backend)
    alone = [scored(backend, [each])[0] for each in work]

    for order in (range(len(work)), reversed(range(len(work)))):
        numbers = list(order)
        together = scored(backend, [work[i] for i in numbers])
        for i, found in zip(numbers, together, strict=True):
            assert found.tobytes() == alone[i].tobytes()


@pytest.mark.parametrize("rows", [64, 300])
def test_chunks_that_cut_through_prompts_change_no_bit(rows: int) -> None:
    backend = tiny_backend()
    work = pairs(backend)
    expected = scored(backend, work)
    at_most(backend, rows)

    found = scored(backend, work)

    assert [each.tobytes() for each in found] == [each.tobytes() for each in expected]


def test_work_is_taken_as_it_comes() -> None:
    """A sweep over many pairs prepares them while others run: nothing is listed beforehand."""
    backend, taken = tiny_backend(), list[int]()

    def lazily() -> object:
        for number, each in enumerate(pairs(backend) * 20):
            taken.append(number)
            yield each

    next(iter(backend.score(lazily())))  # type: ignore[arg-type]

    assert len(taken) < 6 * 20


def test_a_prompt_of_its_own_length_is_what_it_was() -> None:
    path = choose_path(ARCHITECTURES["llama"].build())
    traces = path.record([prompt(9, 1), prompt(20, 2)], ())

    both = joined(traces)

    assert both.lengths == (9, 20)
    assert both.residuals[:, 9:].equal(traces[1].residuals)
    assert both.keys_values[1].keys[:9].equal(traces[0].keys_values[1].keys)
    assert joined(traces[:1]) is traces[0]


def test_prompts_whose_layers_are_called_differently_are_not_mixed() -> None:
    path = choose_path(ARCHITECTURES["llama"].build())
    one, other = path.record([prompt(9, 1), prompt(20, 2)], ())
    strange = [
        replace(call, kwargs={**call.kwargs, "extra": torch.ones(3)}) for call in other.calls
    ]

    with pytest.raises(NotAlike):
        joined([one, replace(other, calls=strange)])


def test_where_they_cannot_be_mixed_each_prompt_has_chunks_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = tiny_backend()
    work = pairs(backend)
    expected = scored(backend, work)

    def never(traces: Sequence[object]) -> object:
        if len(traces) > 1:
            raise NotAlike
        return traces[0]

    monkeypatch.setattr("sonde.backends.torch.packed.scorer.joined", never)
    found = scored(backend, work)

    assert [each.tobytes() for each in found] == [each.tobytes() for each in expected]


def test_whole_sequences_are_scored_prompt_by_prompt() -> None:
    backend = tiny_backend("mamba")
    work = pairs(backend, ids=False)[:3]

    together = scored(backend, work)

    for each, found in zip(work, together, strict=True):
        assert found.tobytes() == scored(backend, [each])[0].tobytes()


def test_a_prompt_without_rows_is_no_work() -> None:
    assert list(tiny_backend().score([Work(prompt(9, 1), [], logprobs_of([5]))])) == []
