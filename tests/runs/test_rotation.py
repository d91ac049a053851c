import json
from pathlib import Path

import pytest

from sonde.runs import rotation
from sonde.runs.layout import RunLayout


@pytest.fixture
def layout(tmp_path: Path) -> RunLayout:
    return RunLayout(tmp_path)


def lines(*steps: int, key: str = "step") -> str:
    return "".join(json.dumps({key: step}) + "\n" for step in steps)


def steps(path: Path, key: str = "step") -> list[int]:
    return [json.loads(line)[key] for line in path.read_text().splitlines()]


def test_a_save_makes_the_live_file_a_segment_and_a_snapshot(layout: RunLayout) -> None:
    layout.live.write_text(lines(1, 2))
    inode = layout.live.stat().st_ino
    layout.checkpoint(2).mkdir()
    rotation.rotate(layout, 2)
    assert not layout.live.exists()
    assert layout.segment(2).stat().st_ino == layout.snapshot(2).stat().st_ino == inode


def test_a_snapshot_is_copied_where_it_cannot_be_linked(
    layout: RunLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("links are not supported")

    monkeypatch.setattr("os.link", refuse)
    layout.live.write_text(lines(1))
    layout.checkpoint(1).mkdir()
    rotation.rotate(layout, 1)
    assert steps(layout.snapshot(1)) == [1]
    assert [path.name for path in layout.checkpoint(1).iterdir()] == [layout.sae_log_filename]


def test_a_step_that_is_saved_twice_keeps_both_segments(layout: RunLayout) -> None:
    for _ in range(2):
        layout.live.write_text(lines(7))
        rotation.rotate(layout, 7)
    rotation.rotate(layout, 7)  # nothing was recorded since
    assert sorted(path.name for path in layout.segments.iterdir()) == ["7-1.jsonl", "7.jsonl"]


def test_the_tail_beyond_the_checkpoint_is_set_aside_whole(layout: RunLayout) -> None:
    layout.live.write_text(lines(51, 57))
    assert rotation.resume(layout, 50) == 0
    assert not layout.live.exists()
    assert steps(layout.abandoned(50, 0)) == [51, 57]
    layout.live.write_text(lines(51))
    rotation.resume(layout, 50)
    assert steps(layout.abandoned(50, 1)) == [51]


def test_killed_between_checkpoint_and_rotation_the_live_file_is_divided(
    layout: RunLayout,
) -> None:
    layout.live.write_text(lines(49, 50, 50, 51) + '{"step":52')
    layout.checkpoint(50).mkdir()
    assert rotation.resume(layout, 50) == 1
    assert steps(layout.segment(50)) == [49, 50, 50]
    assert steps(layout.snapshot(50)) == [49, 50, 50]
    assert steps(layout.abandoned(50)) == [51]
    assert not layout.live.exists()


def test_killed_between_rename_and_link_the_snapshot_is_made_on_resume(layout: RunLayout) -> None:
    layout.segments.mkdir()
    layout.segment(50).write_text(lines(49, 50))
    layout.checkpoint(50).mkdir()
    rotation.resume(layout, 50)
    assert steps(layout.snapshot(50)) == [49, 50]


def test_segments_closed_later_are_set_aside(layout: RunLayout) -> None:
    layout.segments.mkdir()
    layout.segment(50).write_text(lines(50))
    layout.segment(100).write_text(lines(51, 100))
    layout.segment(150).write_text(lines(150))
    layout.live.write_text(lines(151))
    rotation.resume(layout, 50)
    kept = {path.name for path in layout.segments.iterdir()}
    assert kept == {"50.jsonl", *(f"abandoned-50-{number}.jsonl" for number in range(3))}


def test_companions_keep_only_what_is_counted(layout: RunLayout) -> None:
    layout.generations.write_text(lines(49, 50, 51, 51))
    layout.metrics.write_text(lines(50, 51, key="iteration"))
    layout.health.write_text(lines(50))
    rotation.resume(layout, 50)
    assert steps(layout.generations) == [49, 50]
    assert steps(layout.metrics, "iteration") == [50]
    assert steps(layout.health) == [50]
    aside = layout.segments / "abandoned-50-0.generations.jsonl"
    assert steps(aside) == [51, 51]


def test_resuming_twice_changes_nothing_more(layout: RunLayout) -> None:
    layout.live.write_text(lines(49, 50, 51))
    layout.generations.write_text(lines(49, 50, 51))
    rotation.resume(layout, 50)
    before = {path: path.read_bytes() for path in layout.directory.rglob("*.jsonl")}
    rotation.resume(layout, 50)
    assert {path: path.read_bytes() for path in layout.directory.rglob("*.jsonl")} == before


def test_lines_that_are_no_json_stay_with_those_before_them(layout: RunLayout) -> None:
    layout.live.write_text(lines(1) + "not json\n[1]\n" + lines(3))
    assert rotation.first_after(layout.live, 2) == len(lines(1))
    assert rotation.first_after(layout.live, 0) == 0
    assert rotation.first_after(layout.live, 3) == layout.live.stat().st_size
