"""Several workers: the same cells, captures where they were made, and drops that reach them all.

The default model over three tensor shares (nine heads, three of them key heads) and over two stages
of fifteen layers; six workers, three shares of each of two stages, on a tiny model.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from sonde.backends.base import Backend, FromRun, FromVector, Patch, Row
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.vllm.backend import VllmBackend
from sonde.schema import HOOKS
from tests.backends.suite import CLEAN, CORRUPT
from tests.backends.vllm.tiny import on_torch, on_vllm, save

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

SHAPE = {
    "hidden_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 3,
    "num_key_value_heads": 3,
}


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
    out = np.full((len(rows), 2), np.nan)
    for part in backend.score(tokens, rows, [5, 50]):
        out[list(part.rows)] = part.logprobs
    return out


def cells(backend: Backend, layers: Sequence[int]) -> np.ndarray:
    """Every hook at these layers and all positions: on the default model, 270 cells."""
    clean, corrupt = prompts(backend)
    shared = range(min(len(clean), len(corrupt)))
    backend.capture("clean", clean, HOOKS, layers, shared)
    sites = [(hook, layer, p) for hook in HOOKS for layer in layers for p in shared]
    rows = [Row((Patch(h, layer, p, FromRun("clean", (p,))),)) for h, layer, p in sites]
    found = scored(backend, corrupt, rows)
    backend.drop("clean")
    return found


def test_every_cell_is_the_torch_backends(ranks: Ranks) -> None:
    expected = cells(ranks.reference, ranks.spread.swept)
    if ranks.spread.model == "smollm2":
        assert len(expected) == 270
    assert np.abs(cells(ranks.backend, ranks.spread.swept) - expected).max() < 1e-4
    assert np.ptp(expected, axis=0).max() > 1  # there is something to be wrong about


def test_each_rank_holds_what_it_computes_and_all_let_go_of_it(ranks: Ranks) -> None:
    backend, spread = ranks.backend, ranks.spread
    tokens, model = prompts(backend)[0], backend.describe()
    made = backend.capture("run", tokens, HOOKS, range(model.n_layers), range(len(tokens)))
    held: list[dict[str, Any]] = backend._driver.call("get_patch_source_manifests")
    whole = list(range(model.n_layers))
    half = model.n_layers // 2
    stages = [whole] if spread.stages == 1 else [whole[:half], whole[half:]]
    layers = [next(iter(rank.values()))["layers"] for rank in held]
    assert layers == [stage for stage in stages for _ in range(spread.shares)]
    assert made.bytes == sum(next(iter(rank.values()))["bytes"] for rank in held)
    assert made.bytes == 4 * model.width * len(HOOKS) * len(whole) * len(tokens) * spread.shares
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
    read_at, write_at = (first, last) if upwards else (last, first)
    backend.capture("run", clean, ["post_block"], [read_at], [1, 4])
    taken = backend.read("run", "post_block", read_at, [1, 4])
    backend.drop("run")
    rows = [
        Row((Patch("pre_attn", write_at, p, FromVector(values)),))
        for p, values in zip((1, len(corrupt) - 1), taken, strict=True)
    ]
    found, expected = (scored(b, corrupt, rows) for b in (backend, reference))
    assert np.abs(found - expected).max() < 1e-4
    assert np.abs(expected - scored(reference, corrupt, [Row()])).max() > 0.01
