"""What is in a run directory at one moment: its closed files in order, and what was set aside.

Only names are looked at, and no link is followed: `checkpoint-7` that is a plain file, or a folder
that leads elsewhere, is not there as far as Sonde is concerned.
"""

import os
import stat
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from sonde.runs.files import Identity, identity_of
from sonde.runs.layout import (
    GENERATIONS,
    HEALTH,
    METRICS,
    RUN_INFO,
    RUN_NAME,
    SEGMENTS,
    RunLayout,
    SegmentKey,
    abandoned_at,
    checkpoint_step,
    segment_key,
)


@dataclass(frozen=True)
class Closed:
    """A file of records that is no longer live: a segment, a checkpoint's snapshot, or set aside.

    The key of what was set aside is the step that was resumed from.
    """

    key: SegmentKey
    path: Path
    identity: Identity
    kind: Literal["segment", "snapshot", "abandoned"]
    written: float = 0.0
    """When a snapshot was written, by the clock of then."""
    filled: bool = True
    """Whether there is anything in it."""


@dataclass(frozen=True)
class Listing:
    """The closed files of a run, oldest first, and the files whose steps were done again."""

    closed: tuple[Closed, ...] = ()
    abandoned: Mapping[Identity, Closed] = field(default_factory=dict)
    places: Mapping[Identity, int] = field(default_factory=dict)
    """File -> its place in `closed`."""

    @property
    def in_segments(self) -> bool:
        """Whether closed files are live files of the past, as opposed to copies of something."""
        return bool(self.closed) and self.closed[0].kind == "segment"

    @property
    def last_key(self) -> SegmentKey | None:
        """The newest segment; None where there is none."""
        return self.closed[-1].key if self.in_segments else None

    def after(self, key: SegmentKey | None) -> Closed | None:
        """The first closed file after a key, or after nothing."""
        keys = [one.key for one in self.closed]
        place = 0 if key is None else bisect_right(keys, key)
        return self.closed[place] if place < len(self.closed) else None

    def before(self, closed: Closed) -> SegmentKey | None:
        """The key before a closed file."""
        place = self.places.get(closed.identity, 0)
        return self.closed[place - 1].key if place and self.in_segments else None


def list_run(layout: RunLayout, known: Listing | None = None) -> Listing:
    """Look at a run directory. What `known` has seen before is not looked at again."""
    seen = {one.path: one for one in known.closed} if known else {}
    segments = list(_segments(layout, seen))
    closed = sorted(segments or _snapshots(layout), key=lambda one: one.key)
    return Listing(
        tuple(closed),
        {one.identity: one for one in _abandoned(layout)},
        {one.identity: place for place, one in enumerate(closed)},
    )


def checkpoints(layout: RunLayout) -> list[int]:
    """The steps of a run's checkpoints, in numeric order."""
    steps = (checkpoint_step(entry.name) for entry in _entries(layout.directory, folders=True))
    return sorted(step for step in steps if step is not None)


def is_run(layout: RunLayout) -> bool:
    """Whether a directory holds anything that a trainer writes."""
    files = {RUN_INFO, METRICS, GENERATIONS, HEALTH, layout.sae_live_log_filename}
    if any(entry.name in files for entry in _entries(layout.directory)):
        return True
    folders = [entry.name for entry in _entries(layout.directory, folders=True)]
    return SEGMENTS in folders or any(checkpoint_step(name) is not None for name in folders)


def run_folders(root: RunLayout) -> list[RunLayout]:
    """The runs in folders of their own, by name."""
    folders = sorted(entry.name for entry in _entries(root.directory, folders=True))
    named = (name for name in folders if RUN_NAME.fullmatch(name) and name != SEGMENTS)
    below = (replace(root, directory=root.directory / name) for name in named)
    return [one for one in below if checkpoint_step(one.directory.name) is None and is_run(one)]


def is_folder(path: Path) -> bool:
    """Whether there is a folder, itself and not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _segments(layout: RunLayout, seen: Mapping[Path, Closed]) -> Iterator[Closed]:
    for entry in _entries(layout.segments):
        key = segment_key(entry.name)
        if key is not None:
            path = layout.segments / entry.name
            old = seen.get(path)
            if old is not None and old.identity[1] == entry.inode():
                yield old
            elif (identity := identity_of(path)) is not None:
                yield Closed(key, path, identity, "segment")


def _snapshots(layout: RunLayout) -> Iterator[Closed]:
    for step in checkpoints(layout):
        path = layout.snapshot(step)
        try:
            found = os.lstat(path)
        except OSError:
            continue
        if stat.S_ISREG(found.st_mode):
            identity = (found.st_dev, found.st_ino)
            filled = found.st_size > 0
            yield Closed((step, 0), path, identity, "snapshot", found.st_mtime, filled)


def _abandoned(layout: RunLayout) -> Iterator[Closed]:
    for entry in _entries(layout.segments):
        step = abandoned_at(entry.name)
        path = layout.segments / entry.name
        if step is not None and (identity := identity_of(path)) is not None:
            yield Closed((step, 0), path, identity, "abandoned")


def _entries(directory: Path, *, folders: bool = False) -> list[os.DirEntry[str]]:
    """The files, or the folders, of a folder; none where it is none or a link."""
    if not is_folder(directory):
        return []
    try:
        with os.scandir(directory) as found:
            return [
                entry
                for entry in found
                if (
                    entry.is_dir(follow_symlinks=False)
                    if folders
                    else entry.is_file(follow_symlinks=False)
                )
            ]
    except OSError:
        return []
