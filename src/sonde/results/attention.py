"""What heads attend to in one prompt, as people use it: arrays, files, pictures.

Either patterns or scores, as asked; both have layers and heads, and both run from 0 to 1.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from sonde.errors import BadRequest
from sonde.results import files
from sonde.results.provenance import Provenance
from sonde.results.tokens import visible
from sonde.schema import Wire
from sonde.schema.attention import AttentionTable, HeadScore

if TYPE_CHECKING:
    from sonde.results.sweep import PathLike

FORMATS = ("png", "svg", "html", "json", "csv")


class StoredAttention(Wire):
    """The JSON form."""

    format: Literal["sonde.attention.1"] = "sonde.attention.1"
    attention: AttentionTable
    provenance: Provenance


@dataclass(frozen=True, repr=False, eq=False)
class Attention:
    """Some heads of some layers in one prompt of T tokens.

    found.patterns              # [layers, heads, T, T]: position by key; None where scores are told
    found.pattern(9, 6)         # [T, T] of layer 9, head 6
    found.scores["induction"]   # [layers, heads], NaN where the prompt has no such keys
    found.save("head.html")     # or .png .svg .json .csv
    """

    tokens: list[str]
    token_ids: list[int]
    layers: list[int]
    heads: list[int]
    patterns: NDArray[np.float32] | None
    scores: dict[HeadScore, NDArray[np.float64]] | None
    provenance: Provenance

    @classmethod
    def of(cls, table: AttentionTable, provenance: Provenance) -> Self:
        """The answer of a server, or what a file holds."""
        n, shape = len(table.tokens), (len(table.layers), len(table.heads))
        patterns = table.patterns
        return cls(
            table.tokens,
            table.token_ids,
            table.layers,
            table.heads,
            None if patterns is None else np.array(patterns, np.float32).reshape(*shape, n, n),
            None
            if table.scores is None
            else {name: np.array(v, np.float64).reshape(shape) for name, v in table.scores.items()},
            provenance,
        )

    def table(self) -> AttentionTable:
        """The same on the wire: every float32 as the shortest decimal that reads back as it."""
        patterns = None if self.patterns is None else [float(str(x)) for x in self.patterns.flat]
        return AttentionTable(
            tokens=self.tokens,
            token_ids=self.token_ids,
            layers=self.layers,
            heads=self.heads,
            patterns=patterns,
            scores=None
            if self.scores is None
            else {
                name: [None if np.isnan(x) else x for x in each.ravel().tolist()]
                for name, each in self.scores.items()
            },
        )

    def pattern(self, layer: int, head: int) -> NDArray[np.float32]:
        """[T, T] of one head: the weight that a position has for each key."""
        if self.patterns is None:
            raise BadRequest("this holds head scores; ask for attention without scores")
        for name, value, held in (("layer", layer, self.layers), ("head", head, self.heads)):
            if value not in held:
                raise BadRequest(f"{name} {value} is not among the {name}s asked for: {held}")
        found: NDArray[np.float32] = self.patterns[self.layers.index(layer), self.heads.index(head)]
        return found

    def top(self, score: HeadScore, k: int = 5) -> list[tuple[int, int, float]]:
        """The k heads with the highest score: layer, head, value."""
        if self.scores is None:
            raise BadRequest("this holds patterns; ask for attention with scores")
        flat = self.scores[score].ravel()
        order = [int(i) for i in np.argsort(-flat, kind="stable")[:k] if not np.isnan(flat[i])]
        each = [(*divmod(i, len(self.heads)), float(flat[i])) for i in order]
        return [(self.layers[row], self.heads[column], value) for row, column, value in each]

    def to_json(self) -> str:
        """Everything, to the last bit; see `from_json`."""
        stored = StoredAttention(attention=self.table(), provenance=self.provenance)
        return stored.model_dump_json() + "\n"

    @classmethod
    def from_json(cls, source: str | Path) -> Self:
        """Read back what `to_json` made: its text, or, given a `Path`, the file it was saved to."""
        text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
        try:
            stored = StoredAttention.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the whole"
            raise BadRequest(f"not attention saved as JSON: {where}: {first['msg']}") from error
        return cls.of(stored.attention, stored.provenance)

    def to_csv(self) -> str:
        """One line a weight that can be more than 0, or one line a head and score."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        if self.scores is None:
            writer.writerow(["layer", "head", "position", "token", "key", "key_token", "weight"])
        else:
            writer.writerow(["layer", "head", "score", "value"])
        writer.writerows(self._rows())
        return text.getvalue()

    def _rows(self) -> Iterator[tuple[int | str | float | None, ...]]:
        for i, layer in enumerate(self.layers):
            for j, head in enumerate(self.heads):
                for name, values in (self.scores or {}).items():
                    value = float(values[i, j])
                    yield layer, head, name, None if np.isnan(value) else value
                if self.patterns is None:
                    continue
                for row, token in enumerate(self.tokens):
                    for key, weight in enumerate(self.patterns[i, j, row, : row + 1]):
                        yield layer, head, row, token, key, self.tokens[key], float(str(weight))

    def save(self, path: PathLike) -> Path:
        """Write what the suffix names, whole or not at all: .png .svg .html .json .csv."""
        return files.write(path, self.encoded(check_suffix(path)))

    def encoded(self, format: str) -> bytes:
        """The bytes of a file."""
        if format in ("png", "svg"):
            from sonde.results import attention_plot

            return attention_plot.image(self, format)
        if format == "html":
            from sonde.results.attention_page import page

            return page(self).encode()
        return {"json": self.to_json, "csv": self.to_csv}[format]().encode()

    def __repr__(self) -> str:
        told = "patterns" if self.scores is None else "head scores"
        return (
            f"<Attention {visible(self.provenance.model)}, {told} of {len(self.layers)} layers × "
            f"{len(self.heads)} heads, {len(self.tokens)} tokens>"
        )


def check_suffix(path: PathLike) -> str:
    """What to write, by the suffix; also worth asking before anything is run."""
    suffix = files.check(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise BadRequest(f"cannot save attention as {suffix!r}; there are {', '.join(FORMATS)}")
    return suffix
