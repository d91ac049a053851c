"""A result as data: JSON that reads back equal, CSV for whatever reads CSV.

Neither rounds, and neither shows tokens as labels: both hold the raw text. CSV is for programs; a
spreadsheet may take a token such as `=` for a formula.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import ValidationError

from sonde.errors import BadRequest
from sonde.results.provenance import Provenance
from sonde.schema import SweepSummary, Wire

if TYPE_CHECKING:
    from sonde.results.sweep import Sweep

COLUMNS = ("hook", "layer", "position", "token", "metric", "value")


class StoredSweep(Wire):
    """The JSON form of a result."""

    format: Literal["sonde.sweep.1"] = "sonde.sweep.1"
    summary: SweepSummary
    provenance: Provenance


def to_json(sweep: Sweep) -> str:
    """The summary and its provenance. Never NaN: a missing number is null."""
    stored = StoredSweep(summary=sweep.summary, provenance=sweep.provenance)
    return stored.model_dump_json(indent=1) + "\n"


def from_json(source: str | Path) -> StoredSweep:
    """Read what `to_json` wrote."""
    try:
        text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
        return StoredSweep.model_validate_json(text)
    except OSError as error:
        raise BadRequest(f"cannot read {str(source)!r}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise BadRequest(
            f"not a sweep saved as JSON: {where}: {first['msg']}; pass the text that to_json() "
            "returned, or a Path to the file it wrote"
        ) from error


def to_csv(sweep: Sweep) -> str:
    """One line a cell, the main metric first, then the further ones; all text in quotes."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(COLUMNS)
    writer.writerows(rows(sweep))
    return text.getvalue()


def rows(sweep: Sweep) -> Iterator[tuple[str, int, int, str, str, float | None]]:
    """The cells under `COLUMNS`, metric by metric, hook by hook."""
    further = {metric: g for metric, g in sweep.metric_grids.items() if metric != sweep.metric}
    for metric, grids in {sweep.metric: sweep.grids, **further}.items():
        for hook, grid in grids.items():
            for (row, column), value in np.ndenumerate(grid):
                token, position = sweep.tokens[column], sweep.positions[column]
                number = None if np.isnan(value) else float(value)
                yield hook, sweep.layers[row], position, token, metric, number
