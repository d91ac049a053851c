"""Five panels of heads beside TransformerLens' own functions, and against independent oracles.

SmolLM2 in float32; every head of every layer at `z`, `q`, `k`, `v` and `pattern`, all positions at
once: 3 × 270 and 2 × 90 = 990 cells. Each round times Sonde's whole sweep of all five (both
prompts, capture, controls, every cell), its sweep of `z` alone, and right after them
TransformerLens' `get_act_patch_attn_head_*` functions on a few layers, scaled to all of them; its
clean run is not counted. Ratios are taken within rounds. Also: the share of the product rate, as in
`roofline`.

    python -m benchmarks.heads              # after `make bench` has installed the peers
    python -m benchmarks.heads --exactness  # every cell it has too, and 500 at one position
"""

import argparse
import json
import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Any

import numpy as np

import sonde
from benchmarks.machine import kept, median, seconds, write
from benchmarks.roofline import gemm_rates, products_of
from benchmarks.sweep_rate import Peers
from sonde.backends.torch.backend import TorchBackend
from sonde.prompts import DemoPair
from sonde.schema import HEAD_HOOKS, Hook

INDIRECT_OBJECT = sonde.PAIRS["ioi"]
AGREEMENT = DemoPair(
    name="agreement",
    clean="The keys to the old cabinet",
    corrupt="The key to the old cabinet",
    answer=" are",
    foil=" is",
    shows="Which heads carry the number of a subject across a phrase.",
)
TOLD_BY_PEER: tuple[Hook, ...] = ("z", "q", "pattern")
EACH = 500
"""Cells at one position."""


class Question:
    """A pair of prompts, as tokens, and what is asked of it."""

    def __init__(self, model: sonde.Model, pair: DemoPair) -> None:
        """`model` tokenizes, and is asked."""
        backend = model.backend
        assert isinstance(backend, TorchBackend)
        self.model, self.backend, self.pair = model, backend, pair
        self.clean, self.corrupt = (backend.tokenize(text) for text in (pair.clean, pair.corrupt))
        self.answer, self.foil = (
            backend.tokenize(text, special=False)[0] for text in (pair.answer, pair.foil)
        )

    def sweep(self, hooks: Sequence[Hook], **options: Any) -> sonde.Sweep:
        """A whole sweep, nothing kept from the one before."""
        self.backend.forget()
        found: sonde.Sweep = self.model.sweep(
            clean=self.pair.clean, corrupt=self.pair.corrupt, answer=self.pair.answer,
            foil=self.pair.foil, hooks=hooks, metric="logit_diff", **options,
        )  # fmt: skip
        return found

    def asked(self, hooks: Sequence[Hook], **options: Any) -> dict[str, Any]:
        """The same for the peers."""
        tokens = {"clean": self.clean, "corrupt": self.corrupt}
        return {**tokens, "answer": self.answer, "foil": self.foil, "hooks": hooks, **options}


def needed_flops(hooks: Sequence[Hook], n_tokens: int, first: int) -> float:
    """Operations of the products of all cells, whose suffixes begin at `first`.

    In its own layer a cell needs what comes after attention; a key or value written there needs no
    projection either. Above it, whole rows; in the last layer the last position's, beside keys.
    """
    n_layers, width, inner, kv, vocabulary = 30, 576, 1536, 192, 49152
    after = 2 * (width * width + 3 * width * inner)
    row = after + 2 * (width * width + 2 * width * kv)
    keys, rows = 2 * 2 * width * kv, n_tokens - first
    cells = sum(3 if hook in ("k", "v") else 9 for hook in hooks)
    below = sum(after * rows + (n_layers - 2 - layer) * rows * row for layer in range(n_layers - 1))
    last = (n_layers - 1) * (rows * keys + row - keys) + after
    return float(cells * (below + last + n_layers * 2 * width * vocabulary))


def rounds_of(question: Question, peers: Peers, count: int, layers: int) -> list[dict[str, Any]]:
    """Interleaved timings."""
    out = []
    for _ in range(count):
        found: dict[str, Any] = {
            "rate": max(gemm_rates().values()),
            "five_panels": seconds(partial(question.sweep, HEAD_HOOKS)),
            "z": seconds(partial(question.sweep, ["z"])),
        }
        told = peers.ask(question.asked(HEAD_HOOKS, layers=layers))["seconds"]
        found["peer"] = {hook: took * 30 / layers for hook, took in told.items()}
        print(json.dumps(found))
        out.append(found)
    return out


