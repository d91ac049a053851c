from pathlib import Path

from sonde.runs.append import AppendFile
from sonde.runs.spool import BLOCK_BYTES, Chunk, Spool
from tests.runs.full_disk import files_no_larger_than


def spool(tmp_path: Path, capacity: int = 2**20) -> Spool:
    return Spool(AppendFile(tmp_path / "log"), capacity)


def chunk(text: str, records: int = 1) -> Chunk:
    return Chunk(f"{text}\n".encode(), records)


def test_what_waits_is_written_once_and_in_order(tmp_path: Path) -> None:
    lines = spool(tmp_path)
    lines.put(chunk("a"))
    lines.put(chunk("b\nc", 2))
    assert lines.spill()
    assert lines.spill()
    assert lines.file.path.read_text() == "a\nb\nc\n"
    assert (lines.written, lines.dropped, len(lines)) == (3, 0, 0)


def test_after_a_full_disk_nothing_is_missing_and_nothing_is_there_twice(tmp_path: Path) -> None:
    lines = spool(tmp_path)
    with files_no_larger_than(16):
        for number in range(100):
            lines.put(chunk(f"line {number}"))
            lines.spill()
        assert lines.failure is not None
    assert lines.spill()
    assert lines.failure is None
    assert lines.file.path.read_text().splitlines() == [f"line {number}" for number in range(100)]


def test_a_spill_that_fails_half_way_does_not_repeat_its_first_half(tmp_path: Path) -> None:
    lines = spool(tmp_path, 10 * BLOCK_BYTES)
    wanted = [f"{number:07}" + "x" * (BLOCK_BYTES // 3) for number in range(9)]
    for text in wanted:
        lines.put(chunk(text))
    with files_no_larger_than(2 * BLOCK_BYTES):
        assert not lines.spill()
    assert 0 < lines.written < 9
    assert lines.spill()
    assert lines.file.path.read_text().splitlines() == wanted


def test_what_waits_is_bounded_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    lines = spool(tmp_path, capacity=100)
    with files_no_larger_than(0):
        for number in range(100):
            lines.put(chunk(f"generation {number:03}\nsecond record", 2))
            lines.spill()
    assert lines.spill()
    kept = lines.file.path.read_text().splitlines()
    assert lines.written == len(kept) < 10
    assert lines.written + lines.dropped == 200
    assert kept[1::2] == ["second record"] * (len(kept) // 2)  # whole generations


def test_a_chunk_larger_than_the_capacity_is_still_taken_alone(tmp_path: Path) -> None:
    lines = spool(tmp_path, capacity=3)
    lines.put(chunk("long line"))
    assert lines.spill()
    assert lines.written == 1
