"""A 300-token prompt, every cell of whose grid was computed once.

    python -m tests.engine.long_prompt     # compute the grid again: some minutes

A story names a woman, goes on without her, and asks for the pronoun. Clean and corrupt differ in
her name; what comes before it is the same, so those cells have the baseline's value and cost
nothing. `long_grid.json` holds the strongest cells, what the whole grid cost, and what made it.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import sonde

FILE = Path(__file__).with_name("long_grid.json")
KEPT = 40
"""How many of the strongest cells are recorded."""
FILLER = (
    "The market opened early that day, and carts with apples, bread and cloth stood along the "
    "river from the old bridge to the mill. Rain had fallen in the night, so the stones were wet "
    "and the air smelled of grass. Farmers spoke of the harvest, of the price of wheat and of "
    "the road to the coast, which had been closed since spring. "
)
STORY = (
    ". Then {} came down the hill with a basket, looked at the bread for a while, and asked how "
    "much it was. The baker said that it was the last loaf of the morning, because two had been "
    "sold to the inn and one was burnt, and that the next would not be ready before noon. Some "
    "children ran past, a dog barked at them, and the bell of the church began to ring over the "
    "roofs of the town, slowly, as it did every day at noon. Nobody else was buying bread, so"
)
TOKENS = 300


def asked(model: sonde.Model) -> dict[str, Any]:
    """The sweep, as `Model.sweep` takes it: `TOKENS` tokens, all layers, all positions."""
    backend = model.backend
    story = {name: backend.tokenize(STORY.format(name)) for name in ("Mary", "John")}
    missing = TOKENS - len(story["Mary"])
    filler = backend.detokenize(backend.tokenize(FILLER * 6)[:missing])
    clean, corrupt = (filler + STORY.format(name) for name in ("Mary", "John"))
    return {
        "clean": clean, "corrupt": corrupt, "answer": " she", "foil": " he",
        "hooks": ["post_block"], "positions": "all",
    }  # fmt: skip


def strongest(changes: np.ndarray, n: int) -> list[tuple[int, int]]:
    """The n cells (layer, position) of largest change."""
    order = np.argsort(-np.abs(changes), axis=None, kind="stable")[:n]
    layers, positions = np.unravel_index(order, changes.shape)
    return list(zip(layers.tolist(), positions.tolist(), strict=True))


def cost(layer: int, position: int, n_layers: int) -> int:
    """Token-layers of a cell at `post_block`: its suffix, in the layers above."""
    return (TOKENS - position) * (n_layers - 1 - layer)


def changes(found: sonde.Sweep) -> np.ndarray:
    """What each cell changes, [layers, positions]; NaN where a cell was not run."""
    values: np.ndarray = found.grids["post_block"]
    return values - found.baseline


def main() -> None:
    """Compute the grid and record it."""
    model = sonde.load("smollm2")
    given = asked(model)
    tokens = [model.backend.tokenize(given[name]) for name in ("clean", "corrupt")]
    assert [len(each) for each in tokens] == [TOKENS, TOKENS]
    differs = next(i for i, (a, b) in enumerate(zip(*tokens, strict=True)) if a != b)
    found = model.sweep(**given, metric="logit_diff")
    moved = changes(found)
    n_layers = moved.shape[0]
    cells = strongest(moved, KEPT)
    record = {
        "made_by": "python -m tests.engine.long_prompt",
        "model": model.describe().name,
        "weights": model.describe().weights,
        "first_difference": differs,
        "cells": moved.size,
        "token_layers": sum(
            cost(layer, p, n_layers) for layer in range(n_layers) for p in range(differs, TOKENS)
        ),
        "baseline": found.baseline,
        "strongest": [[*cell, float(moved[cell])] for cell in cells],
    }
    FILE.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
