"""How much a run has written and lost so far: what a resumed trainer goes on counting from.

Records are counted in the files that hold them. What was left out is known from the health lines
only. A line counts for the run; those of a trainer that counted for itself begin again at a lower
number, and then the counts of the trainer before are added.
"""

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from sonde.runs.layout import RunLayout
from sonde.runs.listing import list_run
from sonde.runs.reader import Counts

Numbers = dict[str, int]


@dataclass(frozen=True)
class Totals:
    """Of a run, up to where it is resumed."""

    records_written: int = 0
    records_dropped: int = 0
    records_lost: int = 0
    generations_dropped: int = 0
    lines_lost: int = 0
    fragments: int = 0
    non_finite: dict[int, Numbers] = field(default_factory=dict)
    """By layer and field."""


class _Layer(msgspec.Struct):
    layer_index: int
    non_finite: Numbers = {}


class _Line(msgspec.Struct):
    step: int
    records_written: int
    records_dropped: int = 0
    records_lost: int = 0
    generations_dropped: int = 0
    lines_lost: int = 0
    fragments: int = 0
    layers: tuple[_Layer, ...] = ()


_decode = msgspec.json.Decoder(_Line).decode


def totals(layout: RunLayout) -> Totals:
    """Add up what a run's files say. Nobody may be writing to it."""
    counts = Counts()
    closed = [one.path for one in list_run(layout).closed]
    written = sum(counts.of(path) for path in (*closed, layout.live))
    ended = _last_of_each_trainer(layout.health)
    by_layer: dict[int, Numbers] = {}
    for line in ended:
        for layer in line.layers:
            known = by_layer.setdefault(layer.layer_index, {})
            for name, number in layer.non_finite.items():
                known[name] = known.get(name, 0) + number
    return Totals(
        records_written=written,
        records_dropped=sum(line.records_dropped for line in ended),
        records_lost=sum(line.records_lost for line in ended),
        generations_dropped=sum(line.generations_dropped for line in ended),
        lines_lost=sum(line.lines_lost for line in ended),
        fragments=sum(line.fragments for line in ended),
        non_finite=by_layer,
    )


def _last_of_each_trainer(path: Path) -> list[_Line]:
    """The last line of all; before it, each after which the count of records went down."""
    ended: list[_Line] = []
    before: _Line | None = None
    try:
        with path.open("rb") as file:
            for text in file:
                try:
                    line = _decode(text)
                except msgspec.MsgspecError:
                    continue
                if before is not None and line.records_written < before.records_written:
                    ended.append(before)
                before = line
    except FileNotFoundError:
        return []
    return [*ended, *([before] if before is not None else [])]
