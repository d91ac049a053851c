"""How much faster a sweep is than the usual one-forward-per-cell loops.

SmolLM2 in float32, 30 layers × 9 positions at `post_block`. Each round times Sonde's whole sweep
(both prompts, capture, controls, every cell) and, right after it, a sample of cells of each loop,
as it is usually written and as lean as it can be (`hook_loop`, `peers`). Ratios are taken within
rounds, because a shared machine changes between them; given are their median and their middle half.
The loops' own capture of the clean run is not counted: that is to their advantage. Also: three
hooks against one, and the cost of longer prompts.

    make bench
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Any

import torch
from transformers import AutoModelForCausalLM

import sonde
from benchmarks.hook_loop import Cells, HookLoop
from benchmarks.machine import median, seconds, write
from sonde.backends.torch.backend import TorchBackend

PAIR = sonde.PAIRS["eiffel"]
SAMPLE = 12
Timed = Callable[[Cells], tuple[float, list[float]]]
"""A loop over some cells -> the seconds it took, and the answer's log-probabilities."""


class Peers:
    """The other libraries, in a process of their own that is idle unless asked."""

    def __init__(self, python: Path, setup: dict[str, Any], script: str = "peers.py") -> None:
        """Start the process and wait until its models are loaded."""
        here = Path(__file__).parent / script
        self._process = subprocess.Popen(
            [str(python), str(here)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.loops: list[str] = self.ask(setup)["loops"]

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """One request, one answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        while not (line := self._process.stdout.readline()).startswith("{"):
            if not line:
                raise SystemExit("the peers' process ended; run `make bench` to install it")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def time(self, loop: str, cells: Cells) -> tuple[float, list[float]]:
        """A `Timed`."""
        answer = self.ask({"loop": loop, "cells": cells})
        return answer["seconds"], answer["logprobs"]


def timed(loop: Callable[[Cells], list[float]], cells: Cells) -> tuple[float, list[float]]:
    """A `Timed`, in this process."""
    began = time.perf_counter()
    found = loop(cells)
    return time.perf_counter() - began, found


def sweep(
    model: sonde.Model, corrupt: str = PAIR.corrupt, clean: str = PAIR.clean, **options: Any
) -> sonde.Sweep:
    """One whole sweep, nothing kept from the one before."""
    backend = model.backend
    assert isinstance(backend, TorchBackend)
    backend.forget()
    found: sonde.Sweep = model.sweep(clean=clean, corrupt=corrupt, answer=PAIR.answer, **options)
    return found


def lengths(model: sonde.Model, rounds: int) -> list[dict[str, float]]:
    """Seconds per needed token-layer for longer prompts, every fifth layer."""
    filler = (
        "In the long and quiet afternoon the old man told a story about many places and names. "
    )
    out = []
    for n_tokens in (9, 32, 128):
        clean, corrupt = _lengthened(model, filler, n_tokens)
        few = range(0, 30, 5)
        request = model.request(clean=clean, corrupt=corrupt, answer=PAIR.answer, layers=few)
        needed = model.estimate(request).token_layers
        took = median(
            [seconds(partial(sweep, model, corrupt, clean, layers=few)) for _ in range(rounds)]
        )
        out.append({"tokens": n_tokens, "token_layers": needed, "seconds": took,
                    "microseconds_per_token_layer": 1e6 * took / needed})  # fmt: skip
    return out


def _lengthened(model: sonde.Model, filler: str, n_tokens: int) -> tuple[str, str]:
    """The pair, with so much filler in the middle that both have `n_tokens` tokens."""
    tokens = model.backend.tokenize(filler * 10)[: n_tokens - 9]
    middle = model.backend.detokenize(tokens)
    head, tail = " is", " in the city of"
    return tuple(  # type: ignore[return-value]
        f"The {name}{head}{' (' + middle + ')' if middle else ''}{tail}"
        for name in ("Eiffel Tower", "Colosseum")
    )


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, default=Path(".venv-peers/bin/python"))
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    model = sonde.load("smollm2")
    backend = model.backend
    assert isinstance(backend, TorchBackend)
    corrupt, clean = backend.tokenize(PAIR.corrupt), backend.tokenize(PAIR.clean)
    answer = backend.tokenize(PAIR.answer, special=False)[0]
    plain = AutoModelForCausalLM.from_pretrained(backend.directory, dtype=torch.float32).eval()
    by_hooks = HookLoop(plain, corrupt, clean, answer)
    setup = {"clean": clean, "corrupt": corrupt, "text": PAIR.corrupt, "answer": answer}
    peers = Peers(options.peers, {"path": backend.directory, **setup})
    loops: dict[str, Timed] = {
        "hook_loop": partial(timed, by_hooks.usual),
        "hook_loop_leanest": partial(timed, by_hooks.leanest),
        **{name: partial(peers.time, name) for name in peers.loops},
    }
    ours = sweep(model).grids["post_block"]
    cells = [(layer, position) for layer in range(30) for position in range(len(corrupt))]
    times: dict[str, list[float]] = {}
    worst: dict[str, float] = {}
    for round_ in range(options.rounds):
        sample = random.Random(round_).sample(cells, SAMPLE)
        times.setdefault("sonde", []).append(seconds(partial(sweep, model)))
        times.setdefault("sonde_3_hooks", []).append(
            seconds(partial(sweep, model, hooks=["post_block", "post_attn", "mlp_out"]))
        )
        for name, loop in loops.items():
            took, found = loop(sample)
            times.setdefault(name, []).append(took * len(cells) / SAMPLE)
            apart = max(abs(ours[cell] - value) for cell, value in zip(sample, found, strict=True))
            worst[name] = max(worst.get(name, 0.0), float(apart))
        print(f"round {round_ + 1}: " + ", ".join(f"{k} {v[-1]:.2f} s" for k, v in times.items()))
    ratios = {
        name: [a / b for a, b in zip(times[name], times["sonde"], strict=True)]
        for name in times
        if name != "sonde"
    }
    result = {
        "grid": "30 layers x 9 positions, post_block, SmolLM2-135M float32",
        "seconds": {name: median(values) for name, values in times.items()},
        "times_faster_than": {name: median(ratios[name]) for name in worst},
        "middle_half": {name: quantiles(ratios[name], n=4)[::2] for name in worst},
        "three_hooks_over_one": median(ratios["sonde_3_hooks"]),
        "largest_difference_from": worst,
        "lengths": lengths(model, 1),
        "rounds": times,
    }
    write("sweep_rate", result)
    print(json.dumps({k: v for k, v in result.items() if k != "rounds"}, indent=1), file=sys.stdout)


if __name__ == "__main__":
    main()
