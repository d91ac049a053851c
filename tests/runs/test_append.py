from pathlib import Path

import pytest

from sonde.runs.append import BLOCK, AppendFile, ShortWrite, cut_fragment
from tests.runs.full_disk import files_no_larger_than


def test_lines_are_added_at_the_end(tmp_path: Path) -> None:
    file = AppendFile(tmp_path / "log")
    file.append(b"one\n")
    file.append(b"two\nthree\n")
    assert file.path.read_bytes() == b"one\ntwo\nthree\n"


def test_nothing_is_opened_before_there_is_something_to_write(tmp_path: Path) -> None:
    file = AppendFile(tmp_path / "log")
    file.append(b"")
    file.sync()
    file.close()
    assert not file.path.exists()


def test_half_a_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="newline"):
        AppendFile(tmp_path / "log").append(b"half")


@pytest.mark.parametrize("before", [b"", b"a\nb\n", b"a" * (3 * BLOCK) + b"\n"])
def test_what_a_killed_writer_left_is_cut_before_the_next_line(
    tmp_path: Path, before: bytes
) -> None:
    path = tmp_path / "log"
    path.write_bytes(before + b'{"step":5,"tok' + b"x" * BLOCK)
    file = AppendFile(path)
    file.append(b"next\n")
    assert path.read_bytes() == before + b"next\n"
    assert file.fragments_cut == 1


def test_a_whole_file_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a\nb\n")
    assert cut_fragment(path) == 0
    assert cut_fragment(tmp_path / "absent") == 0
    assert path.read_bytes() == b"a\nb\n"


def test_a_write_that_comes_up_short_is_taken_back(tmp_path: Path) -> None:
    file = AppendFile(tmp_path / "log")
    file.append(b"first\n")
    with files_no_larger_than(20):
        with pytest.raises(OSError, match="could be written"):
            file.append(b"a line that is longer than what is left\n")
        assert file.path.read_bytes() == b"first\n"
        file.append(b"short\n")
    file.append(b"a line that is longer than what was left\n")
    assert file.path.read_text().splitlines()[1:] == [
        "short",
        "a line that is longer than what was left",
    ]


def test_of_a_write_that_comes_up_short_whole_lines_stay(tmp_path: Path) -> None:
    """A reader may have sent them already: taken back, they would be sent again."""
    file = AppendFile(tmp_path / "log")
    with files_no_larger_than(10), pytest.raises(ShortWrite) as short:
        file.append(b"one\ntwo\nthree\n")
    assert short.value.kept == 8
    assert file.path.read_bytes() == b"one\ntwo\n"


def test_half_a_line_that_could_not_be_taken_back_is_cut_before_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = AppendFile(tmp_path / "log")
    with monkeypatch.context() as broken:
        broken.setattr("os.ftruncate", refuse)
        with files_no_larger_than(6), pytest.raises(ShortWrite):
            file.append(b"one\ntwo\n")
    file.append(b"three\n")
    assert file.path.read_bytes() == b"one\nthree\n"


def refuse(*_: object) -> None:
    raise OSError("input/output error")


def test_what_is_on_disk_is_not_synced_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = AppendFile(tmp_path / "log")
    calls: list[int] = []
    monkeypatch.setattr("os.fsync", calls.append)
    for _ in range(2):
        file.append(b"one\n")
        file.sync()
        file.sync()
    assert len(calls) == 2


def test_a_file_that_was_removed_or_replaced_is_opened_anew(tmp_path: Path) -> None:
    file = AppendFile(tmp_path / "log")
    file.append(b"one\n")
    file.path.unlink()
    file.append(b"two\n")
    assert file.path.read_bytes() == b"two\n"
    (tmp_path / "other").write_bytes(b"other\n")
    (tmp_path / "other").rename(file.path)
    file.append(b"three\n")
    assert file.path.read_bytes() == b"other\nthree\n"
