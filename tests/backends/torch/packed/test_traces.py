"""Unpatched runs are kept while they are small, the last two in any case."""

from collections.abc import Iterable, Sequence

import pytest

from sonde.backends.base import logprobs_of
from sonde.backends.torch.packed import traces as module
from sonde.backends.torch.packed.trace import Trace
from sonde.backends.torch.packed.traces import KEPT, Traces
from sonde.backends.torch.path import Path, choose_path
from sonde.schema import Hook
from tests.architectures import ARCHITECTURES
from tests.backends.torch.tiny import prompt

PATH = choose_path(ARCHITECTURES["llama"].build())
PROMPTS = [prompt(9, seed) for seed in range(6)]


def test_small_runs_are_kept_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 4)
    traces = Traces(10**9)
    for tokens in PROMPTS:
        traces.prepare(PATH, [tokens], ())

    assert len(traces) == 4
    assert traces[tuple(PROMPTS[-1])].tokens == tuple(PROMPTS[-1])


def test_without_room_the_last_two_are_kept_all_the_same() -> None:
    traces = Traces(0)
    for tokens in PROMPTS:
        traces.prepare(PATH, [tokens], ())

    assert len(traces) == KEPT
    traces.prepare(PATH, PROMPTS, ())
    assert len(traces) == len(PROMPTS)  # what is wanted now is there, however much it is


def test_a_run_is_made_again_only_for_a_hook_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    record = Path.record

    def counted(self: Path, prompts: Sequence[Sequence[int]], hooks: Iterable[Hook]) -> list[Trace]:
        runs.append(len(prompts))
        return record(self, prompts, hooks)

    monkeypatch.setattr(Path, "record", counted)
    traces = Traces(10**9)
    traces.prepare(PATH, PROMPTS[:2], ())
    traces.prepare(PATH, PROMPTS[:3], ["post_block"])
    traces.prepare(PATH, PROMPTS[:1], ["mlp_in"])
    traces.prepare(PATH, PROMPTS[:1], ["mlp_in", "pre_attn"])

    assert runs == [2, 1, 1]


def test_what_a_forgotten_prompt_told_is_forgotten_with_it() -> None:
    traces, readout = Traces(0), logprobs_of([5])
    traces.prepare(PATH, PROMPTS[:1], ())
    traces.told[tuple(PROMPTS[0]), readout] = [-1.0]
    traces.prepare(PATH, PROMPTS[1:3], ())

    assert traces.told == {}
    traces.clear()
    assert (len(traces), traces.nbytes()) == (0, 0)
