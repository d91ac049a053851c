"""Several workers: the same cells, captures where they were made, and drops that reach them all.

The default model over three tensor shares, to which nine heads and three key heads are dealt out,
and over two stages of fifteen layers; six workers, three shares of each of two stages, on a tiny
model.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from sonde.backends.base import (
    Backend,
    FromRun,
    FromVector,
    MeanOf,
    Minus,
    Row,
    Site,
    Write,
    write_at,
)
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.vllm.backend import VllmBackend
from sonde.schema import LAYER_HOOKS
from tests.backends.suite import CLEAN, CORRUPT
from tests.backends.vllm import asking
from tests.backends.vllm.head_cells import HOOKS, head_cells, mixed_cells
from tests.backends.vllm.tiny import on_torch, on_vllm, save

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

SHAPE = {
    "hidden_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
}
"""One key head, of which all three shares hold copies."""


@dataclass(frozen=True)
class Spread:
    """A model over so many ranks, and the layers of it that are swept: both sides of a boundary."""

    model: str
    shares: int
    stages: int
    swept: tuple[int, ...]


DEEP = (0, 7, 14, 15, 22, 29)
SPREADS = {
    "tensor": Spread("smollm2", 3, 1, DEEP),
    "pipeline": Spread("smollm2", 1, 2, DEEP),
    "both": Spread("tiny", 3, 2, (0, 1, 2, 3)),
}


@dataclass(frozen=True)
class Ranks:
    """A backend over several ranks, and the torch backend beside it."""

    spread: Spread
    backend: VllmBackend
    reference: TorchBackend


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, TorchBackend]]:
    tiny = str(save("llama", tmp_path_factory.mktemp("llama"), **SHAPE))
    return {"tiny": (tiny, on_torch(tiny)), "smollm2": ("smollm2", on_torch("smollm2"))}


@pytest.fixture(scope="module", params=SPREADS)
def ranks(
    request: pytest.FixtureRequest, references: dict[str, tuple[str, TorchBackend]]
) -> Iterator[Ranks]:
    spread = SPREADS[request.param]
    name, reference = references[spread.model]
    made = on_vllm(name, tensor_parallel_size=spread.shares, pipeline_parallel_size=spread.stages)
    with closing(made):
        yield Ranks(spread, made, reference)


def prompts(backend: Backend) -> tuple[list[int], list[int]]:
    return backend.tokenize(CLEAN), backend.tokenize(CORRUPT)


def scored(backend: Backend, tokens: Sequence[int], rows: Sequence[Row]) -> np.ndarray:
    return asking.scored(backend, tokens, rows, [5, 50])


def cells(backend: Backend, layers: Sequence[int]) -> np.ndarray:
    """Every hook at these layers and all positions: on the default model, 324 cells."""
    clean, corrupt = prompts(backend)
    shared = range(min(len(clean), len(corrupt)))
    backend.capture("clean", clean, LAYER_HOOKS, layers, shared)
    sites = [(hook, layer, p) for hook in LAYER_HOOKS for layer in layers for p in shared]
    rows = [Row((write_at(h, layer, p, FromRun("clean", (p,))),)) for h, layer, p in sites]
    found = scored(backend, corrupt, rows)
    backend.drop("clean")
    return found


def test_every_cell_is_the_torch_backends(ranks: Ranks) -> None:
    expected = cells(ranks.reference, ranks.spread.swept)
    if ranks.spread.model == "smollm2":
        assert len(expected) == 324
    assert np.abs(cells(ranks.backend, ranks.spread.swept) - expected).max() < 1e-4
    assert np.ptp(expected, axis=0).max() > 1  # there is something to be wrong about


def test_every_head_is_the_torch_backends_whichever_share_holds_it(ranks: Ranks) -> None:
    """Heads of other shares and layers of other stages among their sources."""
    swept, n = ranks.spread.swept, 7

    def graded(on: Backend) -> np.ndarray:
        clean, corrupt = (tokens[:n] for tokens in prompts(on))
        model = on.describe()
        on.capture("clean", clean, [*HOOKS, "mlp_out"], range(model.n_layers), range(n))
        found = scored(on, corrupt, [*head_cells(model, swept[::3], n), *mixed_cells(model, n)])
        on.drop("clean")
        return found

    found, expected = graded(ranks.backend), graded(ranks.reference)
    assert np.abs(found - expected).max() < 1e-4
    assert np.ptp(expected, axis=0).max() > 1  # there is something to be wrong about


def test_each_share_keeps_its_own_heads(ranks: Ranks) -> None:
    backend, tokens = ranks.backend, prompts(ranks.backend)[0][:7]
    heads = backend.describe().heads
    assert heads == ranks.reference.describe().heads
    assert heads is not None
    made = backend.capture("run", tokens, HOOKS, range(backend.describe().n_layers), range(7))
    held = backend._driver.call("get_patch_source_manifests")
    each = [next(iter(rank.values())) for rank in held]
    kv_heads = max(1, heads.kv_heads // ranks.spread.shares)
    here = 2 * heads.heads // ranks.spread.shares + 2 * kv_heads
    assert [rank["bytes"] for rank in each] == [
        4 * heads.key_width * here * len(rank["layers"]) * 7 for rank in each
    ]
    assert made.bytes == sum(rank["bytes"] for rank in each)
    ranks.reference.capture("run", tokens, HOOKS, [0], range(7))
    sites = [Site(hook, 0, (6, 2)) for hook in HOOKS]
    ours, theirs = backend.read("run", sites), ranks.reference.read("run", sites)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine == pytest.approx(other, abs=1e-3)
    backend.drop("run")


def test_each_rank_holds_what_it_computes_and_all_let_go_of_it(ranks: Ranks) -> None:
    backend, spread = ranks.backend, ranks.spread
    tokens, model = prompts(backend)[0], backend.describe()
    made = backend.capture("run", tokens, LAYER_HOOKS, range(model.n_layers), range(len(tokens)))
    held: list[dict[str, Any]] = backend._driver.call("get_patch_source_manifests")
    whole = list(range(model.n_layers))
    half = model.n_layers // 2
    stages = [whole] if spread.stages == 1 else [whole[:half], whole[half:]]
    layers = [next(iter(rank.values()))["layers"] for rank in held]
    assert layers == [stage for stage in stages for _ in range(spread.shares)]
    assert made.bytes == sum(next(iter(rank.values()))["bytes"] for rank in held)
    assert (
        made.bytes == 4 * model.width * len(LAYER_HOOKS) * len(whole) * len(tokens) * spread.shares
    )
    assert list(backend.manifests()) == ["run"]
    backend.lease("run", "me")
    assert next(iter(backend.rank_manifests().values()))["leased"]
    assert backend.drop("run")
    assert backend._driver.call("get_patch_source_manifests") == [{}] * len(held)
    assert not backend.manifests()


@pytest.mark.parametrize("upwards", [True, False], ids=["upwards", "downwards"])
def test_what_one_stage_holds_can_be_written_on_another(ranks: Ranks, upwards: bool) -> None:
    """From a layer of the first half to one of the second, and the other way."""
    backend, reference = ranks.backend, ranks.reference
    clean, corrupt = prompts(backend)
    first, last = ranks.spread.swept[1], ranks.spread.swept[-2]
    taken_at, written_at = (first, last) if upwards else (last, first)
    site = Site("pre_attn", written_at, (1, len(corrupt) - 1))
    far = FromRun("run", (1, 4), hook="post_block", layer=taken_at)
    near = FromRun("run", (4, 1), hook="post_block", layer=written_at)
    rows = [
        Row((Write(site, far),)),
        Row((Write(site, Minus(far, near), 0.5, how="add"),)),
        Row((Write(site, MeanOf((far, near, near))),)),
    ]

    def graded(on: Backend) -> np.ndarray:
        on.capture("run", clean, ["post_block"], [first, last], [1, 4])
        return scored(on, corrupt, rows)

    found, expected = graded(backend), graded(reference)
    assert np.abs(found - expected).max() < 1e-4
    assert np.abs(expected - scored(reference, corrupt, [Row()])).max(1).min() > 0.01
    sites = [Site("post_block", layer, (4, 1)) for layer in (first, last)]
    for ours, theirs in zip(backend.read("run", sites), reference.read("run", sites), strict=True):
        assert np.abs(ours - theirs).max() < 1e-3 * np.abs(theirs).max()
    backend.drop("run")


def test_prompts_of_several_lengths_are_each_what_they_are_alone(ranks: Ranks) -> None:
    backend = ranks.backend
    draw = np.random.default_rng(0)
    width, middle = backend.describe().width, ranks.spread.swept[2]
    some = []
    for n in (9, 14, 5):
        vectors = [FromVector(draw.normal(size=width).astype(np.float32)) for _ in range(4)]
        rows = [Row((Write(Site("mlp_out", middle, (1, 3)), each, how="add"),)) for each in vectors]
        tokens = draw.integers(1, 300, size=n).tolist()
        some.append(asking.work(tokens, [Row(), *rows], [5, 50]))
    together = asking.scored_together(backend, some)
    for each, found in zip(some, together, strict=True):
        assert np.abs(found - scored(backend, each.tokens, each.rows)).max() < 1e-4
