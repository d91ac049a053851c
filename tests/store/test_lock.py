"""One server, one data directory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.errors import DataDirectoryError, DataDirectoryInUse
from sonde.store.lock import DirectoryLock
from tests.programs import started


def test_a_second_holder_is_refused_and_told_who_has_it_and_the_way_out(tmp_path: Path) -> None:
    held = DirectoryLock(tmp_path)
    with pytest.raises(DataDirectoryInUse, match=f"process {os.getpid()}.*--data-dir") as refusal:
        DirectoryLock(tmp_path)
    assert str(tmp_path) in str(refusal.value)
    held.release()
    DirectoryLock(tmp_path).release()


def test_releasing_twice_is_no_error(tmp_path: Path) -> None:
    held = DirectoryLock(tmp_path)
    held.release()
    held.release()


def test_a_missing_directory_is_made_for_its_owner_only(tmp_path: Path) -> None:
    directory = tmp_path / "a" / "b"
    DirectoryLock(directory).release()
    assert directory.stat().st_mode & 0o777 == 0o700


def test_a_file_in_place_of_the_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataDirectoryError, match=r"file.*--data-dir"):
        DirectoryLock(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("mine")
    directory = tmp_path / "data"
    directory.mkdir()
    (directory / "lock").symlink_to(target)
    with pytest.raises(DataDirectoryError):
        DirectoryLock(directory)
    assert target.read_text() == "mine"


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom sonde.store.lock import DirectoryLock\n"
        "held = DirectoryLock(Path(sys.argv[1]))\nprint('held', flush=True)\ntime.sleep(600)"
    )
    with started(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(DataDirectoryInUse, match=f"process {process.pid}"):
            DirectoryLock(tmp_path)
        process.kill()
        process.wait()
    DirectoryLock(tmp_path).release()
