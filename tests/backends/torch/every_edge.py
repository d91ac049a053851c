"""Edges and paths of every architecture and of the default model against plain forward passes.

    python -m tests.backends.torch.every_edge

runs 200 random edges and 200 random paths of each; the tests run some of them.
"""

import random
import sys
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from transformers import AutoModelForCausalLM, PreTrainedModel

import sonde
from sonde.backends.base import Backend
from sonde.engine.tables import sweep_table
from sonde.nodes import Graph, name_of
from sonde.schema.table import Frozen, SweepRequest, TableSummary
from tests.architectures import ARCHITECTURES, PACKED, Parts
from tests.backends.torch.edge_reference import EdgeReference
from tests.backends.torch.every_head import AGREEMENT
from tests.backends.torch.tiny import IDS, pair_of_prompts, tiny_backend

EACH = 200


class Compared(NamedTuple):
    """Some edges, as Sonde has them and as plain passes do."""

    ours: np.ndarray[tuple[int], np.dtype[np.float64]]
    plain: np.ndarray[tuple[int], np.dtype[np.float64]]

    @property
    def furthest(self) -> float:
        """The largest difference."""
        return float(np.abs(self.ours - self.plain).max())

    @property
    def spread(self) -> float:
        """How much the edges differ from one another: there is something to be wrong about."""
        return float(np.ptp(self.plain))


def drawn(graph: Graph, n: int, seed: int) -> list[tuple[str, str]]:
    """Random edges, and some ordinary patches of a sender among them."""
    edges = [(name_of((s,)), name_of((r,))) for s, r in graph.edges()]
    edges += [(name_of((s,)), "total") for s in graph.senders()]
    return random.Random(seed).sample(edges, min(n, len(edges)))


def compared(
    backend: Backend,
    plain: EdgeReference,
    prompts: tuple[Sequence[int], Sequence[int]],
    ids: tuple[int, int],
    frozen: Frozen,
    n: int,
    seed: int = 0,
) -> Compared:
    """Logit differences of random edges, both ways."""
    edges = drawn(Graph.of(backend.describe()), n, seed)
    theirs = []
    for sender, receiver in edges:
        one = plain.path if frozen == "path+mlps" and receiver != "total" else plain.edge
        answer, foil = one(sender, receiver, ids).tolist()
        theirs.append(answer - foil)
    return Compared(np.array(ours(backend, edges, prompts, ids, frozen)), np.array(theirs))


def ours(
    backend: Backend,
    edges: Sequence[tuple[str, str]],
    prompts: tuple[Sequence[int], Sequence[int]],
    ids: tuple[int, int],
    frozen: Frozen,
) -> list[float]:
    """The same edges, a sweep for each sender."""
    found: dict[tuple[str, str], float] = {}
    for sender in dict.fromkeys(s for s, _ in edges):
        request = SweepRequest(
            clean=list(prompts[0]), corrupt=list(prompts[1]), answer=ids[0], foil=ids[1],
            metric="logit_diff", senders=[sender], frozen=frozen,
            receivers=list(dict.fromkeys(r for s, r in edges if s == sender)),
        )  # fmt: skip
        *_, summary = sweep_table(backend, request)
        assert isinstance(summary, TableSummary)
        [table] = summary.tables
        values = table.values["logit_diff"]
        for name, value in zip(table.axes[1].values, values, strict=True):
            assert value is not None
            found[sender, str(name)] = value
    return [found[edge] for edge in edges]


def of_architecture(name: str, frozen: Frozen, n: int, seed: int = 0) -> Compared:
    """Random edges of one tiny architecture."""
    architecture = ARCHITECTURES[name]
    clean, corrupt = pair_of_prompts(9)
    plain = EdgeReference(architecture.build(), architecture.parts, clean, corrupt)
    return compared(tiny_backend(name), plain, (clean, corrupt), IDS, frozen, n, seed)


def of_default(model: sonde.Model, frozen: Frozen, n: int, seed: int = 0) -> Compared:
    """Random edges of the default model, whose plain twin is read from the same files."""
    backend = model.backend
    tokens = backend.tokenize(AGREEMENT.clean), backend.tokenize(AGREEMENT.corrupt)
    [answer] = backend.tokenize(AGREEMENT.answer, special=False)
    [foil] = backend.tokenize(str(AGREEMENT.foil), special=False)
    twin: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
        backend.directory,  # type: ignore[attr-defined]
        dtype="float32",
    ).eval()
    plain = EdgeReference(twin, Parts(), *tokens)
    return compared(backend, plain, tokens, (answer, foil), frozen, n, seed)


def main() -> None:
    """Tell how far apart the two are."""
    model = sonde.load("smollm2")
    kinds: tuple[Frozen, Frozen] = ("edge", "path+mlps")
    for name in [*PACKED, "smollm2"]:
        for frozen in kinds:
            of = partial(of_default, model) if name == "smollm2" else partial(of_architecture, name)
            found = of(frozen, EACH)
            sys.stdout.write(
                f"{name}, {frozen}: {len(found.ours)} cells within {found.furthest:.2g} of plain "
                f"passes (they spread over {found.spread:.2g})\n"
            )


if __name__ == "__main__":
    main()
