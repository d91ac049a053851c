"""A disk that is full in any write of a run, for any time, with or without a kill: nothing is lost.

Two models. One goes on: when there is room again, every line is in the files once and in order. One
is killed: what it resumes from has all its records, so that the steps done again make it whole.
"""

import itertools
import json
import shutil
from pathlib import Path

import pytest

from sonde.runs.layout import RunLayout, segment_key
from sonde.runs.spool import Chunk
from sonde.runs.writer import RunWriter
from sonde.training.metadata import Task, is_whole, last_checkpoint, metadata
from tests.runs.full_disk import Disk, files_no_larger_than
from tests.runs.killed_writer import SAVE_EVERY, STEPS, numbers, records_of, torn

FOREVER = 10**9


def write(layout: RunLayout, disk: Disk, until: int = STEPS, killed_at: int | None = None) -> None:
    """Write steps as a trainer does that never fails, on a disk that does."""
    done = last_checkpoint(layout) or 0
    begun = layout.run_info.exists()
    writer = RunWriter.resume(layout, done) if begun else RunWriter.begin(layout)
    layout.run_info.touch()
    for step in range(done + 1, until + 1):
        lines = [f"{json.dumps(record)}\n".encode() for record in records_of(step)]
        with disk:
            writer.add(
                records=[Chunk(b"".join(lines), len(lines))],
                generations=[numbers(step)],
                metrics=numbers(step),
            )
            writer.spill()
        if step % SAVE_EVERY == 0:
            with disk:
                writer.sync()
            layout.checkpoint(step).mkdir(exist_ok=True)
            with disk:
                about = metadata("run", Task(), step=step, started=0.0, commit=None)
                writer.checkpoint(step, about)
        if step == killed_at:
            writer._lock.release()
            return
    writer.close()


def counted(layout: RunLayout) -> list[dict[str, int]]:
    folder = layout.segments.iterdir() if layout.segments.is_dir() else ()
    keyed = sorted((key, path) for path in folder if (key := segment_key(path.name)))
    files = [*(path for _, path in keyed), *([layout.live] if layout.live.exists() else [])]
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def wrong(layout: RunLayout, until: int = STEPS) -> list[str]:
    """What is not as a disk with room would have left it."""
    found = torn(layout)
    wanted = [record for step in range(1, until + 1) for record in records_of(step)]
    if counted(layout) != wanted:
        found.append(f"records of steps {[each['step'] for each in counted(layout)]}")
    for path in (layout.generations, layout.metrics):
        steps = [json.loads(line)["iteration"] for line in path.read_text().splitlines()]
        if steps != list(range(1, until + 1)):
            found.append(f"{path.name} {steps}")
    for step in range(SAVE_EVERY, until + 1, SAVE_EVERY):
        if is_whole(layout, step):
            of_snapshot = [
                json.loads(line)["step"] for line in layout.snapshot(step).read_text().splitlines()
            ]
            if max(of_snapshot) != step:
                found.append(f"snapshot {step} holds {of_snapshot}")
    return found


def calls_of_a_run(directory: Path) -> int:
    disk = Disk(FOREVER, 0)
    write(RunLayout(directory), disk)
    assert wrong(RunLayout(directory)) == []
    return disk.calls


def test_03_after_a_full_disk_in_any_write_of_a_save_every_line_is_there_once(
    tmp_path: Path,
) -> None:
    calls = calls_of_a_run(tmp_path / "plain")
    assert calls > 40
    failures = []
    for first, count in itertools.product(range(1, calls + 1), (1, 2, 3, 7, 20)):
        layout = RunLayout(tmp_path / "run")
        write(layout, Disk(first, count))
        failures += [(first, count, each) for each in wrong(layout)]
        shutil.rmtree(layout.directory)
    assert failures == []


