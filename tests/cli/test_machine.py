import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sonde import __version__
from sonde.cli import machine
from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.runs.lock import WriterLock
from sonde.server.parts import Gateway, Network
from sonde.server.serving import running_server
from sonde.settings import GatewayCfg, Settings, load_settings


def settings(directory: Path | None = None, port: int = 8091) -> Settings:
    flags = {"aegir.p5.output_dir": directory, "aegir.gateway.port": port}
    return load_settings(environ={}, flags=flags, directory=Path("/nowhere"))


@contextmanager
def taken_port() -> Iterator[int]:
    """A port where somebody listens and nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(5)
        yield other.getsockname()[1]


def test_a_run_directory_that_can_be_made_will_do(tmp_path: Path) -> None:
    [found] = machine.run_directory(settings(tmp_path / "new" / "run"))
    assert found.state == "ok"
    assert not (tmp_path / "new").exists()


def test_who_writes_to_the_run_directory_is_named(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path)
    [found] = machine.run_directory(settings(tmp_path))
    lock.release()
    assert "written by process" in found.said
    assert "written by" not in next(machine.run_directory(settings(tmp_path))).said


def test_a_run_directory_that_was_asked_for_and_cannot_be_is_broken(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    [found] = machine.run_directory(settings(tmp_path / "file" / "run"))
    assert found.state == "broken"
    assert "SONDE_OUTPUT_DIR" in (found.remedy or "")


def test_a_directory_that_cannot_be_made_is_broken_given_or_by_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "unwritable", lambda _path: "no")
    assert next(machine.run_directory(settings())).state == "broken"
    assert next(machine.data_directory(Path("/anywhere"))).state == "broken"


def test_a_directory_without_permission_is_not_writable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert machine.unwritable(tmp_path / "a" / "b") is None
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write anywhere
    assert "not writable" in (machine.unwritable(tmp_path / "a") or "")


def test_one_disk_is_one_line_and_a_full_one_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {"models": tmp_path / "a", "runs": tmp_path / "b" / "c"}
    monkeypatch.setattr(machine, "ROOM", 0)
    [found] = machine.disk(places)
    assert found.said.endswith("free for models, runs")
    monkeypatch.setattr(machine, "ROOM", 2**60)
    assert next(machine.disk(places)).state == "broken"


def test_a_free_port_is_free_and_stays_free() -> None:
    with taken_port() as number:
        pass
    for _ in range(2):
        [found] = machine.port(settings(port=number))
        assert (found.state, found.said) == ("ok", f"{number} on 127.0.0.1 is free")


def test_a_sonde_server_on_the_port_is_no_problem(tmp_path: Path) -> None:
    gateway = Gateway(Hub(RunLayout(tmp_path)), Network(api_key="secret"))
    with running_server(gateway) as url:
        number = int(url.rpartition(":")[2])
        [found] = machine.port(settings(port=number))
    assert found.state == "ok"
    assert f"in use by Sonde {__version__}: {url}" in found.said


def test_somebody_else_on_the_port_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "ANSWER_SECONDS", 0.1)
    with taken_port() as number:
        [found] = machine.port(settings(port=number))
    assert found.state == "broken"
    assert f"port {number}" in found.said
    assert "--port 0" in (found.remedy or "")


def test_the_gateway_s_own_defaults_are_what_is_checked() -> None:
    assert (GatewayCfg().host, GatewayCfg().port) == ("127.0.0.1", 8091)
