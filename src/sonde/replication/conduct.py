"""Run a pack on a model: its parts, then its answers, then its verdicts; and keep them as files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sonde.errors import BadRequest
from sonde.replication.measures import MEASURES, Measured
from sonde.replication.pack import read_pack
from sonde.replication.parts import Heard, Parts, always_in, run
from sonde.results import files
from sonde.results.circuit_curve import encoded
from sonde.results.numbers import count, fixed
from sonde.schema.replication import Answer, Between, Finding, Pack, Replication, Verdict
from sonde.study.environment import environment

if TYPE_CHECKING:
    from sonde.model import Model

RECORD: Final = "replication.json"
PAGE: Final = "index.html"
NEAR: Final = 1e-3
"""What kernels of another machine may move a pinned number by."""


@dataclass(frozen=True)
class Outcome:
    """What came of it, and everything that it was measured on."""

    replication: Replication
    parts: Parts

    def same_as(self, earlier: Replication | None) -> bool | None:
        """Whether its numbers have the bits of an earlier run; None of another question."""
        found = self.replication
        if earlier is None or (earlier.pack, earlier.weights) != (found.pack, found.weights):
            return None
        if (earlier.pairs, earlier.held_out) != (found.pairs, found.held_out):
            return None
        return earlier.numbers == found.numbers

    def save(self, directory: str | Path) -> Path:
        """The page, the record, and every table and picture. -> the page"""
        from sonde.replication.page import page

        out = Path(directory)
        out.mkdir(parents=True, exist_ok=True)
        parts = self.parts
        for name, sweep in parts.sweeps.items():
            sweep.save(out / f"{name}.json")
        parts.circuit.save(out / "circuit.json")
        parts.circuit.save(out / "circuit.svg")
        for kind in ("json", "svg"):
            files.write(out / f"curve.{kind}", encoded(parts.curve, f".{kind}"))
        record = self.replication.model_dump_json(indent=1) + "\n"
        files.write(out / RECORD, record.encode())
        return files.write(out / PAGE, page(self.replication, parts).encode())


def earlier(directory: str | Path) -> Replication | None:
    """What was saved there before; None where nothing was. Asked for before anything is run."""
    path = Path(directory) / RECORD
    try:
        return Replication.model_validate_json(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise BadRequest(
            f"{path} is no replication that can be read, and would be written over: name another "
            "--out, or move it away"
        ) from error


def replicate(
    pack: str | Path | Pack,
    model: Model | None = None,
    *,
    n: int | None = None,
    heard: Heard | None = None,
) -> Outcome:
    """Ask what a pack asks, of its own model or of another; of `n` pairs instead of its number."""
    asked = pack if isinstance(pack, Pack) else read_pack(pack)
    if model is None:
        from sonde.model import load

        model = load(asked.model)
    parts = run(asked, model, n, heard)
    described = model.describe()
    known = described.weights == asked.pinned_weights and len(parts.asked.verdicts) == asked.task.n
    answers = [answered(parts, each, pinned=known) for each in asked.findings]
    found = Replication(
        pack=asked,
        model=described.name,
        weights=described.weights,
        environment=environment(described.device),
        pairs=len(parts.fit),
        held_out=len(parts.held_out),
        dropped=len(parts.asked.dropped),
        answers=answers,
        nulls=list(nulls(parts)),
        heads=parts.strongest,
        numbers=digest(parts),
        seconds=parts.seconds,
    )
    return Outcome(found, parts)


def answered(parts: Parts, finding: Finding, *, pinned: bool = False) -> Answer:
    """One finding, measured; and, of what numbers are pinned of, held against them."""
    found = MEASURES[finding.measure](parts, **finding.options)
    before = finding.pinned if pinned else None
    return Answer(
        finding=finding,
        value=found.value,
        low=found.low,
        high=found.high,
        said=found.said,
        verdict=verdict(found, finding.tolerance),
        as_pinned=None if before is None or found.value is None else inside(found.value, before),
    )


def verdict(found: Measured, tolerance: Between) -> Verdict:
    """From the interval and the tolerance alone: whether all of it, or none, lies within."""
    if found.value is None or found.low is None or found.high is None:
        return "not measured"
    least = -float("inf") if tolerance.low is None else tolerance.low
    most = float("inf") if tolerance.high is None else tolerance.high
    if least <= found.low and found.high <= most:
        return "as found"
    return "differs" if found.high < least or found.low > most else "unclear"


def inside(value: float, pinned: Between) -> bool:
    """Whether a number is where it was, but for what kernels may do."""
    low = -float("inf") if pinned.low is None else pinned.low
    high = float("inf") if pinned.high is None else pinned.high
    return low - NEAR <= value <= high + NEAR


def nulls(parts: Parts) -> Iterator[str]:
    """What was looked for and is not there, with its numbers."""
    p = parts.heads.p["z"]
    sure = int((p <= parts.heads.settings.alpha).sum())
    pairs = count(len(parts.fit), "pair")
    yield (
        f"{p.size - sure} of {p.size} heads bring back nothing that {pairs} can tell from 0 "
        "(family-wise p > 0.05)."
    )
    yield f"Which cells come out: {dict(parts.heads.facts)['stability']}."
    [ours, *others] = parts.curve.curves
    for curve in others:
        point = curve.points[-2]
        yield (
            f"{point.size} of {parts.curve.of} nodes drawn at random are "
            f"{fixed(point.faithfulness.mean, 3)} of the model."
        )
    first, base = ours.points[0], always_in(parts.circuit, parts.pack)
    left = f"the {first.size - base} strongest {'heads and all MLPs' if base else 'nodes'}"
    yield f"Without {left} the rest of the model is {fixed(first.completeness.mean, 3)} of it."


def digest(parts: Parts) -> str:
    """SHA-256 over every table: equal where every bit is."""
    told = {
        **{name: [t.values for t in sweep.whole.tables] for name, sweep in parts.sweeps.items()},
        "circuit": [[node.node, node.score, node.exact] for node in parts.circuit.nodes],
        "curve": [curve.model_dump() for curve in parts.curve.curves],
    }
    text = json.dumps(told, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
