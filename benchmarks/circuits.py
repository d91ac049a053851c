"""Circuits beside forward passes: how many passes one of each size costs, in one process.

SmolLM2 in float32, an indirect-object pair; random circuits, several of a size side by side as an
evaluation runs them. Each round times every size, and right before it two plain passes of the same
prompts. Ratios are taken within rounds.

    python -m benchmarks.circuits --rounds 3
"""

import argparse
import json
from functools import partial
from typing import Any

import numpy as np
import torch

import sonde
from benchmarks.machine import median, seconds, write
from sonde.backends.base import Column, Mixture, Readout
from sonde.backends.torch.backend import TorchBackend
from sonde.nodes import Graph

SHARES = (0.001, 0.01, 0.05, 0.2, 0.5, 0.9, 0.999)


def compared(rounds: int, at_once: int) -> dict[str, Any]:
    """Forward passes that a circuit of each share of all edges costs; and how exact they are."""
    model = sonde.load("smollm2")
    backend, pair = model.backend, sonde.PAIRS["ioi"]
    assert isinstance(backend, TorchBackend)
    clean, corrupt = backend.tokenize(pair.clean), backend.tokenize(pair.corrupt)
    told = Readout(
        tuple(
            Column("logit", backend.tokenize(text, special=False)[0])
            for text in (pair.answer, pair.foil)
        )
    )
    n = Graph.of(backend.describe()).n_edges()
    draw = np.random.default_rng(0)

    def passes() -> None:
        backend.forget()
        backend.baselines([(corrupt, told), (clean, told)], [])

    def run(edges: np.ndarray, computed: frozenset[int] = frozenset()) -> np.ndarray:
        asked = Mixture(corrupt, clean, edges, told, computed)
        return np.concatenate([scores.values for scores in backend.mix([asked])])

    found: dict[float, list[float]] = {share: [] for share in SHARES}
    for _ in range(rounds):
        for share in SHARES:
            one = seconds(passes) / 2
            edges = np.array([draw.random(n) < share for _ in range(at_once)])
            found[share].append(seconds(partial(run, edges)) / at_once / one)
    whole = run(np.ones((1, n), dtype=bool), frozenset([0]))
    own = np.array(backend.baselines([(clean, told)], []))
    return {
        "edges": n,
        "tokens": len(clean),
        "threads": torch.get_num_threads(),
        "at_once": at_once,
        "passes_a_circuit": {f"{share:.1%}": median(each) for share, each in found.items()},
        "rounds": rounds,
        "edge_by_edge_from_the_model": float(np.abs(whole - own).max()),
    }


def main() -> None:
    """Time, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=8)
    asked = parser.parse_args()
    found = compared(asked.rounds, asked.at_once)
    print(json.dumps(found, indent=2))
    write("circuits", found)


if __name__ == "__main__":
    main()
