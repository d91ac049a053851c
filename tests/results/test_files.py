"""Files that are whole or not there."""

import os
from pathlib import Path

import pytest

from sonde.errors import BadRequest
from sonde.results import files


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    target.write_bytes(b"old")
    assert files.write(target, b"new") == target
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


def test_who_has_the_old_file_open_goes_on_reading_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    target.write_bytes(b"old")
    with target.open("rb") as reader:
        files.write(target, b"new")
        assert reader.read() == b"old"


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "result.json"
    target.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadRequest, match="No space left on device"):
        files.write(target, b"new")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_saved_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    usual.touch()
    assert files.write(tmp_path / "a.csv", b"").stat().st_mode == usual.stat().st_mode


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="no directory.*absent"):
        files.write(tmp_path / "absent" / "a.csv", b"")


def test_a_directory_is_not_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(BadRequest, match="it is a directory"):
        files.write(tmp_path / "a.csv", b"")


def test_a_path_can_be_checked_before_the_work_is_done(tmp_path: Path) -> None:
    assert files.check(tmp_path / "a.html") == tmp_path / "a.html"
    for bad in (tmp_path / "a.pdf", tmp_path / "absent" / "a.html"):
        with pytest.raises(BadRequest):
            files.check(bad)
    assert list(tmp_path.iterdir()) == []
