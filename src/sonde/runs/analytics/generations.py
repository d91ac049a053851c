"""The generations of a run as rows of numbers, and where in the file each line is.

Prompts and completions are not kept: they are read when somebody asks for one (see `generation`).
A group has a number here, and a reward that is missing is NaN; neither leaves this package.

A completion that several steps learn from has a line, and a row, for each: records of all of them
join. It is one completion all the same, so lists and statistics take rows of first passes only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from sonde.runs.analytics.companions import Companion, LineAt

PASSED, FAILED, UNGATED = 1, 0, -1
REWARDS = ("R", "R_A", "R_B", "R_C", "R_D", "advantage")

_SPAN = ("step", "token_start", "token_end")
_PLAIN = (*_SPAN, "prompt_tokens", "completion_tokens", "pass_number", "truncated")

NO_TOKEN = -1

GENERATION = np.dtype(
    [
        ("step", "<i8"),
        ("token_start", "<i8"),
        ("token_end", "<i8"),
        ("prompt_tokens", "<i8"),
        ("completion_tokens", "<i8"),
        ("pass_number", "<i8"),
        ("prompt_token", "<i8"),
        ("truncated", "?"),
        ("gate", "i1"),
        ("group", "<i8"),
        ("line", "<i8"),
        ("length", "<i8"),
        *((name, "<f8") for name in REWARDS),
    ]
)


class GenerationLine(msgspec.Struct):
    """What is kept of a line. What a trainer without rewards leaves out is null."""

    step: int
    generation_id: str
    group_id: str
    token_start: int
    token_end: int
    prompt_tokens: int = 0
    completion_tokens: int = 0
    pass_number: int = msgspec.field(default=1, name="pass")
    truncated: bool = False
    prompt_token: int | None = None
    R: float | None = None
    R_A: float | None = None
    R_B: float | None = None
    R_C: float | None = None
    R_D: float | None = None
    gate: bool | None = None
    advantage: float | None = None


@dataclass(frozen=True)
class Generations:
    """All generations there are, by step and place in it."""

    rows: NDArray[Any] = field(default_factory=lambda: np.zeros(0, GENERATION))
    ids: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    """Names of groups, by their number."""
    path: Path = Path()
    there: bool = False

    @cached_property
    def spans(self) -> NDArray[np.int64]:
        """Step, first token and end of each, and the end of what was said. -> [generations, 4]

        The last token of the prompt, where it is recorded, has the place after those.
        """
        step, start, end = (self.rows[name] for name in _SPAN)
        prompt = self.rows["prompt_token"]
        return np.stack([step, start, end, np.where(prompt == NO_TOKEN, end, prompt)], axis=1)

    @cached_property
    def _steps(self) -> NDArray[np.int64]:
        return np.ascontiguousarray(self.rows["step"])

    @cached_property
    def once(self) -> NDArray[np.bool_]:
        """Which rows are first passes: every completion once. -> bool [generations]"""
        first: NDArray[np.bool_] = self.rows["pass_number"] <= 1
        return first

    def within(self, first_step: int | None, last_step: int | None) -> NDArray[np.bool_]:
        """Which completions are first of these steps, both included; None is no bound.

        -> bool [generations]
        """
        chosen: NDArray[np.bool_] = self.once.copy()
        if first_step is not None:
            chosen &= self.rows["step"] >= first_step
        if last_step is not None:
            chosen &= self.rows["step"] <= last_step
        return chosen

    def between(self, first_step: int, last_step: int) -> slice:
        """The rows of these steps."""
        start, end = np.searchsorted(self._steps, [first_step, last_step + 1])
        return slice(int(start), int(end))


class GenerationFile:
    """The file of generations."""

    def __init__(self, path: Path) -> None:
        self._file = Companion(path, GenerationLine)
        self._groups: dict[str, int] = {}
        self.known = Generations(path=path)

    def advance(self) -> Generations:
        """Read what is new."""
        void, new = self._file.advance()
        if void:
            self._groups.clear()
        if void or new or self._file.there != self.known.there:
            old = Generations() if void else self.known
            rows = np.concatenate([old.rows, self._rows(new)])
            ids = (*old.ids, *(line.value.generation_id for line in new))
            order = np.lexsort((rows["token_start"], rows["step"]))
            if not np.array_equal(order, np.arange(len(order))):
                rows, ids = rows[order], tuple(ids[place] for place in order)
            self.known = Generations(
                rows, ids, tuple(self._groups), self._file.path, self._file.there
            )
        return self.known

    @property
    def withheld(self) -> int:
        """Lines that are no generations."""
        return self._file.withheld

    def _rows(self, lines: Sequence[LineAt[GenerationLine]]) -> NDArray[Any]:
        rows: NDArray[Any] = np.zeros(len(lines), GENERATION)
        for name in _PLAIN:
            rows[name] = [getattr(line.value, name) for line in lines]
        for name in REWARDS:
            rows[name] = numbers([getattr(line.value, name) for line in lines])
        prompts = (line.value.prompt_token for line in lines)
        rows["prompt_token"] = [NO_TOKEN if token is None else token for token in prompts]
        gates = (line.value.gate for line in lines)
        rows["gate"] = [UNGATED if gate is None else gate for gate in gates]
        rows["group"] = [self._group(line.value.group_id) for line in lines]
        rows["line"] = [line.start for line in lines]
        rows["length"] = [line.length for line in lines]
        return rows

    def _group(self, name: str) -> int:
        return self._groups.setdefault(name, len(self._groups))


def numbers(values: Sequence[float | None]) -> NDArray[np.float64]:
    """Numbers, NaN for what is missing; 1e999 is valid JSON and no number."""
    found = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    found[~np.isfinite(found)] = np.nan
    return found


def present(value: float) -> float | None:
    """The other way: a number, or null."""
    return None if np.isnan(value) else float(value)


def gate_of(value: int) -> bool | None:
    """The gate as it is on the wire."""
    return None if value == UNGATED else bool(value == PASSED)
