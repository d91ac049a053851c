"""The torch backend against vLLM against a naive loop: the same sweeps in one run.

SmolLM2 in float32. Two grids: 30 layers × 9 positions of a short prompt (270 cells), and 30 layers
× 3 positions of a prompt of 211 tokens (90 cells). Sonde's two backends are timed on the whole
sweep, controls and captures included, with nothing kept from the sweep before; the loop on a sample
of cells, one forward pass each, without a capture. Each contender has a process of its own and is
idle while others run; rounds are interleaved, and medians compared.

    .venv-vllm/bin/python -m benchmarks.vllm_sweep
"""

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from benchmarks.machine import median, seconds, write

CONTENDERS = ("torch", "vllm", "loop")
SAMPLE = 10
FILLER = "In the long and quiet afternoon the old man told a story about many places and names. "
ANSWER = " Paris"
SHORT = ("The Eiffel Tower is in the city of", "The Colosseum is in the city of")


def lengthened(tokenize: Callable[[str], list[int]], n_tokens: int) -> tuple[str, str]:
    """A pair that differs in its first words, with enough between for `n_tokens` tokens."""
    words = (FILLER * 20).split(" ")
    for count in range(len(words)):
        between = " ".join(words[:count])
        pair = (
            f"The Eiffel Tower is ({between}) in the city of",
            f"The Colosseum is ({between}) in the city of",
        )
        if len(tokenize(pair[1])) >= n_tokens:
            return pair
    raise ValueError(f"no text of {n_tokens} tokens")


def grids(tokenize: Callable[[str], list[int]]) -> dict[str, dict[str, Any]]:
    """What is swept: the pair of prompts and the positions."""
    long = lengthened(tokenize, 211)
    n = len(tokenize(long[1]))
    return {
        "short": {"pair": SHORT, "positions": list(range(len(tokenize(SHORT[1]))))},
        "long": {"pair": long, "positions": [n // 4, n // 2, 3 * n // 4]},
    }


def swept(contender: str) -> Callable[[str], dict[str, Any]]:
    """Times whole sweeps on one of Sonde's backends."""
    import sonde

    if contender == "vllm":
        options = {"max_model_len": 256, "max_num_seqs": 512, "max_num_batched_tokens": 4096}
        model = sonde.load("smollm2", dtype="float32", backend="vllm", engine_options=options)
    else:
        model = sonde.load("smollm2", dtype="float32")
    backend: Any = model.backend
    vllm = contender == "vllm"
    forget = backend._driver._engine.reset_prefix_cache if vllm else backend.forget
    asked = grids(backend.tokenize)

    def sweep(grid: str) -> dict[str, Any]:
        clean, corrupt = asked[grid]["pair"]
        made: list[Any] = []
        forget()
        took = seconds(
            lambda: made.append(
                model.sweep(
                    clean=clean, corrupt=corrupt, answer=ANSWER, positions=asked[grid]["positions"]
                )  # fmt: skip
            )
        )
        values = made[0].grids["post_block"].tolist()
        return {"seconds": took, "values": values, "tokens": len(backend.tokenize(corrupt))}

    return sweep


def looped() -> Callable[[str], dict[str, Any]]:
    """Times a sample of cells, each one forward pass with a hook, and extrapolates."""
    import torch
    from transformers import AutoModelForCausalLM

    import sonde
    from benchmarks.hook_loop import HookLoop

    backend: Any = sonde.load("smollm2", dtype="float32").backend
    model = AutoModelForCausalLM.from_pretrained(backend.directory, dtype=torch.float32).eval()
    loops: dict[str, tuple[HookLoop, list[tuple[int, int]]]] = {}
    for name, grid in grids(backend.tokenize).items():
        cells = [(layer, p) for layer in range(30) for p in grid["positions"]]
        clean, corrupt = map(backend.tokenize, grid["pair"])
        loops[name] = (HookLoop(model, corrupt, clean, 0), cells)
    rng = random.Random(0)

    def sample(grid: str) -> dict[str, Any]:
        loop, cells = loops[grid]
        took = seconds(lambda: loop.usual(rng.sample(cells, SAMPLE)))
        return {"seconds": took * len(cells) / SAMPLE, "values": None}

    return sample


def answer(contender: str) -> None:
    """Load, say so, and then time what standard input asks for, one line each."""
    said = os.fdopen(os.dup(1), "w")  # engines print on standard output, too
    os.dup2(2, 1)
    run = looped() if contender == "loop" else swept(contender)
    print("ready", file=said, flush=True)
    for line in sys.stdin:
        print(json.dumps(run(line.strip())), file=said, flush=True)


class Contender:
    """A process that has loaded the model and waits to be asked."""

    def __init__(self, name: str) -> None:
        """Start it; `wait` returns when it is ready."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.vllm_sweep", "--contender", name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "VLLM_CPU_KVCACHE_SPACE": "2"},
        )  # fmt: skip

    def wait(self) -> str:
        """Its next line."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self._process.args!r} ended; run it by hand to see why")
        return line

    def ask(self, grid: str) -> dict[str, Any]:
        """Have it sweep one of the grids."""
        assert self._process.stdin is not None
        self._process.stdin.write(grid + "\n")
        self._process.stdin.flush()
        made: dict[str, Any] = json.loads(self.wait())
        return made

    def end(self) -> None:
        """Let it go."""
        self._process.stdin.close() if self._process.stdin else None
        self._process.wait()


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contender", choices=CONTENDERS)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.contender is not None:
        answer(options.contender)
        return
    contenders = {}
    for name in CONTENDERS:
        contenders[name] = Contender(name)
        contenders[name].wait()
    result: dict[str, Any] = {"model": "SmolLM2-135M float32", "vllm": version("vllm-cpu")}
    for grid in ("short", "long"):
        first = {name: contender.ask(grid) for name, contender in contenders.items()}  # warm
        times: dict[str, list[float]] = {name: [] for name in CONTENDERS}
        for _ in range(options.rounds):
            for name, contender in contenders.items():
                times[name].append(contender.ask(grid)["seconds"])
        values = [first[name]["values"] for name in ("torch", "vllm")]
        result[grid] = {
            "cells": sum(len(row) for row in values[0]),
            "tokens": first["torch"]["tokens"],
            "seconds": {name: median(each) for name, each in times.items()},
            "largest_difference": max(
                abs(a - b)
                for one, other in zip(*values, strict=True)
                for a, b in zip(one, other, strict=True)
            ),
            "rounds": times,
        }
        print(grid, json.dumps(result[grid]["seconds"]), result[grid]["largest_difference"])
    for contender in contenders.values():
        contender.end()
    write("vllm_sweep", result)


if __name__ == "__main__":
    main()
