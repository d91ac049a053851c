"""Heads on a real engine: what changes nothing keeps its bits, all else is the torch backend's."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.backends.base import FromRun, FromVector, GenerateRequest, Minus, Row, Site, Write
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.vllm import taps
from sonde.backends.vllm.backend import VllmBackend
from sonde.errors import BadRequest, HeadOutOfRange, HookNeverFired, UnknownHook
from sonde.schema import Hook
from tests.backends.vllm.asking import scored, scored_together, work
from tests.backends.vllm.head_cells import HOOKS, every_head, head_cells, heads_of, mixed_cells

pytestmark = pytest.mark.vllm

PROMPT = [5, 17, 200, 31, 8, 99, 42, 150, 3, 77]
OTHER = PROMPT[::-1]
N = len(PROMPT)
EVERYWHERE = tuple(range(N))
IDS = [5, 50, 17]


@pytest.fixture
def backend(engine: VllmBackend) -> Iterator[VllmBackend]:
    yield engine
    for run in engine.manifests():
        engine.drop(run)
    assert engine.rank_manifests() == {}
    assert not engine._driver._engine.has_unfinished_requests()


def noise(backend: VllmBackend, hook: Hook, seed: int = 0) -> FromVector:
    width = backend.facts.shard().value_width(hook)
    return FromVector(np.random.default_rng(seed).normal(size=width).astype(np.float32))


def test_it_says_what_heads_there_are_and_offers_every_hook_but_patterns(
    backend: VllmBackend, reference: TorchBackend
) -> None:
    ours, theirs = backend.describe(), reference.describe()
    assert ours.heads == theirs.heads
    assert ours.hooks == [hook for hook in theirs.hooks if hook != "pattern"]


def test_heads_patched_with_themselves_or_not_at_all_do_not_change_a_bit(
    backend: VllmBackend,
) -> None:
    backend.capture("own", PROMPT, HOOKS, range(3), EVERYWHERE)
    base = scored(backend, PROMPT, [Row(computed=True)], IDS)
    own = FromRun("own", EVERYWHERE)
    for hook in HOOKS:
        for layer in range(3):
            rows = [every_head(backend.describe(), hook, layer, "own", N)]
            for head in heads_of(backend.describe(), hook):
                site = Site(hook, layer, EVERYWHERE, head)
                rows += [
                    Row((Write(site, own),), computed=True),
                    Row((Write(site, Minus(own, own), how="add"),), computed=True),
                    Row((Write(site, noise(backend, hook), alpha=0.0),), computed=True),
                ]
            for row in rows:
                assert np.array_equal(scored(backend, PROMPT, [row], IDS), base), (hook, layer)


def test_all_heads_of_a_layer_are_its_attention_branch(backend: VllmBackend) -> None:
    """By what attention returns, and by all that it is called with."""
    model = backend.describe()
    backend.capture("other", OTHER, ["attn_out", *HOOKS], range(3), EVERYWHERE)
    base = scored(backend, PROMPT, [Row(computed=True)], IDS)
    for layer in range(3):
        by_hook = {hook: every_head(model, hook, layer, "other", N) for hook in HOOKS}
        branch = Row((Write(Site("attn_out", layer, EVERYWHERE), FromRun("other", EVERYWHERE)),))
        inputs = Row(tuple(write for hook in ("q", "k", "v") for write in by_hook[hook].writes))
        found = [scored(backend, PROMPT, [row], IDS) for row in (branch, by_hook["z"], inputs)]
        assert np.abs(found[1] - found[0]).max() < 1e-5
        assert np.abs(found[2] - found[0]).max() < 1e-5
        assert np.abs(found[0] - base).max() > 0.1


def test_sources_of_every_kind_at_several_heads_and_layers_are_the_torch_backends(
    backend: VllmBackend, reference: TorchBackend
) -> None:
    grids = []
    rows = [*mixed_cells(backend.describe(), N), *head_cells(backend.describe(), [1], N)]
    for each in (backend, reference):
        each.capture("clean", OTHER, [*HOOKS, "mlp_out"], range(3), EVERYWHERE)
        grids.append(scored(each, PROMPT, rows, IDS))
    assert np.abs(grids[0] - grids[1]).max() < 1e-4
    assert np.ptp(grids[1], axis=0).max() > 1  # there is something to be wrong about


def test_prompts_in_one_batch_are_each_what_they_are_alone(backend: VllmBackend) -> None:
    some = []
    for n in (10, 4, 33):
        tokens = [(7 * n + 3 * p) % 300 + 1 for p in range(n)]
        rows = [
            Row((Write(Site(hook, layer, (n - 1, 1), 0), noise(backend, hook, n)),))
            for hook in HOOKS
            for layer in range(3)
        ]
        some.append(work(tokens, rows, IDS))
    for each, found in zip(some, scored_together(backend, some), strict=True):
        for row, value in list(zip(each.rows, found, strict=True))[::4]:
            assert np.abs(scored(backend, each.tokens, [row], IDS)[0] - value).max() < 1e-4


@pytest.mark.parametrize("hook", HOOKS)
def test_a_cached_prompt_and_patched_heads_never_share_a_block(
    backend: VllmBackend, hook: Hook
) -> None:
    """A key or value that is written lies in the cache, where another request could find it."""
    long = [(p * 7 + HOOKS.index(hook)) % 300 + 1 for p in range(70)]
    plain = scored(backend, long, [Row(computed=True)], IDS)

    def patched(seed: int) -> np.ndarray:
        row = Row((Write(Site(hook, 0, (40,), 0), noise(backend, hook, seed), 4.0),))
        starts = backend._starts([work(long, [row], IDS)])
        [answer] = next(iter(backend._flight.each(starts, 1)))
        assert answer.output.num_cached_tokens == 32, "its own block on nobody else has"
        return np.array([answer.output.outputs[0].logprobs[0][i].logprob for i in IDS])

    first, second = patched(1), patched(2)
    assert np.abs(first - plain).max() > 1e-4
    assert np.abs(first - second).max() > 1e-4
    for _ in range(2):
        assert np.abs(scored(backend, long, [Row(computed=True)], IDS) - plain).max() < 1e-5
        assert np.abs(patched(1) - first).max() < 1e-5


def test_a_captured_run_holds_heads_and_its_bytes_are_counted(
    backend: VllmBackend, reference: TorchBackend
) -> None:
    numbers = sum(backend.describe().hook_width(hook, N) for hook in HOOKS)
    reference.capture("run", PROMPT, HOOKS, [2, 0], [4, 1])
    made = backend.capture("run", PROMPT, HOOKS, [2, 0], [4, 1])
    assert made.bytes == 4 * numbers * 2 * 2
    assert next(iter(backend.rank_manifests().values()))["bytes"] == made.bytes
    sites = [Site(hook, layer, (4, 1), None) for hook in HOOKS for layer in (0, 2)]
    sites += [replace(site, head=0) for site in sites]
    for mine, theirs in zip(backend.read("run", sites), reference.read("run", sites), strict=True):
        assert mine.shape == theirs.shape
        assert mine == pytest.approx(theirs, abs=1e-4)


def test_a_head_that_was_not_written_is_an_error(
    backend: VllmBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = taps.tap

    def deaf(step: taps.Step, site: taps.SiteKey, *rest: object) -> None:
        if site != ("k", 1):
            done(step, site, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(taps, "tap", deaf)
    written = tuple(Write(Site(h, 1, (3,), 0), noise(backend, h)) for h in ("z", "k"))
    with pytest.raises(HookNeverFired, match="1 of 2 patches were made; the one at k, layer 1"):
        scored(backend, PROMPT, [Row(written)], IDS)


def test_what_cannot_be_is_refused_in_one_line(backend: VllmBackend) -> None:
    def score(site: Site) -> None:
        scored(backend, PROMPT, [Row((Write(site, FromVector(np.ones(32, np.float32))),))], IDS)

    with pytest.raises(UnknownHook, match=r"'pattern' is not .* 'z'\]; pattern needs .*'torch'"):
        score(Site("pattern", 0, (0,), 0))
    with pytest.raises(HeadOutOfRange, match=r"head 1 is out of range \[0, 1\) at k"):
        score(Site("k", 0, (0,), 1))
    other = Write(Site("z", 0, (0,), 0), FromRun("run", (0,), hook="mlp_in"))
    with pytest.raises(BadRequest, match="mlp_in cannot stand at z"):
        scored(backend, PROMPT, [Row((other,))], IDS)
    with pytest.raises(BadRequest, match="v of key head 0 for query head 1 alone: vLLM's cache"):
        score(Site("v", 0, (0,), 0, readers=(1,)))
    write = Write(Site("z", 0, (0,), 1), noise(backend, "z"))
    with pytest.raises(BadRequest, match="z is a hook of heads"):
        next(iter(backend.generate(GenerateRequest(tuple(PROMPT), writes=(write,)))))


def test_a_sweep_over_heads_is_the_torch_backends(
    backend: VllmBackend, reference: TorchBackend
) -> None:
    def swept(on: VllmBackend | TorchBackend, **more: Any) -> dict[str, np.ndarray]:
        prompts = {"clean": OTHER, "corrupt": PROMPT}
        made = sonde.Model(on).sweep(**{**prompts, "answer": " a", "hooks": HOOKS, **more})
        return {str(hook): np.asarray(grid) for hook, grid in made.grids.items()}

    zeros = {"clean": None, "source": "zero", "layers": "windows:2"}
    mean = {"clean": None, "source": "mean", "reference": [OTHER, PROMPT], "heads": "together"}
    asked: tuple[dict[str, Any], ...] = ({}, {"positions": "each"}, zeros, mean)
    for more in asked:
        ours, theirs = swept(backend, **more), swept(reference, **more)
        for hook in HOOKS:
            assert ours[hook].shape == theirs[hook].shape
            assert np.abs(ours[hook] - theirs[hook]).max() < 1e-4
    with pytest.raises(BadRequest, match="k of key head 0 for query head . alone"):
        swept(backend, kv="reader")
