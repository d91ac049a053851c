"""What a token-layer costs in long prompts, beside short ones, in one process.

SmolLM2 in float32, random tokens, cells at `post_block` of two layers and of positions spread over
the prompt, so many that every length has full chunks. Timed is the scoring of the cells alone: the
unpatched run and the capture are made beforehand. In every round each length is timed once, and
ratios to the shortest are taken within rounds. Next to the clock's time stands the CPU's, which
other work on the machine moves less, and what the needed operations alone would say.

    python -m benchmarks.long_prompts
"""

import argparse
import json
import time
from dataclasses import dataclass
from typing import Any

import torch

import sonde
from benchmarks.machine import median, write
from sonde.backends.base import FromRun, Row, Work, logprobs_of, write_at
from sonde.backends.torch.backend import TorchBackend

LENGTHS = (43, 281, 512, 1024)
LAYERS = (10, 20)
POSITIONS = {43: 43, 281: 20, 512: 12, 1024: 8}
"""At how many positions cells are written, so that every length is some seconds of work."""
WEIGHTS = 2 * 576 * 576 + 2 * 192 * 576 + 3 * 576 * 1536
"""Of a layer; each is one multiplication a row, as is each number of queries and weights a key."""
PER_KEY = 2 * 9 * 64


@dataclass(frozen=True)
class Prepared:
    """Cells of one prompt, whose unpatched run is there."""

    work: Work
    token_layers: int
    operations: float
    """Multiplications a token-layer."""


def prepared(backend: TorchBackend, n_tokens: int) -> Prepared:
    """Two random prompts of a length, the clean one captured and the corrupt one run."""
    draw = torch.Generator().manual_seed(n_tokens)
    clean, corrupt = torch.randint(100, 40_000, (2, n_tokens), generator=draw).tolist()
    count = POSITIONS.get(n_tokens, 8)
    positions = [(2 * i + 1) * n_tokens // (2 * count) for i in range(count)]
    name, readout = f"clean-{n_tokens}", logprobs_of([500])
    backend.capture(name, clean, ["post_block"], LAYERS, positions)
    rows = [
        Row((write_at("post_block", layer, p, FromRun(name, (p,))),))
        for layer in LAYERS
        for p in positions
    ]
    work = Work(corrupt, rows, readout)
    backend.baselines([(corrupt, readout)], ["post_block"])
    seen = [p for start in positions for p in range(start, n_tokens)]
    keys = sum(p + 1 for p in seen) / len(seen)
    needed = backend.cost([work]).token_layers
    return Prepared(work, needed, WEIGHTS + PER_KEY * keys)


def timed(backend: TorchBackend, what: Prepared) -> tuple[float, float]:
    """Microseconds of the clock and of the CPU that a token-layer takes."""
    clock, cpu = time.perf_counter(), time.process_time()
    for _ in backend.score([what.work]):
        pass
    clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
    return 1e6 * clock / what.token_layers, 1e6 * cpu / what.token_layers


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    backend = sonde.load("smollm2").backend
    assert isinstance(backend, TorchBackend)
    lengths = options.lengths
    all_cells = {n: prepared(backend, n) for n in lengths}
    timed(backend, all_cells[lengths[0]])  # what is made once
    rounds: list[dict[int, tuple[float, float]]] = []
    for number in range(options.rounds):
        rounds.append({n: timed(backend, cells) for n, cells in all_cells.items()})
        told = ", ".join(f"{n}: {a:.1f} ({b:.1f})" for n, (a, b) in rounds[-1].items())
        print(f"round {number + 1}, µs a token-layer (of the CPU): {told}", flush=True)
    shortest = lengths[0]
    base = all_cells[shortest].operations
    of_each: list[dict[str, Any]] = []
    for n in lengths:
        clock, cpu = ([each[n][i] for each in rounds] for i in (0, 1))
        ratios, cpu_ratios = (
            [each[n][i] / each[shortest][i] for each in rounds] for i in (0, 1)
        )  # fmt: skip
        of_each.append(
            {
                "tokens": n,
                "token_layers": all_cells[n].token_layers,
                "operations_over_shortest": all_cells[n].operations / base,
                "microseconds": median(clock),
                "cpu_microseconds": median(cpu),
                "over_shortest": median(ratios),
                "over_shortest_between": [min(ratios), max(ratios)],
                "cpu_over_shortest": median(cpu_ratios),
                "cpu_over_shortest_between": [min(cpu_ratios), max(cpu_ratios)],
            }
        )
    result = {"grid": f"post_block, layers {LAYERS}, SmolLM2-135M float32", "lengths": of_each}
    write("long_prompts", result)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
