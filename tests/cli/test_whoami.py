from pathlib import Path

import pytest

from sonde.runs.lock import WriterLock
from tests.cli.shell import refusal, sonde


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AEGIR_P5_OUTPUT_DIR", str(tmp_path / "runs"))
    return tmp_path


def test_it_says_role_directory_and_port(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEGIR_GATEWAY_PORT", "9001")
    said = sonde("whoami").stdout
    assert "role            primary" in said
    assert f"{here / 'runs'} (nobody writes)" in said
    assert "gateway port    9001" in said


def test_it_names_who_writes(here: Path) -> None:
    (here / "runs").mkdir()
    lock = WriterLock(here / "runs")
    assert "written by process" in sonde("whoami").stdout
    lock.release()


def test_a_secondary_worktree_is_told_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEGIR_WORKTREE_ROLE", "secondary")
    assert "ALLOW_SECONDARY=1" in sonde("whoami").stdout
    monkeypatch.setenv("ALLOW_SECONDARY", "1")
    assert "refused" not in sonde("whoami").stdout


def test_a_secondary_worktree_serves_on_no_port_that_is_shared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AEGIR_WORKTREE_ROLE", "secondary")
    said = refusal(sonde("serve"))
    assert "port 8091" in said
    assert "AEGIR_GATEWAY_PORT" in said


def test_a_wrong_role_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEGIR_WORKTREE_ROLE", "boss")
    assert "'boss'" in refusal(sonde("whoami"))
