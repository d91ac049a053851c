"""The verbs on a real engine over a tiny model, beside the torch backend on the same weights."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from sonde.backends.base import FromRun, FromVector, GenerateRequest, Patch, Row
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.vllm.backend import VllmBackend
from sonde.errors import BadRequest, BadVectors, HookNeverFired, SourceRunDropped
from sonde.schema import HOOKS, Site
from tests.backends.vllm.tiny import on_torch, on_vllm, save

pytestmark = pytest.mark.vllm

PROMPT = [5, 17, 200, 31, 8, 99, 42, 150, 3, 77]
IDS = [5, 50, 17]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save("llama", tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def engine(saved: Path) -> Iterator[VllmBackend]:
    with closing(on_vllm(saved)) as backend:
        yield backend


@pytest.fixture(scope="module")
def reference(saved: Path) -> TorchBackend:
    return on_torch(saved)


@pytest.fixture
def backend(engine: VllmBackend) -> Iterator[VllmBackend]:
    yield engine
    for run in engine.manifests():
        engine.drop(run)
    assert engine.rank_manifests() == {}
    assert not engine._driver._engine.has_unfinished_requests()


def noise(backend: VllmBackend, seed: int = 0) -> FromVector:
    draw = np.random.default_rng(seed)
    return FromVector(draw.normal(size=backend.describe().width).astype(np.float32))


def patched_request(backend: VllmBackend, **more: Any) -> GenerateRequest:
    """Patches inside the prompt, at its last token, and at a generated one."""
    positions = (2, len(PROMPT) - 1, len(PROMPT) + 2)
    patches = tuple(Patch("post_block", 1, p, noise(backend, p)) for p in positions)
    return GenerateRequest(tuple(PROMPT), 6, patches, **more)


def test_a_patched_completion_is_the_torch_backends(
    backend: VllmBackend, reference: TorchBackend
) -> None:
    request = patched_request(backend, top_logprobs=3)
    ours, theirs = list(backend.generate(request)), list(reference.generate(request))
    assert [made.token for made in ours] == [made.token for made in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.logprobs.keys() == other.logprobs.keys()
        assert mine.logprob == pytest.approx(other.logprob, abs=1e-4)
        assert mine.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_a_completion_ends_with_its_stop_token(backend: VllmBackend) -> None:
    free = [made.token for made in backend.generate(GenerateRequest(tuple(PROMPT), 6))]
    stop = frozenset({free[2]})
    made = list(backend.generate(GenerateRequest(tuple(PROMPT), 6, stop_ids=stop)))
    assert [each.token for each in made] == free[: free.index(free[2]) + 1]


def test_draws_repeat_with_their_seed(backend: VllmBackend) -> None:
    def drawn(seed: int) -> list[int]:
        request = GenerateRequest(tuple(PROMPT), 12, temperature=1.5, seed=seed)
        return [made.token for made in backend.generate(request)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_the_likeliest_tokens_are_right_beside_rows_that_name_theirs(backend: VllmBackend) -> None:
    """The V1 sampler answers such a batch with nothing, unless it is mended."""
    request = GenerateRequest(tuple(PROMPT), 4, top_logprobs=3)
    alone = list(backend.generate(request))
    rows = [Row((Patch("mlp_in", 0, 4, noise(backend, i)),)) for i in range(200)]
    work = backend.score(PROMPT, rows, IDS)
    together = backend.generate(request)
    next(iter(work))
    beside = []
    for made in together:
        beside.append(made)
        next(work, None)
    for part in work:
        assert np.isfinite(part.logprobs).all()
    assert [made.token for made in beside] == [made.token for made in alone]
    for mine, other in zip(beside, alone, strict=True):
        assert mine.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_a_patch_at_a_position_that_is_never_generated_raises(backend: VllmBackend) -> None:
    first = next(iter(backend.generate(GenerateRequest(tuple(PROMPT), 1)))).token
    patch = Patch("mlp_in", 0, len(PROMPT) + 2, noise(backend))
    request = GenerateRequest(tuple(PROMPT), 6, (patch,), stop_ids=frozenset({first}))
    with pytest.raises(HookNeverFired, match=f"before position {len(PROMPT) + 2}"):
        list(backend.generate(request))


def test_a_completion_that_is_left_leaves_nothing_behind(backend: VllmBackend) -> None:
    work = cast(Any, backend.generate(patched_request(backend)))
    next(work)
    work.close()


def test_leaving_a_sweep_stops_its_requests(backend: VllmBackend) -> None:
    rows = [Row((Patch("mlp_in", 0, 1, noise(backend, i)),)) for i in range(500)]
    work = cast(Any, backend.score(PROMPT, rows, IDS))
    next(work)
    assert backend._driver._engine.has_unfinished_requests()
    work.close()


def test_a_run_dropped_in_mid_sweep_ends_it(backend: VllmBackend) -> None:
    backend.capture("clean", PROMPT, ["mlp_in"], [0], range(len(PROMPT)))
    rows = [Row((Patch("mlp_in", 0, 1, FromRun("clean", (2,))),)) for _ in range(500)]
    work = backend.score(PROMPT, rows, IDS)
    next(iter(work))
    backend.drop("clean")
    with pytest.raises(SourceRunDropped, match="'clean'"):
        list(work)


def test_a_run_patched_with_itself_does_not_change_by_a_bit(backend: VllmBackend) -> None:
    everything = range(len(PROMPT))
    backend.capture("own", PROMPT, HOOKS, range(3), everything)
    base = next(iter(backend.score(PROMPT, [Row(computed=True)], IDS))).logprobs
    for hook in HOOKS:
        for layer in range(3):
            own = tuple(Patch(hook, layer, p, FromRun("own", (p,))) for p in everything)
            found = list(backend.score(PROMPT, [Row(own, computed=True)], IDS))
            assert found[-1].logprobs.tolist() == base.tolist(), (hook, layer)


def test_a_whole_stream_from_another_prompt_is_that_prompt_to_the_bit(backend: VllmBackend) -> None:
    other = PROMPT[::-1]
    backend.capture("other", other, ["post_block"], [1], range(len(other)))
    whole = tuple(Patch("post_block", 1, p, FromRun("other", (p,))) for p in range(len(other)))
    found = list(backend.score(PROMPT, [Row(whole)], IDS))[-1].logprobs
    assert found.tolist() == [backend.baselines([other], IDS, [])[0]]


def test_a_capture_is_whole_although_its_prompt_is_in_the_cache(backend: VllmBackend) -> None:
    long = (PROMPT * 8)[:70]
    backend.baselines([long, long], IDS, [])
    made = backend.capture("long", long, ["mlp_out"], [0, 2], range(70))
    assert made.bytes == backend.rank_manifests()[key(backend)]["bytes"] == 2 * 70 * 64 * 4


def test_rows_share_the_cache_below_their_patches(backend: VllmBackend) -> None:
    long = (PROMPT * 8)[:70]
    backend.baselines([long], IDS, [])
    asked = backend._starting(long, Row((Patch("mlp_in", 0, 66, noise(backend)),)), IDS, dict, 0)
    answer = next(iter(backend._flight.each([asked], 1)))[0]
    assert answer.output.num_cached_tokens == 64


def key(backend: VllmBackend) -> str:
    return next(iter(backend.rank_manifests()))


def test_what_is_read_is_what_torch_computes_and_can_be_written_elsewhere(
    backend: VllmBackend, reference: TorchBackend
) -> None:
    """A patch across layers: read at one, write at another."""
    backend.capture("run", PROMPT, ["post_block"], [2], [4, 1])
    taken = backend.read("run", "post_block", 2, [4])[0]
    row = Row((Patch("post_block", 0, 7, FromVector(taken)),))
    ours = list(backend.score(PROMPT, [row], IDS))[-1].logprobs
    theirs = list(reference.score(PROMPT, [row], IDS))[-1].logprobs
    assert ours == pytest.approx(theirs, abs=1e-4)


def test_the_cost_counts_what_the_cache_does_not_hold(backend: VllmBackend) -> None:
    long = (PROMPT * 8)[:70]
    late, early = (Site(hook="mlp_in", layer=0, position=p) for p in (66, 3))
    assert backend.cost(long, [late]).token_layers == 3 * (70 - 64)
    assert backend.cost(long, [early]).token_layers == 3 * 70
    assert backend.cost(long, [early] * 65).chunks == 2
    assert backend.cost(long, []).seconds == 0


def test_what_cannot_be_is_refused_before_it_is_run(backend: VllmBackend) -> None:
    narrow = Patch("mlp_in", 0, 0, FromVector(np.ones(3, dtype=np.float32)))
    with pytest.raises(BadVectors):
        list(backend.score(PROMPT, [Row((narrow,))], IDS))
    with pytest.raises(BadRequest, match="nothing to capture"):
        backend.capture("run", PROMPT, [], [0], [0])
    with pytest.raises(BadRequest, match="at most 127"):
        backend.baselines([[1] * 128], IDS, [])
    assert len(backend.baselines([[1] * 127], IDS, [])[0]) == 3


def test_a_vector_that_breaks_the_model_is_the_callers_error(backend: VllmBackend) -> None:
    huge = FromVector(np.full(64, np.inf, dtype=np.float32))
    request = GenerateRequest(tuple(PROMPT), 2, (Patch("post_block", 2, 9, huge),))
    with pytest.raises(BadRequest, match="too large"):
        list(backend.generate(request))
