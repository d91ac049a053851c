"""200 agreement pairs by 270 heads at `z`, beside TransformerLens' own function.

SmolLM2 in float32; every head of every layer, all positions at once: 54,000 cells, each pair with a
zero, sources and controls of its own. A round times Sonde's whole sweep over all pairs and, right
after it, TransformerLens' `get_act_patch_attn_head_out_all_pos` on a few layers of some of the
pairs, scaled to all; its clean runs are not counted. Ratios are taken within rounds. Also: the
share of the product rate, as in `heads`; and the bits, of pairs in another order and of some alone.

    python -m benchmarks.pairs              # after `make bench` has installed the peers
    python -m benchmarks.pairs --pairs 20 --no-peers
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sonde
from benchmarks.heads import needed_flops
from benchmarks.machine import median, seconds, write
from benchmarks.roofline import gemm_rates
from benchmarks.sweep_rate import Peers
from sonde.backends.torch.backend import TorchBackend
from sonde.results import PairSweep
from sonde.schema.pair import PromptPair

SAMPLE, LAYERS = 6, 3
"""Pairs and layers of the peer's function in a round."""


def swept(model: sonde.Model, pairs: Sequence[PromptPair]) -> PairSweep:
    """A whole sweep, nothing kept from the one before."""
    backend = model.backend
    assert isinstance(backend, TorchBackend)
    backend.forget()
    return model.sweep(pairs=pairs, hooks=["z"], metric="recovered", drop_wrong=False)


def tokens_of(model: sonde.Model, pair: PromptPair) -> dict[str, Any]:
    """A pair as the peer takes it."""
    text = model.backend
    assert isinstance(pair.clean, str)
    assert isinstance(pair.corrupt, str)
    assert isinstance(pair.answer, str)
    assert isinstance(pair.foil, str)
    return {
        "clean": text.tokenize(pair.clean), "corrupt": text.tokenize(pair.corrupt),
        "answer": text.tokenize(pair.answer, special=False)[0],
        "foil": text.tokenize(pair.foil, special=False)[0],
    }  # fmt: skip


def needed(model: sonde.Model, pairs: Sequence[PromptPair]) -> float:
    """Operations of the products of all cells."""
    total = 0.0
    for pair in pairs:
        asked = tokens_of(model, pair)
        both = list(zip(asked["clean"], asked["corrupt"], strict=False))
        first = next((i for i, (a, b) in enumerate(both) if a != b), len(both))
        total += needed_flops(["z"], len(asked["corrupt"]), first)
    return total


def same_bits(model: sonde.Model, pairs: Sequence[PromptPair], found: PairSweep) -> dict[str, bool]:
    """Whether order and batching leave every bit as it is."""
    values = found.per_pair["z"]
    backwards = swept(model, pairs[::-1]).per_pair["z"][::-1]
    some = range(0, len(pairs), max(1, len(pairs) // SAMPLE))
    alone = [swept(model, [pairs[n]]).per_pair["z"][0] for n in some]
    return {
        "in_any_order": np.array_equal(values, backwards),
        "alone": all(np.array_equal(values[n], a) for n, a in zip(some, alone, strict=True)),
    }


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, default=Path(".venv-peers/bin/python"))
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    model = sonde.load("smollm2")
    backend = model.backend
    assert isinstance(backend, TorchBackend)
    pairs = list(sonde.pairs("agreement", n=options.pairs))
    flops = needed(model, pairs)
    peers = None
    if not options.no_peers:
        peers = Peers(options.peers, {"path": backend.directory}, script="head_peers.py")
    rounds: list[dict[str, float]] = []
    for number in range(options.rounds):
        told = {"rate": max(gemm_rates().values()), "sonde": seconds(lambda: swept(model, pairs))}
        if peers is not None:
            some = pairs[number :: max(1, len(pairs) // SAMPLE)][:SAMPLE]
            took = [
                peers.ask({**tokens_of(model, each), "hooks": ["z"], "layers": LAYERS})["seconds"]
                for each in some
            ]
            a_layer = sum(each["z"] for each in took) / len(some) / LAYERS
            told["peer"] = a_layer * 30 * len(pairs)
        print(json.dumps(told))
        rounds.append(told)
    result: dict[str, Any] = {
        "pairs": len(pairs),
        "cells": 270 * len(pairs),
        "seconds": median([each["sonde"] for each in rounds]),
        "share_of_gemm_rate": median([flops / each["sonde"] / each["rate"] for each in rounds]),
        "same_bits": same_bits(model, pairs, swept(model, pairs)),
        "rounds": rounds,
    }
    if peers is not None:
        result["times_faster"] = median([each["peer"] / each["sonde"] for each in rounds])
    write("pairs", result)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
