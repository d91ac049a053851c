import os
from pathlib import Path

from sonde.runs.analytics.reading import Mark, history, holds, mark, opened, pieces
from sonde.runs.layout import RunLayout
from sonde.runs.lines import LINE_BYTES


def open_for(path: Path) -> int:
    return os.open(path, os.O_RDONLY)


def test_only_whole_lines_are_read_and_the_rest_later(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo\nthr")
    descriptor = open_for(path)
    found = list(pieces(descriptor, 0))
    assert [piece.data for piece in found] == [b"one\ntwo\n"]
    assert list(pieces(descriptor, 8)) == []
    with path.open("ab") as file:
        file.write(b"ee\n")
    assert [piece.data for piece in pieces(descriptor, 8)] == [b"three\n"]
    os.close(descriptor)


def test_a_line_that_nobody_could_hold_is_stepped_over(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"a\n" + b"x" * (3 * LINE_BYTES))
    descriptor = open_for(path)
    assert [piece.data for piece in pieces(descriptor, 0)] == [b"a\n"]
    assert list(pieces(descriptor, 2)) == []
    with path.open("ab") as file:
        file.write(b"\nb\n")
    skipped, rest = pieces(descriptor, 2)
    assert (skipped.data, skipped.end) == (b"", 3 * LINE_BYTES + 3)
    assert rest.data == b"b\n"
    os.close(descriptor)


def test_a_line_longer_than_a_block_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "longish"
    path.write_bytes(b"x" * 300_000 + b"\n")
    descriptor = open_for(path)
    (piece,) = pieces(descriptor, 0)
    assert piece.end == 300_001
    os.close(descriptor)


def test_a_mark_is_held_by_a_file_that_grew_and_by_no_other(tmp_path: Path) -> None:
    path = tmp_path / "marked"
    path.write_bytes(b"abc\ndef\n")
    descriptor = open_for(path)
    marked = mark(descriptor, 8)
    assert holds(descriptor, marked)
    assert holds(descriptor, Mark(0, mark(descriptor, 0).digest))
    with path.open("ab") as file:
        file.write(b"ghi\n")
    assert holds(descriptor, marked)
    os.truncate(path, 4)
    assert not holds(descriptor, marked)
    with path.open("ab") as file:
        file.write(b"deX\nmore\n")
    assert not holds(descriptor, marked)
    os.close(descriptor)


def test_the_history_is_segments_in_numeric_order_and_then_the_live_file(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path)
    layout.segments.mkdir()
    for name in ("100.jsonl", "50.jsonl", "abandoned-50-0.jsonl"):
        (layout.segments / name).write_text("x\n")
    layout.live.write_text("x\n")
    assert [path.name for path in history(layout)] == ["50.jsonl", "100.jsonl", layout.live.name]


def test_without_segments_the_history_is_snapshots_and_the_live_file(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path)
    for step in (100, 50):
        layout.checkpoint(step).mkdir()
        layout.snapshot(step).write_text("x\n")
    assert history(layout) == [layout.snapshot(50), layout.snapshot(100)]
    assert history(RunLayout(tmp_path / "nowhere")) == []


def test_a_live_file_that_is_also_a_segment_counts_once(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path)
    layout.segments.mkdir()
    layout.live.write_text("x\n")
    os.link(layout.live, layout.segment(50))
    assert history(layout) == [layout.segment(50)]
    files = opened([layout.live, layout.segment(50), tmp_path / "nothing"])
    assert len(files) == 1
    files[0].close()
