"""How much faster a sweep over features is than one trace for each feature and position.

SmolLM2 in float32, one demo pair, layer 15: every feature that is active in either prompt is
patched at every position where it is, and everywhere. Each round times the whole sweep (both
prompts, capture, encoding, controls, every cell; no random directions) and right after it a sample
of cells of each loop. Loops are handed the vectors to add, so what they do not have to encode is to
their advantage. Ratios are taken within rounds. Cells are compared with a plain loop of forward
passes, 500 of them, and all features with the error against the residual cell.

    python -m benchmarks.features
    python -m benchmarks.features --pair sister --rounds 0      # distances alone
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM

import sonde
from benchmarks.machine import median, write
from benchmarks.sweep_rate import Peers
from sonde.backends.torch.backend import TorchBackend
from sonde.prompts import DemoPair
from sonde.results import Sweep
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.changes import OTHER_ROWS
from sonde.sae.load import load_autoencoder
from sonde.sae.shipped import find
from sonde.schema import Alignment

LAYER, SAMPLE, CHECKED = 15, 12, 500
Cell = tuple[int, int, int]
"""Row and column of the table, and the position."""


class PlainLoop:
    """A Hugging Face model with its own attention, one forward pass a cell."""

    def __init__(self, path: str, tokens: list[int], answer: int, foil: int) -> None:
        """Load it beside ours."""
        self._model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
        self._ids, self._answer, self._foil = torch.tensor([tokens]), answer, foil

    def activations(self, tokens: list[int]) -> torch.Tensor:
        """What leaves the layer: [positions, width]."""
        kept: list[torch.Tensor] = []
        layer = self._model.model.layers[LAYER]
        handle = layer.register_forward_hook(lambda _m, _a, out: kept.append(out[0].clone()))
        with torch.inference_mode():
            self._model(input_ids=torch.tensor([tokens]))
        handle.remove()
        return kept[0]

    @torch.inference_mode()
    def __call__(self, cells: list[tuple[int, list[float]]]) -> list[float]:
        """The logit difference in each cell."""
        found = []
        for position, vector in cells:
            with self._adding(position, torch.tensor(vector)):
                out = self._model(input_ids=self._ids, use_cache=False, logits_to_keep=1)
            found.append(float(out.logits[0, -1, self._answer] - out.logits[0, -1, self._foil]))
        return found

    @contextmanager
    def _adding(self, position: int, vector: torch.Tensor) -> Iterator[None]:
        def add(_module: object, _args: object, out: torch.Tensor) -> torch.Tensor:
            out = out.clone()
            out[:, position] += vector
            return out

        handle = self._model.model.layers[LAYER].register_forward_hook(add)
        yield
        handle.remove()


def swept(model: sonde.Model, pair: DemoPair) -> Sweep:
    """The whole sweep, nothing kept from the one before."""
    backend = model.backend
    assert isinstance(backend, TorchBackend)
    backend.forget()
    features = sonde.Features(layer=LAYER, top=10_000, by="activation", draws=0)
    found: Sweep = model.sweep(
        clean=pair.clean, corrupt=pair.corrupt, answer=pair.answer, foil=pair.foil,
        metric="logit_diff", pairing="last", features=features,
    )  # fmt: skip
    return found


def changes(autoencoder: Autoencoder, clean: torch.Tensor, corrupt: torch.Tensor) -> torch.Tensor:
    """(f_clean − f_corrupt) of every feature at every position: [positions, features]."""
    each = [autoencoder.encode(x).dense(autoencoder.d_sae) for x in (clean, corrupt)]
    return each[0] - each[1]


def counterparts(found: Alignment | None, n: int) -> list[int]:
    """The clean position of every corrupt one: from either end, or as they were paired."""
    if found is None:
        return list(range(n))
    end, paired = found.n_clean - found.n_corrupt, dict(found.paired)
    ends = n - found.suffix_len
    return [p if p < found.prefix_len else p + end if p >= ends else paired[p][0] for p in range(n)]


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, default=Path(".venv-peers/bin/python"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--checked", type=int, default=CHECKED)
    parser.add_argument("--pair", choices=list(sonde.PAIRS), default="eiffel")
    options = parser.parse_args()
    pair = sonde.PAIRS[options.pair]
    model = sonde.load("smollm2")
    backend = model.backend
    assert isinstance(backend, TorchBackend)
    tokens = backend.tokenize(pair.corrupt)
    clean = backend.tokenize(pair.clean)
    [answer], [foil] = (backend.tokenize(t, special=False) for t in (pair.answer, pair.foil or ""))
    plain = PlainLoop(backend.directory, tokens, answer, foil)
    autoencoder = load_autoencoder(find(str(LAYER)))
    first = swept(model, pair)
    table = first.table.tables[0]
    rows, columns = (axis.values for axis in table.axes)
    values = np.array(table.values["logit_diff"], dtype=np.float64).reshape(len(rows), -1)
    taken = first.table.alignment
    x, y = plain.activations(clean), plain.activations(tokens)
    aligned = x[counterparts(taken, len(tokens))]
    change = changes(autoencoder, aligned, y)
    cells: list[Cell] = [
        (i, k, int(column))
        for i, row in enumerate(rows)
        for k, column in enumerate(columns)
        if isinstance(row, int) and isinstance(column, int) and not np.isnan(values[i, k])
    ]

    def asked(cell: Cell) -> tuple[int, list[float]]:
        row, position = int(rows[cell[0]]), cell[2]
        return position, (change[position, row] * autoencoder.W_dec[row]).tolist()

    some = random.Random(0).sample(cells, min(options.checked, len(cells)))
    found = plain(list(map(asked, some)))
    apart = max(abs(values[i, k] - v) for (i, k, _), v in zip(some, found, strict=True))
    residual = model.sweep(
        clean=pair.clean, corrupt=pair.corrupt, answer=pair.answer, foil=pair.foil,
        metric="logit_diff", pairing="last", layers=[LAYER],
    )  # fmt: skip
    whole = rows.index(OTHER_ROWS[2])
    grid = residual.grids["post_block"][0]
    ordinary = {p: grid[residual.positions.index(p)] for p in columns if isinstance(p, int)}
    both = max(abs(values[whole, columns.index(p)] - v) for p, v in ordinary.items())
    result: dict[str, Any] = {
        "cells": f"{len(cells)} features × positions, {options.pair}, layer {LAYER}, float32",
        "pairing": None if taken is None else taken.pairing,
        "checked": len(some),
        "largest_difference_from_a_plain_loop": float(apart),
        "all_and_error_from_the_residual_cell": float(both),
    }
    print(json.dumps(result, indent=1), flush=True)
    if not options.rounds:
        return
    setup = {"path": backend.directory, "layer": LAYER, "answer": answer, "foil": foil}
    peers = Peers(
        options.peers, {**setup, "tokens": tokens, "text": pair.corrupt}, "feature_peers.py"
    )
    times: dict[str, list[float]] = {}
    for round_ in range(options.rounds):
        sample = random.Random(round_).sample(cells, SAMPLE)
        began = time.perf_counter()
        timed = swept(model, pair)
        times.setdefault("sonde", []).append(time.perf_counter() - began)
        work = timed.timing.cells / SAMPLE  # every cell of the sweep, by a sample's pace
        began = time.perf_counter()
        plain(list(map(asked, sample)))
        times.setdefault("plain_loop", []).append((time.perf_counter() - began) * work)
        for name in peers.loops:
            told = peers.ask({"loop": name, "cells": list(map(asked, sample))})
            times.setdefault(name, []).append(told["seconds"] * work)
            pairs = zip(sample, told["differences"], strict=True)
            worst = max(abs(values[i, k] - v) for (i, k, _), v in pairs)
            result.setdefault("largest_difference_from", {}).setdefault(name, 0.0)
            known = result["largest_difference_from"]
            known[name] = max(known[name], float(worst))
        print(f"round {round_ + 1}: " + ", ".join(f"{k} {v[-1]:.1f} s" for k, v in times.items()))
    ratio = partial(zip, strict=True)
    ratios = {
        name: [a / b for a, b in ratio(each, times["sonde"])]
        for name, each in times.items()
        if name != "sonde"
    }
    result |= {
        "seconds": {name: median(each) for name, each in times.items()},
        "times_faster_than": {name: median(each) for name, each in ratios.items()},
        "middle_half": {
            name: quantiles(each, n=4)[::2] for name, each in ratios.items() if len(each) > 1
        },
    }
    write("features", result)
    print(json.dumps(result, indent=1), file=sys.stdout)


if __name__ == "__main__":
    main()
