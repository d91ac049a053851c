"""The verbs on a real engine over a tiny model, beside the torch backend on the same weights."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from sonde.backends.base import (
    Column,
    FromRun,
    FromVector,
    GenerateRequest,
    MeanOf,
    Minus,
    Quantity,
    Readout,
    Row,
    Site,
    Work,
    Write,
    logprobs_of,
    write_at,
)
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.vllm.backend import VllmBackend
from sonde.errors import BadRequest, BadVectors, HookNeverFired, SourceRunDropped
from sonde.schema import LAYER_HOOKS, Hook
from tests.backends.vllm.asking import scored, scored_together, told, work

pytestmark = pytest.mark.vllm

PROMPT = [5, 17, 200, 31, 8, 99, 42, 150, 3, 77]
IDS = [5, 50, 17]


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
    patches = tuple(write_at("post_block", 1, p, noise(backend, p)) for p in positions)
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


def test_13_a_prompts_log_probabilities_are_the_torch_backends(
    backend: VllmBackend, reference: TorchBackend
) -> None:
    for patched in (True, False):
        request = patched_request(backend, prompt_logprobs=3, top_logprobs=2)
        request = request if patched else replace(request, writes=())
        ours, theirs = (next(iter(each.generate(request))) for each in (backend, reference))
        assert [made.token for made in ours.prompt] == PROMPT[1:]
        for mine, other in zip(ours.prompt, theirs.prompt, strict=True):
            assert (mine.rank, list(mine.likeliest)) == (other.rank, list(other.likeliest))
            assert mine.logprob == pytest.approx(other.logprob, abs=1e-4)
            assert mine.likeliest == pytest.approx(other.likeliest, abs=1e-4)


def test_13_named_tokens_and_a_scored_prompt_go_together(backend: VllmBackend) -> None:
    """Also beside a sweep, whose rows name theirs, and after the prompt is in the cache."""
    request = GenerateRequest(tuple(PROMPT) * 8, 2, prompt_logprobs=1)
    alone = next(iter(backend.generate(request))).prompt
    rows = [Row((write_at("mlp_in", 0, 4, noise(backend)),))] * 100
    beside = backend.score([Work(PROMPT, rows, logprobs_of(IDS))])
    next(iter(beside))
    named = next(iter(backend.generate(replace(request, logprob_ids=(5, 17)))))
    assert set(named.logprobs) == {5, 17}
    for mine, other in zip(named.prompt, alone, strict=True):
        assert mine.likeliest == pytest.approx(other.likeliest, abs=1e-4)
        assert mine.logprob == pytest.approx(other.logprob, abs=1e-4)
    cast(Any, beside).close()


def test_13_draws_are_among_the_top_k(backend: VllmBackend) -> None:
    """Not in the suite: Triton's interpreter, which runs it too, cannot run this kernel."""
    request = GenerateRequest(tuple(PROMPT), 1, temperature=2.0, top_logprobs=3)
    best = set(next(iter(backend.generate(request))).logprobs)
    many = [replace(request, top_k=3, seed=seed) for seed in range(40)]
    drawn = {next(iter(backend.generate(each))).token for each in many}
    assert drawn <= best
    assert len(drawn) > 1
    greedy = next(iter(backend.generate(replace(request, temperature=0.0)))).token
    assert next(iter(backend.generate(replace(request, top_k=1, seed=1)))).token == greedy


def test_13_the_same_penalty_means_the_same_on_both_backends(
    backend: VllmBackend, reference: TorchBackend
) -> None:
    for penalty in (1.3, 0.8, 1000.0):
        request = GenerateRequest(tuple(PROMPT), 8, repetition_penalty=penalty)
        ours, theirs = ([m.token for m in b.generate(request)] for b in (backend, reference))
        assert ours == theirs


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
    rows = [Row((write_at("mlp_in", 0, 4, noise(backend, i)),)) for i in range(200)]
    sweep = backend.score([work(PROMPT, rows, IDS)])
    together = backend.generate(request)
    next(sweep)
    beside = []
    for made in together:
        beside.append(made)
        next(sweep, None)
    for part in sweep:
        assert np.isfinite(part.values).all()
    assert [made.token for made in beside] == [made.token for made in alone]
    for mine, other in zip(beside, alone, strict=True):
        assert mine.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_a_patch_at_a_position_that_is_never_generated_raises(backend: VllmBackend) -> None:
    first = next(iter(backend.generate(GenerateRequest(tuple(PROMPT), 1)))).token
    patch = write_at("mlp_in", 0, len(PROMPT) + 2, noise(backend))
    request = GenerateRequest(tuple(PROMPT), 6, (patch,), stop_ids=frozenset({first}))
    with pytest.raises(HookNeverFired, match=f"before position {len(PROMPT) + 2}"):
        list(backend.generate(request))


