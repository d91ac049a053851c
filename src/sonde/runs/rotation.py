"""Turn the live file into a segment on save, and set aside what a resume will do again.

Every step here is one rename or one link, and any prefix of them leaves a directory that `resume`
brings to the same end, so a kill at any moment loses nothing that was counted:

1. **Rename** the live file to `segments/<step>.jsonl`: same inode, so a reader reads on.
2. **Link**   it as the checkpoint's snapshot (a copy where links are impossible).

On resume from step N, lines of later steps are moved to `segments/abandoned-N-…` and never deleted.
Within a file steps never go down, so the first later line is found from the end.
"""

import errno
import json
import mmap
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sonde.runs.append import cut_fragment
from sonde.runs.atomic import sync_directory
from sonde.runs.layout import RunLayout, segment_key

FULL: Final = (errno.ENOSPC, errno.EDQUOT)
"""No room for a name is no reason to write a copy."""


def rotate(layout: RunLayout, step: int) -> None:
    """Close the live file at a checkpoint. What is in it must be on disk already."""
    close_live(layout, step)
    snapshot(layout, step)


def close_live(layout: RunLayout, step: int) -> None:
    """The first half of it: the live file becomes a segment."""
    if has_lines(layout.live):
        _rename(layout.live, _free_segment(layout, step))


def snapshot(layout: RunLayout, step: int) -> None:
    """Give a checkpoint the segment that was closed with it, where both are there."""
    segment = layout.segment(step)
    if segment.exists() and layout.checkpoint(step).is_dir():
        link(segment, layout.snapshot(step))


def link(source: Path, target: Path) -> None:
    """Make `target` another name of `source`, replacing what had that name."""
    if target.exists() and target.samefile(source):
        return
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    try:
        _link_or_copy(source, beside)
        os.replace(beside, target)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    sync_directory(target.parent)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno in FULL:
            raise
        with source.open("rb") as old, target.open("wb") as new:  # a file system without links
            shutil.copyfileobj(old, new)
            new.flush()
            os.fsync(new.fileno())


def resume(layout: RunLayout, step: int) -> int:
    """Leave only lines up to `step` where lines are counted. -> how many fragments were cut"""
    companions = (layout.generations, layout.metrics, layout.health, layout.telemetry)
    fragments = sum(cut_fragment(path) for path in (layout.live, *companions))
    for path in companions:
        _set_tail_aside(path, step, _free(_companion_names(layout, step, path)))
    for path in (*later_segments(layout, step), layout.live):
        _keep_until(layout, path, step)
    snapshot(layout, step)
    return fragments


def later_segments(layout: RunLayout, step: int) -> list[Path]:
    """Segments that were closed after `step`."""
    if not layout.segments.is_dir():
        return []
    keyed = ((segment_key(path.name), path) for path in layout.segments.iterdir())
    return [path for key, path in sorted((k, p) for k, p in keyed if k and k[0] > step)]


def has_lines(path: Path) -> bool:
    """Whether there is anything in a file; one that is not there has nothing."""
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def first_after(path: Path, step: int) -> int:
    """The byte at which the lines of later steps begin: the file's size where there are none."""
    if not has_lines(path):
        return 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        for start, end in _lines_backwards(view):
            found = _step_of(view[start:end])
            if found is not None and found <= step:
                return end
    return 0


def last_step(path: Path) -> int | None:
    """The step of the last line that is of one; None where there is none."""
    if not has_lines(path):
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        steps = (_step_of(view[start:end]) for start, end in _lines_backwards(view))
        return next((step for step in steps if step is not None), None)


def _lines_backwards(view: mmap.mmap) -> Iterator[tuple[int, int]]:
    """Where each line begins and where the next one does, the last line first."""
    end = len(view)
    while end > 0:
        start = view.rfind(b"\n", 0, end - 1) + 1
        yield start, end
        end = start


def _step_of(line: bytes) -> int | None:
    """The step a line is of, under either of its names; None for what is no such line."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    found = value.get("step", value.get("iteration"))
    return found if isinstance(found, int) else None


def _keep_until(layout: RunLayout, path: Path, step: int) -> None:
    """Set later lines of a file of records aside, and close what remains at `step`."""
    if not has_lines(path):
        return
    place = first_after(path, step)
    if place == 0:
        _rename(path, _free(_abandoned_names(layout, step)))
        return
    _set_tail_aside(path, step, _free(_abandoned_names(layout, step)))
    _rename(path, _free_segment(layout, step))


def _set_tail_aside(path: Path, step: int, target: Path) -> None:
    """Copy lines of later steps to `target`, then cut them off.

    Killed in between, the next resume copies them once more; what is set aside is not counted.
    """
    if not has_lines(path) or (place := first_after(path, step)) == path.stat().st_size:
        return
    target.parent.mkdir(exist_ok=True)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    with path.open("rb") as source, beside.open("wb") as tail:
        source.seek(place)
        shutil.copyfileobj(source, tail)
        tail.flush()
        os.fsync(tail.fileno())
    beside.replace(target)
    sync_directory(target.parent)
    os.truncate(path, place)


def _rename(source: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    source.rename(target)
    sync_directory(target.parent)
    sync_directory(source.parent)


def _free_segment(layout: RunLayout, step: int) -> Path:
    """The segment of a step, or the next one after it where a step is closed twice."""
    return _free(layout.segment(step, again) for again in range(10**9))


def _abandoned_names(layout: RunLayout, step: int) -> Iterator[Path]:
    return (layout.abandoned(step, number) for number in range(10**9))


def _companion_names(layout: RunLayout, step: int, path: Path) -> Iterator[Path]:
    """`abandoned-50-0.generations.jsonl`: not taken for records by anyone."""
    names = (layout.abandoned(step, number).stem for number in range(10**9))
    return (layout.segments / f"{name}.{path.name}" for name in names)


def _free(names: Iterator[Path]) -> Path:
    return next(name for name in names if not name.exists())
