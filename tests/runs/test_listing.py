"""What is in a run directory, by name, and never through a link."""

from dataclasses import replace
from pathlib import Path

from sonde.runs.layout import RunLayout
from sonde.runs.listing import checkpoints, is_run, list_run, run_folders
from tests.runs.trainer import Trainer


def test_segments_are_the_closed_files_and_what_was_set_aside_is_not(trainer: Trainer) -> None:
    for step in (100, 50):
        trainer.write(1)
        trainer.rotate(step)
    trainer.layout.abandoned(50).write_bytes(b"{}\n")
    (trainer.layout.segments / "notes.txt").write_text("x")
    found = list_run(trainer.layout)
    assert [one.key for one in found.closed] == [(50, 0), (100, 0)]
    assert found.in_segments
    assert [one.key for one in found.abandoned.values()] == [(50, 0)]
    assert found.last_key == (100, 0)
    after = [found.after(key) for key in (None, (50, 0), (50, 9), (100, 0))]
    assert [one.key if one else None for one in after] == [(50, 0), (100, 0), (100, 0), None]
    assert [found.before(one) for one in found.closed] == [None, (50, 0)]


def test_without_segments_the_snapshots_are(trainer: Trainer) -> None:
    trainer.snapshot(100, 1)
    trainer.snapshot(50, 1)
    trainer.layout.checkpoint(70).mkdir()
    found = list_run(trainer.layout)
    assert [one.key[0] for one in found.closed] == [50, 100]
    assert not found.in_segments
    assert checkpoints(trainer.layout) == [50, 70, 100]


def test_files_links_and_odd_names_are_no_checkpoints(trainer: Trainer, tmp_path: Path) -> None:
    """E2."""
    trainer.snapshot(50, 1)
    outside = Trainer(tmp_path / "outside")
    outside.snapshot(60, 1)
    directory = trainer.layout.directory
    (directory / "checkpoint-7").write_text("a plain file")
    (directory / "checkpoint-8").symlink_to(outside.layout.checkpoint(60))
    (directory / "checkpoint-x").mkdir()
    (directory / "segments").symlink_to(outside.layout.directory)
    trainer.layout.checkpoint(9).mkdir()
    trainer.layout.snapshot(9).symlink_to("/etc/passwd")
    assert checkpoints(trainer.layout) == [9, 50]
    assert [one.key[0] for one in list_run(trainer.layout).closed] == [50]


def test_runs_are_folders_with_something_in_them_that_trainers_write(tmp_path: Path) -> None:
    root = RunLayout(tmp_path)
    Trainer(tmp_path / "b").write(1)
    Trainer(tmp_path / "a").snapshot(5, 1)
    Trainer(tmp_path / "empty")
    Trainer(tmp_path / ".hidden").write(1)
    Trainer(tmp_path / "with space").write(1)
    (tmp_path / "link").symlink_to(tmp_path / "b")
    (tmp_path / "file").write_text("x")
    assert [one.directory.name for one in run_folders(root)] == ["a", "b"]
    assert not is_run(root)
    assert is_run(replace(root, directory=tmp_path / "b"))
    assert not is_run(replace(root, directory=tmp_path / "absent"))


def test_a_folder_of_checkpoints_is_one_run_and_not_many(trainer: Trainer) -> None:
    trainer.snapshot(5, 1)
    trainer.layout.metadata(5).write_text("{}")
    (trainer.layout.checkpoint(5) / "run.json").write_text("{}")
    assert run_folders(trainer.layout) == []
    assert is_run(trainer.layout)


def test_what_was_seen_before_is_not_looked_at_again_unless_it_is_another_file(
    trainer: Trainer,
) -> None:
    trainer.write(1)
    trainer.rotate(50)
    first = list_run(trainer.layout)
    assert list_run(trainer.layout, first).closed[0] is first.closed[0]
    other = trainer.layout.directory / "other"
    other.write_bytes(b"{}\n")
    other.replace(trainer.layout.segment(50))
    assert list_run(trainer.layout, first).closed != first.closed