def speed(question: Question, peers: Peers, count: int, layers: int) -> dict[str, Any]:
    """How many times faster, and what share of the product rate."""
    question.sweep(HEAD_HOOKS)
    products = products_of(lambda: question.sweep(HEAD_HOOKS))
    pairs = zip(question.clean, question.corrupt, strict=True)
    first = next(i for i, (a, b) in enumerate(pairs) if a != b)
    rounds = rounds_of(question, peers, count, layers)
    five = [sum(each["peer"].values()) / each["five_panels"] for each in rounds]
    alone = [each["peer"]["z"] / each["z"] for each in rounds]
    needed = {
        name: needed_flops(hooks, len(question.corrupt), first)
        for name, hooks in (("five_panels", HEAD_HOOKS), ("z", ("z",)))
    }
    return {
        "tokens": len(question.corrupt),
        "first_changed": first,
        "seconds": {name: median([each[name] for each in rounds]) for name in needed},
        "peer_seconds": {
            hook: median([each["peer"][hook] for each in rounds]) for hook in HEAD_HOOKS
        },
        "times_faster": {"five_panels": median(five), "z": median(alone)},
        "middle_half": {
            "five_panels": quantiles(five, n=4)[::2], "z": quantiles(alone, n=4)[::2]
        },
        "share_of_gemm_rate": {
            name: median([flops / each[name] / each["rate"] for each in rounds])
            for name, flops in needed.items()
        },
        "products_alone_share_of_sweep": median([
            seconds(products) / seconds(partial(question.sweep, HEAD_HOOKS)) for _ in range(3)
        ]),
        "rounds": rounds,
    }  # fmt: skip


def agreement(question: Question, peers: Peers) -> dict[str, Any]:
    """The largest distances from the peer, over every cell and over some at one position.

    At keys and values its grids are padded, so plain passes are the oracle there: they are compared
    with everything in `tests.backends.torch.every_head`.
    """
    ours = question.sweep(HEAD_HOOKS).grids
    assert sum(grid.size for grid in ours.values()) == 990
    told = peers.ask(question.asked(TOLD_BY_PEER))["grids"]
    far: dict[str, float] = {
        hook: float(np.abs(ours[hook] - np.array(told[hook])).max()) for hook in TOLD_BY_PEER
    }
    each = question.sweep(TOLD_BY_PEER, positions="each").grids
    every = [(hook, *at) for hook, grid in each.items() for at in np.ndindex(grid.shape)]
    some = random.Random(0).sample(every, EACH)
    for hook in TOLD_BY_PEER:
        mine = [(layer, at, head) for name, layer, head, at in some if name == hook]
        peer = peers.ask(question.asked([hook], each=mine))["grids"][hook]
        theirs = zip(mine, peer, strict=True)
        apart = [abs(each[hook][layer, head, at] - value) for (layer, at, head), value in theirs]
        far[f"{hook}, each"] = float(max(apart))
    return {"together": 810, "each": EACH, "spread": _spread(ours), "largest_difference": far}


def _spread(grids: dict[Hook, Any]) -> float:
    """How much the cells differ from one another: there is something to be wrong about."""
    return max(float(np.ptp(grid)) for grid in grids.values())


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, default=Path(".venv-peers/bin/python"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--layers", type=int, default=3, help="of the peer's functions, a round")
    parser.add_argument("--exactness", action="store_true", help="no speed, but every cell")
    options = parser.parse_args()
    model = sonde.load("smollm2")
    questions = [Question(model, pair) for pair in (INDIRECT_OBJECT, AGREEMENT)]
    path = questions[0].backend.directory
    peers = Peers(options.peers, {"path": path}, script="head_peers.py")
    result = kept("heads")
    if options.exactness:
        result["exactness"] = {q.pair.name: agreement(q, peers) for q in questions}
    else:
        result["speed"] = {
            q.pair.name: speed(q, peers, options.rounds, options.layers) for q in questions
        }
    result.pop("machine", None)
    write("heads", result)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
