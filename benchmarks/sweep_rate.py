"""How much faster a sweep is than the usual one-forward-per-cell loops.

SmolLM2 in float32, 30 layers × 9 positions at `post_block`. Each round times Sonde's whole sweep
(both prompts, capture, controls, every cell) and, right after it, a sample of cells of each loop.
Ratios are taken within rounds, because a shared machine changes between them; given are their
median and their middle half. The loops patch one fixed vector and do not capture: that is to their
advantage. Also: three hooks against one, and the cost of longer prompts.

    make bench
"""

import argparse
import json
import random
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Any

import numpy as np
import torch

import sonde
from benchmarks.machine import median, seconds, write
from sonde.backends.base import FromVector, Patch, Row
from sonde.backends.torch.backend import TorchBackend

PAIR = sonde.PAIRS["eiffel"]
SAMPLE = 12


class Peers:
    """The other libraries, in a process of their own that is idle unless asked."""

    def __init__(self, python: Path, setup: dict[str, Any]) -> None:
        """Start the process and wait until its models are loaded."""
        here = Path(__file__).parent / "peers.py"
        self._process = subprocess.Popen(
            [str(python), str(here)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.ask(setup)

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


class HookLoop:
    """A plain Hugging Face model and one forward hook per cell."""

    def __init__(self, path: str, tokens: list[int], vector: torch.Tensor) -> None:
        """Load the model with its own attention."""
        from transformers import AutoModelForCausalLM

        self._model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
        self._ids, self._vector = torch.tensor([tokens]), vector

    def cells(self, cells: list[tuple[int, int]]) -> None:
        """One after the other."""
        for layer, position in cells:
            self.cell(layer, position)

    @torch.inference_mode()
    def cell(self, layer: int, position: int) -> torch.Tensor:
        """Log-probabilities with one site patched."""

        def write(_module: object, _args: object, out: torch.Tensor) -> torch.Tensor:
            out = out.clone()
            out[:, position] = self._vector
            return out

        handle = self._model.model.layers[layer].register_forward_hook(write)
        logits = self._model(input_ids=self._ids, use_cache=False).logits
        handle.remove()
        row: torch.Tensor = logits[0, -1].log_softmax(-1)
        return row


def sweep(
    model: sonde.Model, corrupt: str = PAIR.corrupt, clean: str = PAIR.clean, **options: Any
) -> None:
    """One whole sweep, nothing kept from the one before."""
    backend = model.backend
    assert isinstance(backend, TorchBackend)
    backend.forget()
    model.sweep(clean=clean, corrupt=corrupt, answer=PAIR.answer, **options)


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
    path, tokens = backend.directory, backend.tokenize(PAIR.corrupt)
    answer = backend.tokenize(PAIR.answer, special=False)[0]
    vector = torch.randn(576, generator=torch.Generator().manual_seed(0))
    loop = HookLoop(path, tokens, vector)
    peers = Peers(
        options.peers, {"path": path, "tokens": tokens, "vector": vector.tolist(), "answer": answer}
    )
    cells = [(layer, position) for layer in range(30) for position in range(len(tokens))]
    times: dict[str, list[float]] = {}
    worst: dict[str, float] = {}
    sweep(model)
    for round_ in range(options.rounds):
        sample = random.Random(round_).sample(cells, SAMPLE)
        ours = _same_cells(model, tokens, sample, vector.numpy(), answer)
        times.setdefault("sonde", []).append(seconds(lambda: sweep(model)))
        times.setdefault("sonde_3_hooks", []).append(
            seconds(lambda: sweep(model, hooks=["post_block", "post_attn", "mlp_out"]))
        )
        times.setdefault("hook_loop", []).append(
            seconds(partial(loop.cells, sample)) * len(cells) / SAMPLE
        )
        for library in ("transformer_lens", "nnsight"):
            answer_ = peers.ask({"library": library, "cells": sample})
            times.setdefault(library, []).append(answer_["seconds"] * len(cells) / SAMPLE)
            apart = float(np.abs(np.array(answer_["logprobs"]) - ours).max())
            worst[library] = max(worst.get(library, 0.0), apart)
        print(f"round {round_ + 1}: " + ", ".join(f"{k} {v[-1]:.2f} s" for k, v in times.items()))
    ratios = {
        name: [a / b for a, b in zip(times[name], times["sonde"], strict=True)]
        for name in times
        if name != "sonde"
    }
    loops = ("hook_loop", "transformer_lens", "nnsight")
    result = {
        "grid": "30 layers x 9 positions, post_block, SmolLM2-135M float32",
        "seconds": {name: median(values) for name, values in times.items()},
        "times_faster_than": {name: median(ratios[name]) for name in loops},
        "middle_half": {name: quantiles(ratios[name], n=4)[::2] for name in loops},
        "three_hooks_over_one": median(ratios["sonde_3_hooks"]),
        "largest_difference_from": worst,
        "lengths": lengths(model, 1),
        "rounds": times,
    }
    write("sweep_rate", result)
    print(json.dumps({k: v for k, v in result.items() if k != "rounds"}, indent=1), file=sys.stdout)


def _same_cells(
    model: sonde.Model, tokens: list[int], cells: list[tuple[int, int]], vector: Any, answer: int
) -> Any:
    """Sonde's numbers for the cells the loops compute, to compare."""
    rows = [Row((Patch("post_block", l, p, FromVector(vector)),)) for l, p in cells]  # noqa: E741
    out = np.zeros(len(cells))
    for scores in model.backend.score(tokens, rows, [answer]):
        out[list(scores.rows)] = scores.logprobs[:, 0]
    return out


if __name__ == "__main__":
    main()
