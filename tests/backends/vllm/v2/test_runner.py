"""vLLM's V2 model runner, which GPUs use, with its kernels interpreted on a CPU.

Beside these, `make test-vllm` runs the backend suite, eager on demand and several ranks on it.
Chunks are 24 tokens and the cache of keys and values is small, as in `test_traffic`. On a GPU vLLM
also schedules a step before it knows what the last one gave; on a CPU it must be made to.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sonde.backends.base import Backend, FromRun, GenerateRequest, Row, Site, Write, write_at
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.vllm.backend import VllmBackend
from sonde.backends.vllm.options import ASYNC_SCHEDULER
from sonde.schema import LAYER_HOOKS
from tests.backends.vllm import asking
from tests.backends.vllm.engines import started
from tests.backends.vllm.head_cells import HOOKS, every_head
from tests.backends.vllm.test_parity import grid
from tests.backends.vllm.test_traffic import (
    CRAMPED,
    IDS,
    LAYERS,
    ROOMY,
    Made,
    apart,
    asked,
    count_preemptions,
    forced,
    together,
    tokens_of,
    untouched,
)
from tests.backends.vllm.v2.ahead import started_ahead

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

MIXED = [asked(seed, patched=seed % 2 == 0) for seed in range(16)]
TIGHT = CRAMPED | {"num_gpu_blocks_override": 5}
PROMPT, OTHER = ([random.Random(n).randrange(1, 329) for _ in range(57)] for n in (1, 2))
EVERYWHERE = range(len(PROMPT))


@pytest.fixture(scope="module")
def backend(directory: Path) -> Iterator[VllmBackend]:
    """57 tokens come in three chunks; the prefix cache is on; two steps are under way at once."""
    with started_ahead(directory, options=ROOMY) as made:
        yield made


def scored(backend: Backend, tokens: Sequence[int], rows: Sequence[Row]) -> np.ndarray:
    return asking.scored(backend, tokens, rows, IDS)


def generated(backend: Backend, request: GenerateRequest) -> Made:
    return [(token.token, token.logprobs) for token in backend.generate(request)]


def test_it_is_the_v2_runner_that_runs_with_two_steps_under_way(backend: VllmBackend) -> None:
    assert [rank["runner"] for rank in backend._driver.call("sonde_report", [])] == ["V2"]
    assert backend._driver.config.scheduler_config.scheduler_cls == ASYNC_SCHEDULER
    assert backend._driver.config.max_concurrent_batches == 2


def test_every_cell_is_the_torch_backends(backend: VllmBackend, reference: TorchBackend) -> None:
    assert np.abs(grid(backend) - grid(reference)).max() < 1e-4


def test_a_prompt_in_chunks_is_patched_in_each_of_them(
    backend: VllmBackend, reference: TorchBackend
) -> None:
    sites = [(h, i % LAYERS, p) for h in LAYER_HOOKS for i, p in enumerate((0, 23, 24, 40, 48, 56))]
    rows = [Row((write_at(h, layer, p, FromRun("other", (p,))),)) for h, layer, p in sites]
    for i, at in enumerate([(0,), (23,), (24, 40), (56,), tuple(EVERYWHERE)]):
        heads = [Site(hook, i % LAYERS, at, i % 2) for hook in HOOKS]
        rows += [Row((Write(site, FromRun("other", at)),)) for site in heads]

    def graded(on: Backend) -> np.ndarray:
        on.capture("other", OTHER, [*LAYER_HOOKS, *HOOKS], range(LAYERS), EVERYWHERE)
        return scored(on, PROMPT, rows)

    found, expected = graded(backend), graded(reference)
    assert np.abs(found - expected).max() < 1e-4
    assert np.ptp(expected, axis=0).max() > 1  # there is something to be wrong about


def test_a_prompt_in_chunks_is_read_token_by_token(
    backend: VllmBackend, reference: TorchBackend
) -> None:
    [found], [expected] = (
        asking.scored_together(each, [forced(PROMPT)]) for each in (backend, reference)
    )
    assert np.abs(found - expected).max() < 1e-4


def test_a_run_patched_with_itself_does_not_change_by_a_bit(backend: VllmBackend) -> None:
    base = scored(backend, PROMPT, [Row(computed=True)])
    backend.capture("own", PROMPT, LAYER_HOOKS, range(LAYERS), EVERYWHERE)
    for hook in LAYER_HOOKS:
        for layer in range(LAYERS):
            own = tuple(write_at(hook, layer, p, FromRun("own", (p,))) for p in EVERYWHERE)
            assert np.array_equal(scored(backend, PROMPT, [Row(own)]), base), (hook, layer)
    backend.capture("own", PROMPT, HOOKS, range(LAYERS), EVERYWHERE)
    for hook in HOOKS:
        row = every_head(backend.describe(), hook, 1, "own", len(PROMPT))
        assert np.array_equal(scored(backend, PROMPT, [row]), base), hook


def test_patches_at_generated_positions_are_made(
    backend: VllmBackend, reference: TorchBackend
) -> None:
    request = replace(MIXED[0], tokens=tuple(PROMPT[:30]), max_tokens=8)
    late = [
        replace(write, site=replace(write.site, positions=(30 + i,)), alpha=1.0)
        for i, write in enumerate(request.writes)
    ]
    request = replace(request, writes=tuple(late))
    found, expected = generated(backend, request), generated(reference, request)
    assert tokens_of(found) == tokens_of(expected)
    assert apart(found, expected) < 1e-4
    assert apart(found, generated(reference, replace(request, writes=()))) > 0.01


def test_requests_with_two_steps_under_way_get_the_torch_backends_answers(
    backend: VllmBackend, reference: TorchBackend
) -> None:
    for request, found in zip(MIXED, together(backend, MIXED, 12), strict=True):
        expected = generated(reference, request)
        assert tokens_of(found) == tokens_of(expected)
        assert apart(found, expected) < 1e-3


def test_patched_and_unpatched_twins_share_the_cache_below_the_patch_only(
    backend: VllmBackend,
) -> None:
    fresh = [n % 300 + 1 for n in PROMPT]  # that no other test has put into the cache
    patched = [Row((replace(MIXED[0].writes[0], site=Site("pre_attn", 0, (40,))),))]
    plain = scored(backend, fresh, [Row(computed=True)])
    first = scored(backend, fresh, patched)
    assert np.abs(first - plain).max() > 0.01
    for _ in range(2):
        assert np.abs(scored(backend, fresh, [Row(computed=True)]) - plain).max() < 1e-4
        assert np.abs(scored(backend, fresh, patched) - first).max() < 1e-4


def test_mixed_requests_get_their_own_answers_and_the_unpatched_those_of_an_untouched_engine(
    directory: Path,
) -> None:
    with started(directory, options=TIGHT) as backend:
        thrown_out = count_preemptions(backend)
        mixed = together(backend, MIXED, 12)
        assert thrown_out, "nothing was preempted: the test has lost its point"
        alone = [together(backend, [request], 1)[0] for request in MIXED[:4]]
    with untouched(directory, TIGHT) as stock:
        plain = together(stock, [replace(request, writes=()) for request in MIXED], 12)
    for i, request in enumerate(MIXED):
        if not request.writes:
            assert mixed[i] == plain[i], "an unpatched request noticed its neighbours"
    for found, expected in zip(mixed, alone, strict=False):
        assert tokens_of(found) == tokens_of(expected)
        assert apart(found, expected) < 1e-4
