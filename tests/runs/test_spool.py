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


def test_of_a_chunk_that_does_not_fit_the_first_lines_are_written_and_the_rest_waits(
    tmp_path: Path,
) -> None:
    lines = spool(tmp_path)
    lines.put(chunk("one\ntwo\nthree", 3))
    with files_no_larger_than(10):
        assert not lines.spill()
    assert (lines.written, len(lines)) == (2, 1)
    assert lines.spill()
    assert (lines.written, lines.file.path.read_text()) == (3, "one\ntwo\nthree\n")


def test_a_spill_goes_up_to_a_chunk_and_no_further(tmp_path: Path) -> None:
    lines = spool(tmp_path)
    for text in ("a", "b"):
        lines.put(chunk(text))
    until = lines.taken
    lines.put(chunk("c"))
    assert lines.spill(until)
    assert lines.spill(until)
    assert lines.file.path.read_text() == "a\nb\n"
    lines.spill()
    assert lines.file.path.read_text() == "a\nb\nc\n"


def test_what_is_given_up_is_counted(tmp_path: Path) -> None:
    lines = spool(tmp_path)
    lines.put(chunk("a\nb", 2))
    lines.give_up()
    assert (lines.dropped, len(lines), lines.spill()) == (2, 0, True)
    assert not lines.file.path.exists()
