"""Is there a run in this directory, and if so, out of the way with it.

A run that is set aside becomes a run directory of its own, below the one it was in, where gateways
still list it. Everything is renamed, nothing is copied or deleted; `run.json`, which names the
place, goes last, so an interrupted move is finished by the next one.
"""

import json
from pathlib import Path

from sonde.runs.atomic import sync_directory
from sonde.runs.layout import RUN_NAME, RunLayout, checkpoint_step


def run_found(layout: RunLayout) -> str | None:
    """What shows that a directory holds a run, or None."""
    there = run_files(layout)
    return there[0].name if there else None


def run_files(layout: RunLayout) -> list[Path]:
    """The files and folders of the run in a directory, `run.json` last."""
    if not layout.directory.is_dir():
        return []
    checkpoints = [
        path for path in layout.directory.iterdir() if checkpoint_step(path.name) is not None
    ]
    named = [layout.live, layout.segments, layout.generations, layout.metrics, layout.health]
    beside = [layout.telemetry, layout.directory / "notes.json"]
    every = [*sorted(checkpoints), *named, *beside, layout.run_info]
    return [path for path in every if path.exists()]


def archive(layout: RunLayout) -> Path:
    """Move a run into a directory of its own below. -> where it is now"""
    name = _name(layout.run_info)
    place = layout.directory / name
    place.mkdir(exist_ok=True)
    for path in run_files(layout):
        path.rename(place / path.name)
    sync_directory(place)
    sync_directory(layout.directory)
    return place


def _name(run_info: Path) -> str:
    """`run-` and the beginning of the run's id; one without an id is called after its age."""
    try:
        run_id = str(json.loads(run_info.read_text())["run_id"])[:8]
    except (OSError, ValueError, KeyError, TypeError):
        run_id = f"{int(run_info.parent.stat().st_mtime)}"
    name = f"run-{run_id}"
    return name if RUN_NAME.fullmatch(name) else "run-unnamed"
