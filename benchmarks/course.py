"""Ten checkpoints of a run swept in one table, beside ten sweeps by themselves.

SmolLM2 in float32, the classic 270 cells of the Eiffel pair at `post_block`, on ten adapters: those
of a run, taken again until there are ten. A round is the whole course and then the last checkpoint
alone ten times, every time on a model that has just been loaded. Loading is told apart and is in
neither: the course's own clock leaves it out.

    python -m benchmarks.course RUN
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sonde
from benchmarks.machine import median, write
from sonde.runs.layout import RunLayout
from sonde.runs.listing import checkpoints as steps_of

PAIR = sonde.PAIRS["eiffel"]
N = 10
ASKED: dict[str, Any] = {
    "clean": PAIR.clean,
    "corrupt": PAIR.corrupt,
    "answer": PAIR.answer,
    "pairing": "last",
}


def ten(run: Path, into: Path) -> Path:
    """A run directory with ten checkpoints."""
    there: Sequence[int] = steps_of(RunLayout(run))
    into.mkdir()
    shutil.copy(run / "run.json", into / "run.json")
    for n in range(N):
        source = run / f"checkpoint-{there[n % len(there)]}"
        shutil.copytree(source, into / f"checkpoint-{n + 1}")
    return into


def once(checkpoint: Path) -> tuple[float, NDArray[np.float64]]:
    """One sweep by itself, on a model that is forgotten after it: its seconds and its cells."""
    found = sonde.load(str(checkpoint)).sweep(**ASKED)
    return found.timing.total_seconds, found.grids["post_block"]


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    course, alone, whole, equal, count = [], [], [], True, 0
    with tempfile.TemporaryDirectory() as folder:
        run = ten(options.run, Path(folder) / "ten")
        for round_ in range(options.rounds):
            began = time.perf_counter()
            through = sonde.checkpoints(run).sweep(**ASKED)
            whole.append(time.perf_counter() - began)
            course.append(sum(record.timing.total_seconds for record in through.records))
            last = run / f"checkpoint-{through.steps[-1]}"
            singles = [once(last) for _ in range(N)]
            alone.append(sum(seconds for seconds, _ in singles))
            cells, mine = singles[0][1], through.each["post_block"]
            equal = equal and np.array_equal(mine[-1], cells)
            count = int(mine.size)
            print(f"round {round_ + 1}: course {course[-1]:.2f} s, ten sweeps {alone[-1]:.2f} s")
    result = {
        "cells": count,
        "seconds": {"course": median(course), "ten_sweeps": median(alone)},
        "with_loading": median(whole),
        "course_over_ten_sweeps": median([a / b for a, b in zip(course, alone, strict=True)]),
        "bits_of_the_ordinary_sweep": equal,
    }
    write("course", result)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
