"""How far a run is and how fast, from the ends of its small files: cheap enough to list every run.

Only so much of a file is read, however long it is; what is known of one that did not change stays.
Blocking: call it from a thread.
"""

import json
import os
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final

from sonde.runs.files import identity_of, open_lines
from sonde.runs.layout import RunLayout

TAIL: Final = 32 * 1024
WHOLE: Final = 256 * 1024
"""A file of metrics that is longer is looked at in places only."""
POINTS: Final = 48
BLOCK: Final = 2048
KEPT: Final = 512
"""Files whose numbers are kept."""

Lines = list[dict[str, Any]]


@dataclass(frozen=True)
class Pulse:
    """What the ends of a run's files say."""

    step: int | None = None
    """The last that was done."""
    step_seconds: float | None = None
    """What a step took lately."""
    sign: float | None = None
    """When anything was last written, in seconds since 1970."""
    rewards: tuple[float | None, ...] = ()


class Pulses:
    """Looks at runs, and remembers files that did not change."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[object, ...], Any] = OrderedDict()

    def of(self, layout: RunLayout) -> Pulse:
        """The pulse of a run."""
        metrics = self._kept(layout.metrics, _tail)
        timed = self._kept(layout.telemetry, _tail) or self._kept(layout.health, _tail)
        steps = [line.get("iteration", line.get("step")) for line in (*metrics, *timed)]
        return Pulse(
            step=max((step for step in steps if isinstance(step, int)), default=None),
            step_seconds=_pace(timed),
            sign=_sign(layout),
            rewards=tuple(self._kept(layout.metrics, _rewards)),
        )

    def _kept(self, path: Path, read: Any) -> Any:
        try:
            found = os.lstat(path)
        except OSError:
            return []
        key = (read, path, found.st_ino, found.st_size, found.st_mtime_ns)
        if key not in self._known:
            self._known[key] = read(path)
        self._known.move_to_end(key)
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return self._known[key]


def _tail(path: Path) -> Lines:
    """The last whole lines of a file."""
    return _block(path, -TAIL, TAIL)


def _rewards(path: Path) -> list[float | None]:
    """Mean rewards over a run: of a short file all, put together; of a long one, here and there."""
    size = path.stat().st_size
    if size <= WHOLE:
        values = [_reward(line) for line in _block(path, 0, WHOLE)]
        return [_mean(values[a:b]) for a, b in _stretches(len(values))]
    places = (size * n // POINTS for n in range(POINTS))
    return [_reward(lines[0]) if (lines := _block(path, at, BLOCK)) else None for at in places]


def _block(path: Path, start: int, size: int) -> Lines:
    """Whole lines of a stretch of a file; a negative start counts from its end."""
    file = open_lines(path)
    if file is None:
        return []
    try:
        begin = start if start >= 0 else max(0, os.fstat(file.descriptor).st_size + start)
        data = os.pread(file.descriptor, size, begin)
    finally:
        file.close()
    lines = data.split(b"\n")[:-1]
    return list(filter(None, map(_object, lines[1:] if begin else lines)))


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _reward(line: dict[str, Any]) -> float | None:
    value = line.get("rewards_mean")
    return float(value) if isinstance(value, int | float) else None


def _stretches(n: int) -> list[tuple[int, int]]:
    points = min(n, POINTS)
    return [(n * at // points, n * (at + 1) // points) for at in range(points)]


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _pace(lines: Lines) -> float | None:
    """Seconds a step, from lines that say when they were written. A resume is no step."""
    timed = [
        (line["step"], line["time"])
        for line in lines
        if isinstance(line.get("step"), int) and isinstance(line.get("time"), int | float)
    ]
    each = [
        (later - before) / (step - last)
        for (last, before), (step, later) in zip(timed, timed[1:], strict=False)
        if step > last and later > before
    ]
    return median(each[-16:]) if each else None


def _sign(layout: RunLayout) -> float | None:
    """When a file that a trainer appends to was last written, or the run begun."""
    files = (
        layout.live, layout.generations, layout.metrics, layout.health, layout.telemetry,
        layout.run_info,
    )  # fmt: skip
    times = [os.lstat(path).st_mtime for path in files if identity_of(path) is not None]
    return max(times, default=None)
