"""With a scheduler of the user's own, patched requests and the prefix cache are kept apart by salt.

On a real engine that has vLLM's own scheduler in place of ours.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial

import numpy as np
import pytest

from sonde.backends.base import FromVector, Row, write_at
from sonde.backends.vllm.backend import VllmBackend
from sonde.backends.vllm.flight import Answer
from sonde.errors import HookNeverFired
from tests.backends.vllm.asking import work
from tests.backends.vllm.tiny import on_vllm, save

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

STOCK = {"scheduler_cls": "vllm.v1.core.sched.scheduler.Scheduler"}
PROMPT = [n * 7 % 300 + 1 for n in range(70)]
"""Two blocks of 32 tokens, and some."""
IDS = (5, 50, 17)
PLAIN = Row(computed=True)


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmBackend]:
    saved = save("llama", tmp_path_factory.mktemp("llama"))
    with closing(on_vllm(saved, options=STOCK)) as made:
        yield made


def patched(seed: int) -> Row:
    values = np.random.default_rng(seed).normal(size=64).astype(np.float32)
    return Row((write_at("pre_attn", 0, 40, FromVector(values)),))


def answered(backend: VllmBackend, row: Row, prompt: Sequence[int] = PROMPT) -> Answer:
    starts = backend._starts([work(prompt, [row], IDS)])
    return next(iter(backend._flight.each(starts, 1)))[0]


def values(answer: Answer) -> list[float]:
    return [answer.output.outputs[0].logprobs[0][i].logprob for i in IDS]


def test_a_patched_request_shares_nothing_and_leaves_nothing_behind(backend: VllmBackend) -> None:
    ask = partial(answered, backend)
    ask(PLAIN)  # fills the cache
    before = ask(PLAIN)
    assert before.output.num_cached_tokens == 64
    first, second = ask(patched(1)), ask(patched(2))
    assert first.output.num_cached_tokens == second.output.num_cached_tokens == 0
    assert np.abs(np.subtract(values(first), values(before))).max() > 0.01
    assert np.abs(np.subtract(values(first), values(second))).max() > 0.01
    after = ask(PLAIN)
    assert after.output.num_cached_tokens == 64
    assert values(after) == values(before), "not a bit has changed"
    assert values(ask(patched(1))) == values(first)


def test_a_patched_request_on_a_cold_cache_does_not_poison_it(backend: VllmBackend) -> None:
    fresh = [n + 1 for n in PROMPT]
    answered(backend, patched(1), fresh)
    cold = answered(backend, PLAIN, fresh)
    assert cold.output.num_cached_tokens == 0
    warm = values(answered(backend, PLAIN, fresh))
    assert np.abs(np.subtract(values(cold), warm)).max() < 1e-4


def test_without_the_salt_a_cached_patch_would_be_an_error_and_not_a_number(
    backend: VllmBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(backend, PLAIN)
    monkeypatch.setattr(backend._driver, "_salted", False)
    with pytest.raises(HookNeverFired):
        answered(backend, patched(1))
