"""Heads of the default model against plain forward passes, cell by cell.

    python -m tests.backends.torch.every_head

runs all 990 cells with all positions together, and 500 at one position, for two pairs of prompts;
the slow tests run some of them.
"""

import random
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from transformers import AutoModelForCausalLM

import sonde
from sonde.prompts import DemoPair
from sonde.schema import HEAD_HOOKS
from tests.backends.torch.head_reference import HeadEdit, HeadReference

INDIRECT_OBJECT = sonde.PAIRS["ioi"]
AGREEMENT = DemoPair(
    name="agreement",
    clean="The keys to the old cabinet",
    corrupt="The key to the old cabinet",
    answer=" are",
    foil=" is",
    shows="Which heads carry the number of a subject across a phrase.",
)
EACH = 500


class Cell(NamedTuple):
    """One head at one position, or at all (None)."""

    hook: str
    layer: int
    head: int
    position: int | None


class Compared(NamedTuple):
    """Some cells, as Sonde has them and as plain passes do."""

    ours: np.ndarray[tuple[int], np.dtype[np.float64]]
    plain: np.ndarray[tuple[int], np.dtype[np.float64]]

    @property
    def furthest(self) -> float:
        """The largest difference."""
        return float(np.abs(self.ours - self.plain).max())

    @property
    def spread(self) -> float:
        """How much the cells differ from one another: there is something to be wrong about."""
        return float(np.ptp(self.plain))


def reference(model: sonde.Model) -> HeadReference:
    """The same weights in a model of their own."""
    path = model.backend.directory  # type: ignore[attr-defined]
    return HeadReference(AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval())


def compared(
    model: sonde.Model, plain: HeadReference, pair: DemoPair, count: int | None, positions: str
) -> Compared:
    """`count` cells drawn at random; None: all of them."""
    grids = model.sweep(
        clean=pair.clean, corrupt=pair.corrupt, answer=pair.answer, foil=pair.foil,
        hooks=HEAD_HOOKS, positions=positions, metric="logit_diff",
    ).grids  # fmt: skip
    every = [
        (Cell(hook, at[0], at[1], at[2] if len(at) > 2 else None), at)
        for hook, grid in grids.items()
        for at in np.ndindex(grid.shape)
    ]
    some = every if count is None else random.Random(0).sample(every, count)
    ours = np.array([grids[cell.hook][at] for cell, at in some])  # type: ignore[index]
    return Compared(ours, _by_plain_passes(model, plain, pair, [cell for cell, _ in some]))


def _by_plain_passes(
    model: sonde.Model, plain: HeadReference, pair: DemoPair, cells: Sequence[Cell]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    tokenize = model.backend.tokenize
    clean, corrupt = tokenize(pair.clean), tokenize(pair.corrupt)
    ids = [tokenize(text, special=False)[0] for text in (pair.answer, pair.foil)]
    held, everywhere = plain.activations(clean), tuple(range(len(corrupt)))
    edits = []
    for hook, layer, head, position in cells:
        at = everywhere if position is None else (position,)
        edits.append([HeadEdit(hook, layer, head, at, held[layer][hook][list(at), head])])
    told = plain.logprobs(corrupt, edits, ids).double().numpy()
    return np.asarray(told[:, 0] - told[:, 1])


def main() -> None:
    """All of them."""
    model = sonde.load("smollm2")
    plain = reference(model)
    for pair in (INDIRECT_OBJECT, AGREEMENT):
        for count, positions in ((None, "together"), (EACH, "each")):
            found = compared(model, plain, pair, count, positions)
            sys.stdout.write(
                f"{pair.name}, positions {positions}: {len(found.ours)} cells within "
                f"{found.furthest:.2g} of plain passes (they spread over {found.spread:.2g})\n"
            )


if __name__ == "__main__":
    main()
