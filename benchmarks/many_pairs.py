"""Many prompt pairs in one call, beside one pair alone, on the CPU: time and bits.

64 pairs of 9 to 20 tokens, 270 cells each (every layer, nine positions), with both prompts'
unpatched runs and the capture. A pair alone is the same work for one pair, averaged over a sample.
The numbers are compared bit by bit.

    python -m benchmarks.many_pairs
"""

import argparse
import json
from functools import partial

import numpy as np
import torch

import sonde
from benchmarks.machine import median, seconds, write
from sonde.backends.base import FromRun, Row, Work, logprobs_of, write_at
from sonde.backends.torch.backend import TorchBackend

ROUNDS = 5
SAMPLE = 12
Pair = tuple[list[int], list[int]]


def pairs_of(n: int, vocabulary: int) -> list[Pair]:
    """Random tokens; the prompts of a pair differ from their second token on."""
    generator = torch.Generator().manual_seed(0)
    out = []
    for i in range(n):
        length = 9 + i % 12
        clean, corrupt = torch.randint(100, vocabulary, (2, length), generator=generator).tolist()
        out.append((clean, [clean[0], *corrupt[1:]]))
    return out


def run(backend: TorchBackend, pairs: list[Pair]) -> list[np.ndarray]:
    """Everything a sweep does: unpatched runs, captures, and 270 cells of each pair."""
    backend.forget()
    readout, depth = logprobs_of([500, 600]), backend.describe().n_layers
    asked = [(tokens, readout) for pair in pairs for tokens in pair]
    backend.baselines(asked, ["post_block"])
    work = []
    for i, (clean, corrupt) in enumerate(pairs):
        name = f"run-{i}"
        backend.capture(name, clean, ["post_block"], range(depth), range(len(clean)))
        columns = range(len(clean) - 9, len(clean))
        rows = [
            Row((write_at("post_block", layer, p, FromRun(name, (p,))),))
            for layer in range(depth)
            for p in columns
        ]
        work.append(Work(corrupt, rows, readout))
    out = [np.full((len(each.rows), 2), np.nan) for each in work]
    for part in backend.score(work):
        out[part.work][list(part.rows)] = part.values
    return out


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=64)
    options = parser.parse_args()
    backend = sonde.load("smollm2").backend
    assert isinstance(backend, TorchBackend)
    pairs = pairs_of(options.pairs, 40_000)
    sample = pairs[:: max(1, len(pairs) // SAMPLE)][:SAMPLE]
    together = run(backend, pairs)
    backwards = run(backend, pairs[::-1])[::-1]
    alone = [run(backend, [pair])[0] for pair in pairs]
    same = all(
        a.tobytes() == b.tobytes() == c.tobytes()
        for a, b, c in zip(together, alone, backwards, strict=True)
    )
    rounds = []
    for _ in range(ROUNDS):
        whole = seconds(partial(run, backend, pairs)) / len(pairs)
        single = sum(seconds(partial(run, backend, [pair])) for pair in sample) / len(sample)
        rounds.append((whole, single))
    result = {
        "pairs": len(pairs), "cells_a_pair": 270, "tokens": "9 to 20",
        "bits_equal_in_any_order": same,
        "seconds_a_pair_together": median([whole for whole, _ in rounds]),
        "seconds_a_pair_alone": median([single for _, single in rounds]),
        "times_faster_together": median([single / whole for whole, single in rounds]),
    }  # fmt: skip
    write("many_pairs", result)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
