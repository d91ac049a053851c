from pathlib import Path

from sonde.runs.archive import archive, run_found
from sonde.runs.layout import RunLayout


def test_an_empty_directory_holds_no_run(tmp_path: Path) -> None:
    assert run_found(RunLayout(tmp_path)) is None
    assert run_found(RunLayout(tmp_path / "absent")) is None
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "checkpoint-x").mkdir()
    assert run_found(RunLayout(tmp_path)) is None


def test_any_file_of_a_run_shows_that_there_is_one(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path)
    for path in (layout.live, layout.generations, layout.metrics, layout.run_info):
        path.write_text("")
        assert run_found(layout) == path.name
        path.unlink()
    layout.checkpoint(50).mkdir()
    assert run_found(layout) == "checkpoint-50"


def test_a_run_set_aside_is_a_run_of_its_own(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path)
    layout.run_info.write_text('{"run_id": "0123456789"}')
    layout.live.write_text("line\n")
    layout.checkpoint(50).mkdir()
    layout.snapshot(50).write_text("snapshot\n")
    (tmp_path / "notes.txt").write_text("mine")
    place = archive(layout)
    assert place == tmp_path / "run-01234567"
    assert run_found(layout) is None
    moved = RunLayout(place)
    assert moved.live.read_text() == "line\n"
    assert moved.snapshot(50).read_text() == "snapshot\n"
    assert (tmp_path / "notes.txt").exists()


def test_an_interrupted_move_is_finished_in_the_same_place(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path)
    layout.run_info.write_text('{"run_id": "0123456789"}')
    layout.live.write_text("line\n")
    place = tmp_path / "run-01234567"
    place.mkdir()
    (place / layout.generations.name).write_text("moved before\n")
    assert archive(layout) == place
    assert sorted(path.name for path in place.iterdir()) == [
        "generations.jsonl",
        "run.json",
        "sae_features.live.jsonl",
    ]


def test_a_run_without_an_id_can_be_set_aside_too(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path)
    layout.live.write_text("line\n")
    assert RunLayout(archive(layout)).live.exists()
