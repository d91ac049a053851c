"""What a run directory holds, for lists: checkpoints, their metadata, how many records.

Blocking: call it from a thread. Snapshots do not change once written, so a count is kept until
the file's size or time says otherwise. A run that Sonde did not write has fewer files; what is
missing is named.
"""

import json
import os
import time
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from sonde.runs.files import BLOCK, Identity, identity_of, open_lines
from sonde.runs.layout import RunLayout
from sonde.runs.listing import checkpoints, is_folder
from sonde.runs.pulse import Pulses
from sonde.runs.unended import unended
from sonde.schema.records import RunInfo
from sonde.schema.runs import CheckpointList, CheckpointRow, RunList, RunRow

if TYPE_CHECKING:
    from sonde.runs.hub import Hub

SMALL = 2**20
"""Metadata is not larger than this."""


class Counts:
    """How many records files hold, counted once."""

    def __init__(self) -> None:
        self._known: dict[Identity, tuple[int, int, int]] = {}

    def of(self, path: Path) -> int:
        """Whole lines that are not blank; 0 where there is no file."""
        file = open_lines(path)
        if file is None:
            return 0
        try:
            found = os.fstat(file.descriptor)
            size, when, count = self._known.get(file.identity, (-1, -1, 0))
            if (size, when) != (found.st_size, found.st_mtime_ns):
                count = count_lines(file.descriptor)
                self._known[file.identity] = (found.st_size, found.st_mtime_ns, count)
            return count
        finally:
            file.close()


def count_lines(descriptor: int) -> int:
    """Whole lines of a file that are not blank, in bounded memory."""
    count, at = 0, 0
    blank = True
    while block := os.pread(descriptor, BLOCK, at):
        at += len(block)
        *whole, rest = block.split(b"\n")
        for line in whole:
            count += not (blank and not line.strip())
            blank = True
        blank = blank and not rest.strip()
    return count


def checkpoint_list(layout: RunLayout, counts: Counts, shown: Path | None = None) -> CheckpointList:
    """The checkpoints of a run; `shown` is the directory as the user wrote it."""
    shown = shown or layout.directory
    rows = [
        CheckpointRow(
            step=step,
            checkpoint=f"checkpoint-{step}",
            metadata=read_object(layout.metadata(step)),
            n_sae_records=counts.of(layout.snapshot(step)),
            checkpoint_dir=str(shown / f"checkpoint-{step}"),
        )
        for step in checkpoints(layout)
    ]
    exists = is_folder(layout.directory)
    return CheckpointList(rows=rows, count=len(rows), p5_dir=str(shown), p5_dir_exists=exists)


def run_list(hub: "Hub", pulses: Pulses | None = None) -> RunList:
    """The runs under the hub's directory, the one written to last first."""
    pulses = pulses or Pulses()
    rows = [run_row(layout, hub.name_of(layout), pulses) for layout in hub.layouts()]
    rows.sort(key=lambda row: -(row.written or 0))
    return RunList(
        runs=rows,
        count=len(rows),
        directory=str(hub.layout.directory),
        directory_exists=is_folder(hub.root),
    )


def run_row(layout: RunLayout, name: str, pulses: Pulses | None = None) -> RunRow:
    """One run, as far as its files tell."""
    info, now = run_info(layout), time.time()
    steps = checkpoints(layout)
    pulse = (pulses or Pulses()).of(layout)
    companions = (layout.run_info, layout.generations, layout.metrics, layout.health)
    missing = [path.name for path in companions if identity_of(path) is None]
    dead = unended(layout, info, pulse, now)
    begun = info is not None and info.status == "running" and dead is None
    ended = info.ended if info is not None else None
    last = now if begun else pulse.sign
    return RunRow(
        run=name,
        directory=str(layout.directory),
        run_id=info.run_id if info else None,
        model=info.model if info else None,
        status=info.status if info else None,
        started=info.started if info else None,
        layers=info.layers if info else None,
        last_checkpoint=steps[-1] if steps else None,
        live=identity_of(layout.live) is not None,
        written=_written(layout, steps),
        missing=[] if begun and pulse.step is None and not steps else missing,
        unended=dead,
        last_step=pulse.step,
        max_steps=info.max_steps if info else None,
        seconds=max(0.0, (ended or last or now) - info.started) if info else None,
        step_seconds=pulse.step_seconds,
        seed=info.seed if info else None,
        preset=info.preset if info else None,
        rewards=list(pulse.rewards),
    )


def run_info(layout: RunLayout) -> RunInfo | None:
    """What the run says it is; None where it says nothing that can be read."""
    found = read_object(layout.run_info)
    try:
        return None if found is None else RunInfo.model_validate(found)
    except ValidationError:
        return None


def model_name(model: str | None) -> str:
    """What people call a run's model: of one in a directory the directory's name, else its own."""
    return PurePath(model).name if model and model.startswith("/") else model or ""


def read_object(path: Path) -> dict[str, Any] | None:
    """A small JSON object; None where there is none, or something else."""
    file = open_lines(path)
    if file is None:
        return None
    try:
        text = os.pread(file.descriptor, SMALL + 1, 0)
        found = json.loads(text, parse_constant=_refuse) if len(text) <= SMALL else None
    except (ValueError, RecursionError, OSError):
        return None
    finally:
        file.close()
    return found if isinstance(found, dict) else None


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _written(layout: RunLayout, steps: list[int]) -> float | None:
    paths = [layout.live, *(layout.snapshot(step) for step in steps[-1:])]
    times = [os.lstat(path).st_mtime for path in paths if identity_of(path) is not None]
    return max(times, default=None)
