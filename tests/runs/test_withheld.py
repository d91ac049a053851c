"""Bad lines are counted once each."""

from pathlib import Path

from sonde.runs.files import LineFile, open_lines
from sonde.runs.lines import BadLine
from sonde.runs.withheld import KEPT, Withheld


def opened(path: Path) -> LineFile:
    file = open_lines(path)
    assert file is not None
    return file


def test_a_block_that_is_read_again_counts_nothing_new(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{}\nx\ny\n")
    withheld = Withheld()
    for _ in range(2):  # also when the file was closed in between
        file = opened(path)
        withheld.note(file, [BadLine(3, "not JSON")], 5)
        withheld.note(file, [BadLine(3, "not JSON"), BadLine(5, "not JSON")], 7)
        file.close()
    assert withheld.count == 2
    assert [(line.file, line.offset) for line in withheld.first] == [("a.jsonl", 3), ("a.jsonl", 5)]


def test_a_file_of_nothing_but_bad_lines_is_counted_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{}\n")
    withheld, file = Withheld(), opened(path)
    for start in range(0, 100_000, 100):
        bad = [BadLine(start + n, "not JSON") for n in range(100)]
        withheld.note(file, bad, start + 100)
    file.close()
    assert withheld.count == 100_000
    assert len(withheld.first) == KEPT
