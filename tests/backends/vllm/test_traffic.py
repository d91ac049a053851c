"""Patched and unpatched requests in one engine: everyone gets their own answer, and nobody else's.

Prompts of up to 57 tokens come in chunks of 24, and the cache of keys and values holds 7 blocks of
32 tokens, most requests need a second one on their way: some are thrown out and begun again.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sonde.backends.base import (
    Column,
    FromRun,
    FromVector,
    GenerateRequest,
    Readout,
    Row,
    Site,
    Work,
    Write,
    write_at,
)
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.loading.load import load_model
from sonde.backends.torch.loading.special import special_tokens
from sonde.backends.torch.loading.tokenizer import load_tokenizer
from sonde.backends.vllm import load
from sonde.backends.vllm.backend import VllmBackend
from sonde.backends.vllm.driver import Driver
from sonde.backends.vllm.facts import facts_of
from sonde.schema import LAYER_HOOKS
from tests.backends.vllm.asking import scored_together, work
from tests.backends.vllm.engines import saved, started
from tests.tiny_model import tiny_llama

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

LAYERS, WIDTH, LONGEST, STEPS = 3, 128, 48, 13
IDS = (5, 40, 300)
CRAMPED: dict[str, Any] = {
    "max_model_len": 64,
    "max_num_seqs": 16,
    "max_num_batched_tokens": 24,
    "num_gpu_blocks_override": 8,  # of 32 tokens, one of them vLLM's own
    "enable_prefix_caching": False,
}
ROOMY = CRAMPED | {"num_gpu_blocks_override": 64, "enable_prefix_caching": True}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = tiny_llama(layers=LAYERS, width=WIDTH)
    return saved(model, tmp_path_factory.mktemp("traffic"))


@contextmanager
def untouched(directory: Path, options: Mapping[str, Any]) -> Iterator[VllmBackend]:
    """The same engine without our worker extension, our scheduler and our taps."""
    arguments = {"model": str(directory), "dtype": "float32", "enforce_eager": True,
                 "skip_tokenizer_init": True, "max_logprobs": -1, "block_size": 32,
                 "disable_log_stats": True, **options}  # fmt: skip
    from vllm.engine.arg_utils import EngineArgs

    config = EngineArgs(**arguments).create_engine_config()
    driver = Driver(load._engine(config, True))
    try:
        yield VllmBackend(driver, *_about(directory, config), source_budget=2**20)
    finally:
        driver.close()


def _about(directory: Path, config: Any) -> tuple[Any, Any]:
    reply = {"device": "cpu", "weights": "", "stage": 0, "share": 0}
    reply |= {"hooks": [], "heads": None, "layers": range(LAYERS)}
    tokenizer = load_tokenizer(directory)
    return facts_of("untouched", config, [reply], [0], special_tokens(tokenizer)), tokenizer


def asked(seed: int, *, patched: bool) -> GenerateRequest:
    """A prompt of its own length, and patches at prompt and generated positions."""
    rng = random.Random(seed)
    start = [rng.randrange(1, 329) for _ in range(33)]
    shared = [7 + i % 50 for i in range(33)]  # more than a block of the cache
    n = rng.randrange(33, LONGEST) if seed % 4 == 0 else rng.randrange(20, 32)
    tokens = [*(shared if seed % 3 else start), *(rng.randrange(1, 329) for _ in range(n))][:n]
    writes = []
    if patched:
        values = np.random.default_rng(seed).normal(size=WIDTH).astype(np.float32)
        where = sorted({rng.randrange(n), n - 1, n + rng.randrange(STEPS - 1)})
        writes = [
            replace(
                write_at(
                    rng.choice(LAYER_HOOKS), rng.randrange(LAYERS), p, FromVector(values), 0.5
                ),
                how="add" if i % 2 else "set",
            )
            for i, p in enumerate(where)
        ]
    return GenerateRequest(tuple(tokens), STEPS, tuple(writes), logprob_ids=IDS)


Made = list[tuple[int, dict[int, float]]]


def together(backend: VllmBackend, requests: Sequence[GenerateRequest], at_once: int) -> list[Made]:
    """All requests, so many at a time, in turns, as the server gives them."""
    made: list[Made] = [[] for _ in requests]
    waiting, active = iter(range(len(requests))), dict[int, Iterator[Any]]()
    while True:
        while len(active) < at_once and (i := next(waiting, None)) is not None:
            active[i] = backend.generate(requests[i])
        if not active:
            return made
        for i, completion in list(active.items()):
            token = next(completion, None)
            if token is None:
                del active[i]
            else:
                made[i].append((token.token, token.logprobs))


def tokens_of(made: Made) -> list[int]:
    return [token for token, _ in made]


def apart(found: Made, expected: Made) -> float:
    """Over the tokens that both have in common, which is where the numbers can be compared."""
    pairs = zip(found, expected, strict=True)
    return max(abs(a[i] - b[i]) for (_, a), (_, b) in pairs for i in IDS)


MIXED = [asked(seed, patched=seed % 2 == 0) for seed in range(200)]
PLAIN = [replace(request, writes=()) for request in MIXED]


def count_preemptions(backend: VllmBackend) -> list[str]:
    """The requests that are thrown out from now on."""
    scheduler = backend._driver._engine.engine_core.engine_core.scheduler
    original, seen = scheduler._preempt_request, list[str]()

    def noted(request: Any, *rest: Any, **named: Any) -> Any:
        seen.append(request.request_id)
        return original(request, *rest, **named)

    scheduler._preempt_request = noted
    return seen


def test_two_hundred_mixed_requests_and_the_unpatched_have_the_bits_of_an_untouched_engine(
    directory: Path,
) -> None:
    with started(directory, options=CRAMPED) as backend:
        thrown_out = count_preemptions(backend)
        mixed = together(backend, MIXED, 24)
        assert len(thrown_out) > 5, "nothing was preempted: the test has lost its point"
        alone = [together(backend, [request], 1)[0] for request in MIXED[:40]]
    with untouched(directory, CRAMPED) as stock:
        plain = together(stock, PLAIN, 24)
    for i, request in enumerate(MIXED):
        if not request.writes:
            assert mixed[i] == plain[i], "an unpatched request noticed its neighbours"
    moved = [tokens_of(mixed[i]) != tokens_of(plain[i]) for i in range(0, 200, 2)]
    assert sum(moved) > 50, "patches do something"
    for found, expected in zip(mixed, alone, strict=False):
        assert tokens_of(found) == tokens_of(expected)
        assert apart(found, expected) < 1e-4


def test_a_shared_prefix_cache_gives_nobody_another_ones_answer(directory: Path) -> None:
    with started(directory, options=ROOMY) as backend:
        mixed = together(backend, MIXED, 24)
        again = together(backend, MIXED[::-1], 24)[::-1]
    with started(directory, options=CRAMPED) as other:
        alone = [together(other, [request], 1)[0] for request in MIXED[:60]]
    for i, expected in enumerate(alone):
        for found in (mixed[i], again[i]):
            assert tokens_of(found) == tokens_of(expected)
            assert apart(found, expected) < 1e-4


def test_a_sweep_and_completions_share_steps_and_agree_with_the_other_backend(
    directory: Path,
) -> None:
    torch_backend = TorchBackend(load_model(str(directory), dtype="float32"))
    rng = random.Random(0)
    clean, corrupt = ([rng.randrange(1, 329) for _ in range(57)] for _ in range(2))
    sites = [(h, layer, p) for h in LAYER_HOOKS for layer in range(LAYERS) for p in range(0, 57, 7)]
    rows = [Row((write_at(h, layer, p, FromRun("clean", (p,))),)) for h, layer, p in sites]
    heard: list[int] = []

    def graded(backend: Any, company: Iterator[int]) -> np.ndarray:
        backend.capture("clean", clean, LAYER_HOOKS, range(LAYERS), range(57))
        out = np.full((len(rows), len(IDS)), np.nan)
        for part in backend.score([work(corrupt, rows, IDS)]):
            out[list(part.rows)] = part.values
            heard.extend(islice(company, 1))
        backend.drop("clean")
        return out

    with started(directory, options=CRAMPED) as backend:
        alone = [made.token for made in backend.generate(MIXED[1])]
        company = (made.token for made in backend.generate(MIXED[1]))
        found = graded(backend, company)
        assert len(heard) > 1, "they took turns"
        assert [*heard, *company] == alone
    assert np.abs(found - graded(torch_backend, iter(()))).max() < 1e-4


def forced(tokens: Sequence[int]) -> Work:
    """Rows of a prompt that comes in chunks, each of its tokens read where it was expected."""
    values = np.random.default_rng(1).normal(size=WIDTH).astype(np.float32)
    rows = [
        Row((Write(Site(hook, 1, (p, p + 2)), FromVector(values), how="add"),))
        for hook in LAYER_HOOKS
        for p in (3, 23, 40)
    ]
    columns = [Column("logprob", tokens[p + 1], p) for p in (0, 22, 23, 24, 46, len(tokens) - 2)]
    return Work(tokens, [Row(), *rows], Readout((*columns, Column("logprob", IDS[0]))))


def test_prompts_read_token_by_token_in_chunks_are_the_other_backends(directory: Path) -> None:
    """Beside completions that are patched themselves."""
    torch_backend = TorchBackend(load_model(str(directory), dtype="float32"))
    rng = random.Random(3)
    some = [forced([rng.randrange(1, 329) for _ in range(n)]) for n in (57, 50)]
    with started(directory, options=CRAMPED) as backend:
        company = [backend.generate(request) for request in MIXED[:4]]
        for completion in company:
            next(completion)
        found = scored_together(backend, some)
        for completion in company:
            list(completion)
    for ours, theirs in zip(found, scored_together(torch_backend, some), strict=True):
        assert np.abs(ours - theirs).max() < 1e-4
        assert np.ptp(theirs, axis=0)[1:].min() > 1e-3  # there is something to be wrong about
