"""A saved replication against plain forward passes, on a sample of its cells.

    sonde replicate agreement && python -m tests.replication.against_plain replications/agreement

Cells of the residual stream and of heads, and the strongest heads together on held-out pairs, each
in logits. What is printed is the largest distance of each kind, and the gap for comparison.
"""

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random

from sonde.backends.torch.loading.load import load_model
from sonde.results import PairSweep, Sweep
from sonde.schema.replication import Replication
from tests.replication.plain import Plain


@dataclass(frozen=True)
class Compared:
    """One cell, in logits."""

    kind: str
    where: str
    saved: float
    plain: float
    gap: float

    @property
    def distance(self) -> float:
        return abs(self.saved - self.plain)


def table(directory: Path, name: str) -> PairSweep:
    """One of the tables that a replication saved."""
    found = Sweep.from_json(directory / f"{name}.json")
    assert isinstance(found, PairSweep)
    return found


def compare(directory: Path, cells: int, seed: int = 0) -> list[Compared]:
    """So many cells of each kind, drawn by a seed."""
    record = Replication.model_validate_json((directory / "replication.json").read_text("utf-8"))
    loaded = load_model(record.model)
    plain = Plain(loaded.model.float().eval(), loaded.tokenizer)
    draw = Random(seed)
    out = []
    heads, residual, together = (table(directory, n) for n in ("heads", "residual", "together"))
    for _ in range(cells):
        number = draw.randrange(len(heads.pairs))
        layer, head = (draw.randrange(n) for n in heads.mean["z"].shape)
        patched = plain.heads(heads.pairs[number], [(layer, head)])
        where = f"pair {number}, head {layer}.{head}"
        share = float(heads.per_pair["z"][number, layer, head])
        out.append(_compared("heads", where, share, patched, plain, heads, number))
    for _ in range(cells):
        number = draw.randrange(len(residual.pairs))
        layers, roles = residual.mean["post_block"].shape
        layer, role = draw.randrange(layers), draw.randrange(roles)
        name = str(residual.axes["post_block"]["role"][role])
        (position,) = residual.records[number].roles[name]
        patched = plain.stream(residual.pairs[number], layer, position)
        where = f"pair {number}, after layer {layer} at {name}"
        share = float(residual.per_pair["post_block"][number, layer, role])
        out.append(_compared("residual", where, share, patched, plain, residual, number))
    hook, values = next(iter(together.per_pair.items()))
    for column, sender in enumerate(together.axes[hook]["sender"]):
        chosen = [_head(part) for part in str(sender).split("+")]
        for number in draw.sample(range(len(together.pairs)), min(3, len(together.pairs))):
            patched = plain.heads(together.pairs[number], chosen)
            share = float(values.reshape(len(values), -1)[number, column])
            where = f"held-out pair {number}, {sender}"
            out.append(_compared("together", where, share, patched, plain, together, number))
    return out


def _compared(
    kind: str, where: str, share: float, patched: float, plain: Plain, sweep: PairSweep, number: int
) -> Compared:
    change, gap = plain.recovered(sweep.pairs[number], patched)
    return Compared(kind, where, share * gap, change, gap)


def _head(name: str) -> tuple[int, int]:
    layer, _, head = name.removeprefix("z:").partition(".")
    return int(layer), int(head)


def main() -> None:
    """Print the largest distances."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--cells", type=int, default=40)
    given = parser.parse_args()
    found = compare(given.directory, given.cells)
    for kind in dict.fromkeys(each.kind for each in found):
        some = [each for each in found if each.kind == kind]
        worst = max(some, key=lambda each: each.distance)
        told = {"kind": kind, "cells": len(some), "largest_distance": worst.distance}
        line = json.dumps({**told, "at": worst.where, "gap": worst.gap, "moved": worst.saved})
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