@pytest.mark.parametrize("killed_at", range(1, STEPS + 1))
def test_03_killed_while_the_disk_is_full_a_run_resumes_from_what_has_all_its_records(
    tmp_path: Path, killed_at: int
) -> None:
    calls = calls_of_a_run(tmp_path / "plain")
    failures = []
    for first in range(1, calls + 1):
        layout = RunLayout(tmp_path / "run")
        disk = Disk(first, FOREVER)
        write(layout, disk, killed_at=killed_at)
        failures += [(first, each) for each in torn(layout)]
        write(layout, Disk(FOREVER, 0))
        failures += [(first, each) for each in wrong(layout)]
        shutil.rmtree(layout.directory)
        if not disk.reached:
            break
    assert failures == []


def test_03_a_save_on_a_full_disk_waits_for_its_records_and_is_finished_with_them(
    tmp_path: Path,
) -> None:
    """648 of 720 records were missing, from a checkpoint that said it was complete."""
    layout = RunLayout(tmp_path / "run")
    writer = RunWriter.begin(layout)
    line = b'{"step":%d,"text":"%s"}\n'
    room = 72 * len(line % (1, b"x" * 50))
    about = metadata("run", Task(), step=10, started=0.0, commit=None)
    with files_no_larger_than(room):
        for step in range(1, 11):
            writer.add(records=[Chunk(line % (step % 10, b"x" * 50) * 72, 72)])
            writer.spill()
        layout.checkpoint(10).mkdir()
        assert not writer.checkpoint(10, about)
        assert last_checkpoint(layout) is None  # killed now, it would not be resumed from
        assert writer.waiting_saves == [10]
        writer.add(records=[Chunk(line % (1, b"x" * 50), 1)])  # of a later step
        assert not writer.spill()
    assert writer.spill()
    assert last_checkpoint(layout) == 10
    assert len(layout.snapshot(10).read_text().splitlines()) == 720
    assert len(layout.live.read_text().splitlines()) == 1
    writer.close()
    assert (writer.unfinished, writer.records.dropped) == ([], 0)


def test_03_what_a_full_disk_never_took_is_counted_at_the_end(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path / "run")
    writer = RunWriter.begin(layout)
    layout.checkpoint(1).mkdir()
    with files_no_larger_than(20):
        writer.add(records=[Chunk(b'{"step":1}\n' * 5, 5)])
        writer.checkpoint(1, metadata("run", Task(), step=1, started=0.0, commit=None))
        writer.close()
    assert (writer.records.written, writer.records.dropped, writer.unfinished) == (1, 4, [1])
    assert layout.live.read_bytes() == b'{"step":1}\n'


def test_03_an_error_of_the_disk_that_is_not_its_size_gives_the_save_up(tmp_path: Path) -> None:
    """What the kernel could not write it may forget: a second `fsync` says nothing."""
    layout = RunLayout(tmp_path / "run")
    writer = RunWriter.begin(layout)
    layout.checkpoint(1).mkdir()
    writer.add(records=[Chunk(b'{"step":1}\n', 1)])
    writer.spill()
    with Disk(1, 1):  # the first call of the save is an fsync
        assert not writer.checkpoint(1, metadata("run", Task(), step=1, started=0.0, commit=None))
    assert (writer.waiting_saves, writer.unfinished) == ([], [1])
    assert writer.spill()
    assert last_checkpoint(layout) is None
    writer.close()
    assert layout.live.read_bytes() == b'{"step":1}\n'


def test_each_save_syncs_each_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    layout = RunLayout(tmp_path / "run")
    synced: list[str] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    writer = RunWriter.begin(layout)
    writer.add(records=[Chunk(b'{"step":1}\n', 1)], generations=[numbers(1)], metrics=numbers(1))
    writer.report(numbers(1))
    monkeypatch.setattr(os, "fsync", noted)
    writer.sync()  # as a trainer does before it makes the checkpoint
    layout.checkpoint(1).mkdir()
    assert writer.checkpoint(1, metadata("run", Task(), step=1, started=0.0, commit=None))
    files = [path for path in synced if path.endswith(".jsonl")]
    assert sorted(Path(path).name for path in files) == sorted(
        path.name for path in (layout.live, layout.generations, layout.metrics, layout.health)
    )
    writer.close()
