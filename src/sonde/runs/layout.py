"""Which file of a run directory is which: names, paths and order. Opens nothing, writes nothing.

    run/
    ├── run.json                        what the run is
    ├── sae_features.live.jsonl         records since the last checkpoint
    ├── segments/50.jsonl, 100.jsonl    records up to each checkpoint: live files of the past
    ├── segments/abandoned-50-0.jsonl   work that was done again after a resume from step 50
    ├── checkpoint-50/sae_features.jsonl, aegir_metadata.json
    ├── probes.jsonl, changed/0-50.json what checkpoints are compared on, and what came out
    ├── telemetry.jsonl                KL, loss, entropy, lengths, speed: a line a step
    └── generations.jsonl, grpo_metrics.jsonl, sae_health.jsonl

The history of a run is its segments in numeric order, then the live file. A live file becomes a
segment by being renamed, so it keeps its inode and a reader that has it open reads on to its end.
"""

import re
from dataclasses import dataclass
from pathlib import Path

LIVE_NAME = "sae_features.live.jsonl"
LOG_NAME = "sae_features.jsonl"
METADATA_NAME = "aegir_metadata.json"

RUN_INFO = "run.json"
METRICS = "grpo_metrics.jsonl"
GENERATIONS = "generations.jsonl"
HEALTH = "sae_health.jsonl"
TELEMETRY = "telemetry.jsonl"
SEGMENTS = "segments"
PROBES = "probes.jsonl"
CHANGED = "changed"

RUN_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
"""What a run directory below `output_dir` may be called: it becomes part of URLs."""

_CHECKPOINT = re.compile(r"checkpoint-(0|[1-9][0-9]{0,17})")
_SEGMENT = re.compile(r"(0|[1-9][0-9]{0,17})(?:-([1-9][0-9]{0,8}))?\.jsonl")
_ABANDONED = re.compile(r"abandoned-(0|[1-9][0-9]{0,17})-(0|[1-9][0-9]{0,8})\.jsonl")

SegmentKey = tuple[int, int]
"""The step it was closed at, and 0; or 1, 2, … for more that were closed at that step."""


@dataclass(frozen=True)
class RunLayout:
    """Where the files of one run are.

    RunLayout(Path("runs")).live
    """

    directory: Path
    sae_log_filename: str = LOG_NAME
    sae_live_log_filename: str = LIVE_NAME
    metadata_filename: str = METADATA_NAME

    @property
    def live(self) -> Path:
        """Records since the last checkpoint."""
        return self.directory / self.sae_live_log_filename

    @property
    def segments(self) -> Path:
        """The folder of closed live files."""
        return self.directory / SEGMENTS

    @property
    def run_info(self) -> Path:
        """What the run is."""
        return self.directory / RUN_INFO

    @property
    def metrics(self) -> Path:
        """One line an optimizer step."""
        return self.directory / METRICS

    @property
    def generations(self) -> Path:
        """One line a completion."""
        return self.directory / GENERATIONS

    @property
    def health(self) -> Path:
        """One line a spill."""
        return self.directory / HEALTH

    @property
    def telemetry(self) -> Path:
        """One line a step, beside the contract's files."""
        return self.directory / TELEMETRY

    @property
    def probes(self) -> Path:
        """The texts that checkpoints are compared on."""
        return self.directory / PROBES

    @property
    def changed(self) -> Path:
        """The folder of comparisons."""
        return self.directory / CHANGED

    def segment(self, step: int, again: int = 0) -> Path:
        """Where the live file goes when it is closed at a step."""
        return self.segments / segment_name((step, again))

    def abandoned(self, resumed_from: int, number: int = 0) -> Path:
        """Where a file goes whose steps are done again: the number makes the name free."""
        return self.segments / f"abandoned-{resumed_from}-{number}.jsonl"

    def checkpoint(self, step: int) -> Path:
        """The folder of one checkpoint."""
        return self.directory / f"checkpoint-{step}"

    def snapshot(self, step: int) -> Path:
        """The records of one checkpoint."""
        return self.checkpoint(step) / self.sae_log_filename

    def metadata(self, step: int) -> Path:
        """What a run resumed from this checkpoint must agree with."""
        return self.checkpoint(step) / self.metadata_filename


def segment_name(key: SegmentKey) -> str:
    """`50.jsonl`; `50-1.jsonl` for the second one of that step."""
    step, again = key
    return f"{step}-{again}.jsonl" if again else f"{step}.jsonl"


def segment_key(name: str) -> SegmentKey | None:
    """What orders segments; None for any other name, abandoned ones included."""
    found = _SEGMENT.fullmatch(name)
    return (int(found[1]), int(found[2] or 0)) if found else None


def abandoned_at(name: str) -> int | None:
    """The step that was resumed from when this file was set aside; None for any other name."""
    found = _ABANDONED.fullmatch(name)
    return int(found[1]) if found else None


def checkpoint_step(name: str) -> int | None:
    """The number of a checkpoint folder; None for any other name."""
    found = _CHECKPOINT.fullmatch(name)
    return int(found[1]) if found else None