def test_a_completion_that_is_left_leaves_nothing_behind(backend: VllmBackend) -> None:
    completion = cast(Any, backend.generate(patched_request(backend)))
    next(completion)
    completion.close()


def test_leaving_a_sweep_stops_its_requests(backend: VllmBackend) -> None:
    rows = [Row((write_at("mlp_in", 0, 1, noise(backend, i)),)) for i in range(500)]
    sweep = cast(Any, backend.score([work(PROMPT, rows, IDS)]))
    next(sweep)
    assert backend._driver._engine.has_unfinished_requests()
    sweep.close()


def test_a_run_dropped_in_mid_sweep_ends_it(backend: VllmBackend) -> None:
    backend.capture("clean", PROMPT, ["mlp_in"], [0], range(len(PROMPT)))
    rows = [Row((write_at("mlp_in", 0, 1, FromRun("clean", (2,))),)) for _ in range(500)]
    sweep = backend.score([work(PROMPT, rows, IDS)])
    next(sweep)
    backend.drop("clean")
    with pytest.raises(SourceRunDropped, match="'clean'"):
        list(sweep)


def test_a_run_patched_with_itself_does_not_change_by_a_bit(backend: VllmBackend) -> None:
    everything = range(len(PROMPT))
    backend.capture("own", PROMPT, LAYER_HOOKS, range(3), everything)
    base = scored(backend, PROMPT, [Row(computed=True)], IDS)
    own = FromRun("own", tuple(everything))
    for hook in LAYER_HOOKS:
        for layer in range(3):
            site = Site(hook, layer, tuple(everything))
            for write in (Write(site, own), Write(site, Minus(own, own), how="add")):
                found = scored(backend, PROMPT, [Row((write,), computed=True)], IDS)
                assert np.array_equal(found, base), (hook, layer, write.how)


@pytest.mark.parametrize("hook", LAYER_HOOKS)
def test_alpha_zero_does_not_change_a_bit(backend: VllmBackend, hook: Hook) -> None:
    base = scored(backend, PROMPT, [Row(computed=True)], IDS)
    write = Write(Site(hook, 1, tuple(range(len(PROMPT)))), noise(backend), alpha=0.0)
    for each in (write, replace(write, how="add")):
        assert np.array_equal(scored(backend, PROMPT, [Row((each,))], IDS), base), each.how


def test_a_whole_stream_from_another_prompt_is_that_prompt_to_the_bit(backend: VllmBackend) -> None:
    other = PROMPT[::-1]
    backend.capture("other", other, ["post_block"], [1], range(len(other)))
    whole = tuple(write_at("post_block", 1, p, FromRun("other", (p,))) for p in range(len(other)))
    found = scored(backend, PROMPT, [Row(whole)], IDS)
    assert found.tolist() == [told(backend, other, IDS)]


def test_a_capture_is_whole_although_its_prompt_is_in_the_cache(backend: VllmBackend) -> None:
    long = (PROMPT * 8)[:70]
    assert told(backend, long, IDS) == pytest.approx(told(backend, long, IDS), abs=1e-4)
    made = backend.capture("long", long, ["mlp_out"], [0, 2], range(70))
    assert made.bytes == backend.rank_manifests()[key(backend)]["bytes"] == 2 * 70 * 64 * 4


def test_rows_share_the_cache_below_their_patches(backend: VllmBackend) -> None:
    long = (PROMPT * 8)[:70]
    told(backend, long, IDS)
    for positions, cached in (((66,), 64), ((69, 66, 64), 64), ((66, 40), 32), ((66, 3), 0)):
        row = Row((Write(Site("mlp_in", 0, positions), noise(backend)),))
        starts = backend._starts([work(long, [row], IDS)])
        answer = next(iter(backend._flight.each(starts, 1)))[0]
        assert answer.output.num_cached_tokens == cached, positions


