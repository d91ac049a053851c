"""A writer that is killed, again and again, at every system call that changes something.

    python -m tests.runs.killed_writer DIRECTORY every     # at each call in turn, then resumed
    python -m tests.runs.killed_writer DIRECTORY forever   # until somebody kills it

It writes steps as a trainer does: records, generations and metrics, a checkpoint every few steps.
What a step says is known, so what is counted in the end can be compared.
"""

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sonde.runs.layout import RunLayout, segment_key
from sonde.runs.spool import Chunk
from sonde.runs.writer import RunWriter
from sonde.schema.records import GRPOMetrics
from sonde.training.metadata import Task, last_checkpoint, metadata

STEPS, SAVE_EVERY = 7, 3
CALLS = ("write", "fsync", "rename", "replace", "link", "ftruncate", "truncate", "open", "mkdir")


def records_of(step: int) -> list[dict[str, int]]:
    return [{"step": step, "token_index": token} for token in range(3 + step % 4)]


def write_steps(layout: RunLayout, until: int, wait: float = 0.0) -> None:
    """Go on from the last finished checkpoint, as a resumed trainer would."""
    begun = layout.run_info.exists() or layout.live.exists()
    done = last_checkpoint(layout) or 0
    writer = RunWriter.resume(layout, done) if begun else RunWriter.begin(layout)
    layout.run_info.touch()
    for step in range(done + 1, until + 1):
        lines = [f"{json.dumps(record)}\n".encode() for record in records_of(step)]
        writer.add(
            records=[Chunk(b"".join(lines), len(lines))],
            generations=[numbers(step)],
            metrics=numbers(step),
        )
        writer.spill()
        time.sleep(wait)
        if step % SAVE_EVERY == 0:
            writer.sync()
            layout.checkpoint(step).mkdir(exist_ok=True)
            (layout.checkpoint(step) / "trainer_state.json").write_text("{}")
            if not writer.checkpoint(
                step, metadata("run", Task(), step=step, started=0.0, commit=None)
            ):
                raise RuntimeError(f"checkpoint {step} failed: {writer.failures}")
    writer.close()


def numbers(step: int) -> GRPOMetrics:
    empty = dict.fromkeys(GRPOMetrics.model_fields)
    return GRPOMetrics.model_validate(empty | {"iteration": step, "n_invalid_compositions": 0})


def problems(layout: RunLayout, until: int) -> list[str]:
    """What is wrong with a finished run: lines torn, steps missing, doubled or out of order."""
    folder = layout.segments.iterdir() if layout.segments.is_dir() else ()
    keyed = sorted((key, path) for path in folder if (key := segment_key(path.name)))
    files = [*(path for _, path in keyed), *([layout.live] if layout.live.exists() else [])]
    found = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    wanted = [record for step in range(1, until + 1) for record in records_of(step)]
    wrong = [] if found == wanted else [f"records {[each['step'] for each in found]}"]
    for path in (layout.generations, layout.metrics):
        steps = [json.loads(line)["iteration"] for line in path.read_text().splitlines()]
        if steps != list(range(1, until + 1)):
            wrong.append(f"{path.name} {steps}")
    for step in range(SAVE_EVERY, until + 1, SAVE_EVERY):
        if not layout.snapshot(step).samefile(layout.segment(step)):
            wrong.append(f"snapshot {step}")
    return wrong


def torn(layout: RunLayout) -> list[str]:
    """Whole lines that are no JSON, anywhere, at any moment. A last one without its end is none."""
    wrong = []
    for path in layout.directory.rglob("*.jsonl"):
        whole = path.read_bytes().split(b"\n")[:-1]
        for line in whole:
            try:
                json.loads(line)
            except ValueError:
                wrong.append(f"{path.name}: {line!r}")
    return wrong


def in_child(work: Callable[[], None]) -> int:
    """Do something in a process of its own. -> how it ended, as `os.waitstatus_to_exitcode`"""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  the parent has to hear of it
            os.write(2, f"{error!r}\n".encode())
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def die_at(number: int) -> None:
    """From now on, the so-manieth call that changes something is the last; a write is cut short."""
    left = [number]

    def fatal(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                if name == "write":
                    call(given[0], given[1][: len(given[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*given, **named)

        return counted

    for name in CALLS:
        setattr(os, name, fatal(name, getattr(os, name)))


def kill_at_every_call(directory: Path) -> None:
    """Kill at each call of a first run, and at each call of the resume after it; then finish."""
    number, failures = 0, []
    while True:
        number += 1
        shutil.rmtree(directory, ignore_errors=True)
        layout = RunLayout(directory)

        def killed(at: int) -> int:
            def work() -> None:
                die_at(at)
                write_steps(layout, STEPS)  # noqa: B023  run at once

            return in_child(work)

        ended = killed(number)
        if ended == 0:
            break
        wrong = torn(layout)
        killed(1 + number % 23)  # and once more while it resumes
        wrong += torn(layout)
        if in_child(lambda: write_steps(layout, STEPS)) != 0:  # noqa: B023
            wrong.append("could not be resumed")
        else:
            wrong += problems(layout, STEPS)
        failures += [f"killed at call {number}: {each}" for each in wrong]
    sys.stdout.write(json.dumps({"calls": number - 1, "failures": failures}))


if __name__ == "__main__":
    if sys.argv[2] == "every":
        kill_at_every_call(Path(sys.argv[1]))
    else:
        write_steps(RunLayout(Path(sys.argv[1])), 10**9, wait=0.0005)
