"""A saved replication against plain forward passes, on a sample of its cells.

    sonde replicate agreement && python -m tests.replication.against_plain replications/agreement

Cells of the residual stream and of heads, and the strongest heads together on held-out pairs, each
in logits: whole forward passes of transformers with one activation replaced, by the references that
the engine is tested with, in which nothing of the engine is. Printed is the largest distance of
each kind.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import sonde
from sonde.nodes import node_of
from sonde.results import PairSweep, Sweep
from sonde.schema.pair import PromptPair
from sonde.schema.replication import Replication
from tests.architectures import Parts
from tests.backends.torch.head_reference import HeadEdit, HeadReference
from tests.backends.torch.reference import Edit, Reference


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
        """How far apart both are."""
        return abs(self.saved - self.plain)


@dataclass(frozen=True)
class Plain:
    """The model twice, once for its heads, and its tokenizer."""

    stream: Reference
    heads: HeadReference
    tokenizer: Any

    @classmethod
    def of(cls, name: str) -> "Plain":
        """A model that Sonde knows by a name, loaded by transformers alone."""
        path = sonde.load(name).backend.directory  # type: ignore[attr-defined]
        one, other = (
            AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval() for _ in "ab"
        )
        one.set_attn_implementation("eager")
        tokenizer = AutoTokenizer.from_pretrained(path)
        return cls(Reference(one, Parts()), HeadReference(other), tokenizer)

    def tokens(self, text: object) -> list[int]:
        """A text as the model reads it."""
        found: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return found

    def ends(self, pair: PromptPair) -> tuple[float, float]:
        """Answer over foil after the corrupt prompt, and after the clean one."""
        ids = [self.tokens(each)[0] for each in (pair.answer, pair.foil)]
        told = [self.stream.logprobs(self.tokens(p), [[]], ids) for p in (pair.corrupt, pair.clean)]
        corrupt, clean = (float(each[0, 0] - each[0, 1]) for each in told)
        return corrupt, clean

    def with_heads(self, pair: PromptPair, names: Sequence[str]) -> float:
        """The same after the corrupt prompt with what these heads write taken from the clean."""
        clean, corrupt = self.tokens(pair.clean), self.tokens(pair.corrupt)
        held = self.heads.activations(clean)
        everywhere = tuple(range(len(corrupt)))
        edits = []
        for node in map(node_of, names):
            assert node.layer is not None
            assert node.head is not None
            values = held[node.layer][node.kind][:, node.head]
            edits.append(HeadEdit(node.kind, node.layer, node.head, everywhere, values))
        ids = [self.tokens(each)[0] for each in (pair.answer, pair.foil)]
        told = self.heads.logprobs(corrupt, [edits], ids)
        return float(told[0, 0] - told[0, 1])

    def with_stream(self, pair: PromptPair, layer: int, position: int) -> float:
        """The same with the stream that leaves a layer at one position."""
        value = self.stream.activations(self.tokens(pair.clean), "post_block")[layer, position]
        edit = Edit("post_block", layer, position, value)
        ids = [self.tokens(each)[0] for each in (pair.answer, pair.foil)]
        told = self.stream.logprobs(self.tokens(pair.corrupt), [[edit]], ids)
        return float(told[0, 0] - told[0, 1])


def compare(directory: Path, cells: int, seed: int = 0) -> Iterator[Compared]:
    """So many cells of heads and of the stream, drawn by a seed; and the heads together."""
    record = Replication.model_validate_json((directory / "replication.json").read_text("utf-8"))
    plain, draw = Plain.of(record.model), Random(seed)

    def told(kind: str, sweep: PairSweep, number: int, column: int, patched: float) -> Compared:
        corrupt, clean = plain.ends(sweep.pairs[number])
        saved = float(sweep.changes[number, column])
        return Compared(
            kind, f"pair {number}, cell {column}", saved, patched - corrupt, clean - corrupt
        )

    heads = table(directory, "heads")
    n_layers, n_heads = heads.mean["z"].shape
    for _ in range(cells):
        number, layer, head = (draw.randrange(n) for n in (len(heads.pairs), n_layers, n_heads))
        patched = plain.with_heads(heads.pairs[number], [f"z:{layer}.{head}"])
        yield told("heads", heads, number, layer * n_heads + head, patched)
    stream = table(directory, "residual")
    layers, roles = stream.views[0].axes
    for _ in range(cells):
        sides = (stream.pairs, layers.values, roles.values)
        number, layer, role = (draw.randrange(len(side)) for side in sides)
        [position] = stream.records[number].roles[str(roles.values[role])]
        patched = plain.with_stream(stream.pairs[number], layer, position)
        yield told("residual", stream, number, layer * len(roles.values) + role, patched)
    together = table(directory, "together")
    for column, sender in enumerate(together.views[0].axes[0].values):
        for number in draw.sample(range(len(together.pairs)), min(3, len(together.pairs))):
            patched = plain.with_heads(together.pairs[number], str(sender).split("+"))
            yield told("together", together, number, column, patched)


def table(directory: Path, name: str) -> PairSweep:
    """One of the tables that a replication saved."""
    found = Sweep.from_json(directory / f"{name}.json")
    assert isinstance(found, PairSweep)
    return found


def main() -> None:
    """Print the largest distances."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--cells", type=int, default=40)
    given = parser.parse_args()
    found = list(compare(given.directory, given.cells))
    for kind in dict.fromkeys(each.kind for each in found):
        some = [each for each in found if each.kind == kind]
        worst = max(some, key=lambda each: each.distance)
        told = {"kind": kind, "cells": len(some), "largest_distance": worst.distance}
        line = json.dumps({**told, "at": worst.where, "gap": worst.gap, "moved": worst.saved})
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