def key(backend: VllmBackend) -> str:
    return next(iter(backend.rank_manifests()))


def test_what_is_read_is_what_torch_computes_and_can_be_written_elsewhere(
    backend: VllmBackend, reference: TorchBackend
) -> None:
    """A write across layers and hooks: by its source, and by hand."""
    sites = [Site("post_block", 2, (4, 1)), Site("mlp_out", 1, (1,))]
    for each in (backend, reference):
        each.capture("run", PROMPT, ["post_block", "mlp_out"], [2, 1], [4, 1])
    ours, theirs = backend.read("run", sites), reference.read("run", sites)
    assert [values.shape for values in ours] == [(2, 64), (1, 64)]
    assert ours[0] == pytest.approx(theirs[0], abs=1e-4)
    assert ours[1] == pytest.approx(theirs[1], abs=1e-4)
    here = Site("post_block", 0, (7, 8))
    by_source = Write(here, FromRun("run", (4, 1), hook="post_block", layer=2))
    rows = [Row((by_source,)), Row((Write(here, FromVector(ours[0])),))]
    found = scored(backend, PROMPT, rows, IDS)
    assert np.abs(found - scored(reference, PROMPT, rows, IDS)).max() < 1e-4
    assert np.abs(found[0] - found[1]).max() < 1e-4


def test_the_cost_counts_what_the_cache_does_not_hold(backend: VllmBackend) -> None:
    long = (PROMPT * 8)[:70]
    late, early = (Row((write_at("mlp_in", 0, p, noise(backend)),)) for p in (66, 3))
    both = Row((Write(Site("mlp_in", 0, (66, 3)), noise(backend)),))

    def needed(*rows: Row) -> int:
        return backend.cost([work(long, rows, IDS)]).token_layers

    assert needed(late) == 3 * (70 - 64)
    assert needed(early) == needed(both) == 3 * 70
    assert needed(late, early) == needed(late) + needed(early)
    some = [work(long, [early] * 33, IDS), work(PROMPT, [early] * 32, IDS)]
    assert backend.cost(some).computed_rows == 65
    assert backend.cost(some).chunks == 2
    assert backend.cost([work(long, [Row()], IDS)]).seconds == 0
    forced = Work(long, [late], Readout((Column("logprob", long[1], 0),)))
    assert backend.cost([forced]).computed_rows == 0  # it comes after what is read


def test_what_cannot_be_is_refused_before_it_is_run(backend: VllmBackend) -> None:
    narrow = write_at("mlp_in", 0, 0, FromVector(np.ones(3, dtype=np.float32)))
    with pytest.raises(BadVectors):
        scored(backend, PROMPT, [Row((narrow,))], IDS)
    with pytest.raises(BadRequest, match="nothing to capture"):
        backend.capture("run", PROMPT, [], [0], [0])
    with pytest.raises(BadRequest, match="at most 127"):
        told(backend, [1] * 128, IDS)
    assert len(told(backend, [1] * 127, IDS)) == 3


def test_a_vector_that_breaks_the_model_is_the_callers_error(backend: VllmBackend) -> None:
    huge = FromVector(np.full(64, np.inf, dtype=np.float32))
    request = GenerateRequest(tuple(PROMPT), 2, (write_at("post_block", 2, 9, huge),))
    with pytest.raises(BadRequest, match="too large"):
        list(backend.generate(request))


def several(backend: VllmBackend) -> list[Work]:
    """Prompts of several lengths, each with rows and a readout of its own."""
    out = []
    for i, n in enumerate((10, 4, 33, 10)):
        tokens = [(7 * i + 3 * p) % 300 + 1 for p in range(n)]
        rows = [
            Row((Write(Site(hook, layer, (n - 1, 1)), noise(backend, i), how="add"),))
            for hook in LAYER_HOOKS
            for layer in range(3)
        ]
        unreached = Row((write_at("post_block", 2, 0, noise(backend)),))
        out.append(work(tokens, [Row(), *rows, unreached], IDS[: 1 + i % 3]))
    return out


