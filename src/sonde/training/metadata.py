"""What a checkpoint says about the run it belongs to, and whether a resumed run is still that run.

Rewards are comparable only under the same catalog, weights and statistics, and features only under
the same dictionaries. So a resume compares them all and lists everything that differs.
"""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sonde.errors import BadRequest
from sonde.runs import rotation
from sonde.runs.layout import RunLayout, checkpoint_step
from sonde.runs.listing import list_run
from sonde.schema.records import RunInfo, RunMetadata, SAEFile

LOCKED_WEIGHTS: Final = {"a": 0.50, "b": 0.05, "c": 0.45}
"""Of R_B, R_C and R_D behind the gate R_A. The names are those of existing files."""

MISSING: Final = "missing"


@dataclass(frozen=True)
class Task:
    """What rewards depend on. The default is a trainer whose rewards Sonde knows nothing of."""

    name: str | None = None
    catalog_path: str = ""
    catalog_version: str = ""
    n_templates: int = 0
    n_verbalized: int = 0
    n_complex: int = 0
    t_i_cache_path: str | None = None
    """The topic model."""
    null_stats_path: str | None = None
    """What chance reaches."""

    @property
    def files(self) -> dict[str, str]:
        """sha256 of the files it depends on, by what they are."""
        paths = {
            "catalog": self.catalog_path or None,
            "topics": self.t_i_cache_path,
            "null_stats": self.null_stats_path,
        }
        return {name: file_hash(path) for name, path in paths.items() if path}


def metadata(
    run_id: str, task: Task, *, step: int, started: float, commit: str | None
) -> RunMetadata:
    """What is written into a checkpoint."""
    return RunMetadata(
        run_id=run_id,
        catalog_path=task.catalog_path,
        catalog_version=task.catalog_version,
        catalog_n_templates=task.n_templates,
        catalog_n_verbalized=task.n_verbalized,
        catalog_n_complex=task.n_complex,
        locked_weights=LOCKED_WEIGHTS,
        locked_weights_hash=weights_hash(LOCKED_WEIGHTS),
        t_i_cache_path=task.t_i_cache_path,
        null_stats_path=task.null_stats_path,
        null_stats_hash=file_hash(task.null_stats_path)[:16],
        started_at=started,
        last_checkpoint_at=time.time(),
        last_checkpoint_step=step,
        p5_brief_commit=commit,
    )


def weights_hash(weights: Mapping[str, float]) -> str:
    """First 16 hex digits of the sha256 of the weights as JSON with sorted keys."""
    return hashlib.sha256(json.dumps(weights, sort_keys=True).encode()).hexdigest()[:16]


def file_hash(path: str | Path | None) -> str:
    """sha256 of a file, or `missing`."""
    if path is None or not Path(path).is_file():
        return MISSING
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def drift(
    then: RunMetadata, info: RunInfo | None, task: Task, saes: Sequence[SAEFile]
) -> list[str]:
    """Everything that differs between a checkpoint and the run that would go on from it."""
    pairs = {
        "catalog version": (then.catalog_version, task.catalog_version),
        "number of templates": (then.catalog_n_templates, task.n_templates),
        "locked weights": (then.locked_weights_hash, weights_hash(LOCKED_WEIGHTS)),
        "null statistics": (then.null_stats_hash, file_hash(task.null_stats_path)[:16]),
        "topic model": (then.t_i_cache_path, task.t_i_cache_path),
    }
    if info is not None:
        for name in sorted({*info.files, *task.files}):
            pairs[f"content of {name}"] = (info.files.get(name), task.files.get(name))
        before = {each.layer_index: each.sha256 for each in info.saes}
        now = {each.layer_index: each.sha256 for each in saes}
        for layer in sorted({*before, *now}):
            pairs[f"dictionary of layer {layer}"] = (before.get(layer), now.get(layer))
    return [
        f"{name} was {_short(was)}, is {_short(is_)}"
        for name, (was, is_) in pairs.items()
        if was != is_
    ]


def read_metadata(layout: RunLayout, step: int) -> RunMetadata | None:
    """The metadata of a checkpoint; None where there is none or it cannot be read."""
    try:
        return RunMetadata.model_validate_json(layout.metadata(step).read_bytes())
    except (OSError, ValueError):
        return None


def never_recorded(layout: RunLayout, info: RunInfo | None, step: int) -> list[str]:
    """What a checkpoint without metadata lacks: lines that were waiting when its trainer ended."""
    if info is None or step == 0:
        return []
    records = [*(one.path for one in list_run(layout).closed), layout.live]
    last = {
        layout.generations.name: rotation.last_step(layout.generations),
        "records": max((rotation.last_step(path) or 0 for path in records), default=0),
    }
    if not info.layers:
        del last["records"]
    return [
        f"it was never finished: {name} of steps {(reached or 0) + 1} to {step} were not written"
        for name, reached in last.items()
        if (reached or 0) < step
    ]


def last_checkpoint(layout: RunLayout) -> int | None:
    """The last step that can be resumed from: a checkpoint that was finished, metadata and all."""
    if not layout.directory.is_dir():
        return None
    numbers = [checkpoint_step(path.name) for path in layout.directory.iterdir()]
    whole = [step for step in numbers if step is not None and is_whole(layout, step)]
    return max(whole, default=None)


def is_whole(layout: RunLayout, step: int) -> bool:
    """Whether everything of a checkpoint is there: its metadata is written last."""
    found = read_metadata(layout, step)
    return found is not None and found.last_checkpoint_step == step


def resume_step(layout: RunLayout, asked: str) -> int:
    """The step that `--resume` means: `last`, a step, or a checkpoint's name or path."""
    if asked == "last":
        return last_checkpoint(layout) or 0
    name = Path(asked).name
    step = int(name) if name.isdecimal() else checkpoint_step(name)
    if step is None or not is_whole(layout, step):
        raise BadRequest(
            f"cannot resume from {asked!r}: no finished checkpoint of that name in "
            f"{layout.directory}; give `last`, a step, or checkpoint-N"
        )
    return step


def _short(value: object) -> str:
    text = str(value)
    return f"{text[:12]}…" if len(text) == 64 else repr(value)