def test_prompts_in_flight_together_are_each_what_they_are_alone(
    backend: VllmBackend, reference: TorchBackend
) -> None:
    some = several(backend)
    together = scored_together(backend, some)
    backwards = scored_together(backend, some[::-1])[::-1]
    for each, found, again in zip(some, together, backwards, strict=True):
        [alone] = scored_together(backend, [each])
        assert np.abs(found - alone).max() < 1e-4
        assert np.abs(again - alone).max() < 1e-4
        assert np.abs(found - scored_together(reference, [each])[0]).max() < 1e-4
        assert np.array_equal(found[0], found[-1]), "both rows need no work"


def test_rows_of_several_prompts_share_a_step(backend: VllmBackend) -> None:
    some = several(backend)
    alone = sum(len(list(backend.score([each]))) for each in some)
    assert len({part.work for part in backend.score(iter(some))}) == len(some)
    starts = backend._starts(some)
    steps = list(backend._flight.each(starts, 1000))
    assert len(steps) < alone
    assert len({answer.asked.tag.number for answer in steps[0]}) > 1


def test_a_prompt_that_is_wrong_stops_what_is_in_flight(backend: VllmBackend) -> None:
    first = work(PROMPT, [Row((write_at("mlp_in", 0, 1, noise(backend)),))], IDS)
    with pytest.raises(BadRequest, match="no tokens"):
        list(backend.score([first, work([], [Row()], IDS)]))


def test_means_and_differences_are_the_torch_backends(
    backend: VllmBackend, reference: TorchBackend
) -> None:
    sources = [FromRun("run", (p, p + 1)) for p in (0, 3, 5)]
    mean = MeanOf(tuple(sources))
    rows = [
        Row((Write(Site(hook, layer, (4, 7)), source, 0.8, how=how),))
        for hook in LAYER_HOOKS
        for layer in range(3)
        for source in (mean, Minus(sources[2], mean), Minus(noise(backend), sources[0]))
        for how in ("set", "add")
    ]
    grids = []
    for each in (backend, reference):
        each.capture("run", PROMPT[::-1], LAYER_HOOKS, range(3), range(len(PROMPT)))
        grids.append(scored(each, PROMPT, rows, IDS))
    assert np.abs(grids[0] - grids[1]).max() < 1e-4
    assert np.ptp(grids[1], axis=0).max() > 1  # there is something to be wrong about


def test_an_answer_of_several_tokens_is_read_as_on_torch(
    backend: VllmBackend, reference: TorchBackend
) -> None:
    """Teacher forcing: the prompt ends with the answer, each token read where it was expected."""
    n = len(PROMPT)
    columns = [Column("logprob", PROMPT[p + 1], p) for p in (n - 4, n - 3, n - 2)]
    readout = Readout((*columns, Column("logprob", 50)))
    rows = [Row(), Row(computed=True)]
    for p in (2, n - 4, n - 2, n - 1):
        rows += [Row((write_at(hook, layer, p, noise(backend, p)),)) for hook in LAYER_HOOKS
                 for layer in (0, 2)]  # fmt: skip
    found, expected = (
        scored_together(each, [Work(PROMPT, rows, readout)])[0] for each in (backend, reference)
    )
    assert np.abs(found - expected).max() < 1e-4
    assert (np.ptp(expected, axis=0) > 0.1).all()
    assert backend.baselines([(PROMPT, readout)], [])[0] == pytest.approx(expected[0], abs=1e-4)


@pytest.mark.parametrize("quantity", ["logit", "rank", "kl"])
def test_readouts_that_vllm_cannot_tell_are_refused_by_name(
    backend: VllmBackend, quantity: Quantity
) -> None:
    assert quantity not in backend.quantities()
    column = Column(quantity, None if quantity == "kl" else 5, against=tuple(PROMPT))
    readout = Readout((column,))
    refused = pytest.raises(BadRequest, match=f"{quantity} cannot be read on the vLLM backend.*"
                            "it tells logprob.*use backend='torch'")  # fmt: skip
    with refused:
        list(backend.score([Work(PROMPT, [Row()], readout)]))
    with refused:
        backend.baselines([(PROMPT, readout)], [])
    with refused:
        backend.cost([Work(PROMPT, [Row()], readout)])
