"""`sonde serve`: what it refuses, what it says, and how it ends."""

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
from click.testing import Result

from sonde.cli import serve as module
from sonde.schema import ModelDescription
from sonde.server.parts import Network
from sonde.store.sweeps import SweepStore
from tests.cli.shell import refusal, sonde
from tests.local import LOCAL
from tests.programs import started
from tests.scripted import Scripted

KEY = "s3cret-Key"


def leave(status: int) -> None:
    """Instead of ending the process: this one has more to do."""
    raise click.exceptions.Exit(status)


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A data directory and a log of the test's own; nothing stays."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv(module.KEY, raising=False)
    monkeypatch.setattr(module, "end_process", leave)
    root, ours = logging.getLogger(), logging.getLogger("sonde")
    handlers, levels = list(root.handlers), (root.level, ours.level)
    digits = sys.get_int_max_str_digits()
    yield
    sys.set_int_max_str_digits(digits)
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_others_are_not_let_in_without_a_key_and_both_ways_out_are_named(host: str) -> None:
    line = refusal(sonde("serve", "--host", host, "--port", 0))
    assert f"--host {host}" in line
    assert "--api-key" in line
    assert "$SONDE_API_KEY" in line
    assert "leave --host out" in line


@pytest.mark.parametrize("key", ["", "a b", "\u00e9", "x" * 513, "a\n"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_repeated(key: str) -> None:
    line = refusal(sonde("serve", "--api-key", key))
    assert "openssl rand" in line
    assert not key or key not in line


@pytest.mark.parametrize("name", ["*", "http://lab.example", "lab.example:80", "a/b", ""])
def test_a_name_to_allow_is_a_name(name: str) -> None:
    assert "is not a name" in refusal(sonde("serve", "--allow-host", name))


@pytest.mark.parametrize(
    "origin", ["*", "lab.example", "https://lab.example/", "ftp://lab.example", "null", ""]
)
def test_09_an_origin_to_allow_is_an_origin(origin: str) -> None:
    assert "is not an origin" in refusal(sonde("serve", "--allow-origin", origin))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--source-budget", "much"], "--source-budget 'much' is not a size"),
        (["--memory-budget", "0"], "--memory-budget '0'"),
        (["--max-cells", "0"], "--max-cells"),
        (["--queue", "-1"], "--queue"),
        (["--port", "65536"], "--port"),
        (["--host", "nowhere.invalid"], "--host 'nowhere.invalid' is no address"),
    ],
)
def test_what_cannot_be_is_refused_before_a_model_is_loaded(
    arguments: list[str], says: str
) -> None:
    assert says in refusal(sonde("serve", *arguments))


def test_a_port_that_is_taken_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert f"port {port}" in refusal(sonde("serve", "--port", port))


def test_a_data_directory_in_use_is_one_line(tmp_path: Path) -> None:
    store = SweepStore(tmp_path / "mine")
    line = refusal(sonde("serve", "--model", "tiny", "--port", 0, "--data-dir", tmp_path / "mine"))
    store.close()
    assert "--data-dir" in line
    assert str(os.getpid()) in line


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def while_serving(
    port: int, ask: Callable[[httpx.Client], None], *arguments: object, given_port: bool = True
) -> Result:
    """`sonde serve` in this process; another thread asks, and then sends SIGTERM."""
    trouble: list[BaseException] = []

    def client() -> None:
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", **LOCAL) as http:
                until = time.monotonic() + 60
                while time.monotonic() < until:
                    try:
                        http.get("/health")
                        break
                    except httpx.ConnectError:
                        time.sleep(0.02)
                ask(http)
        except BaseException as error:  # noqa: BLE001 - the test itself has to fail, not a thread
            trouble.append(error)
        os.kill(os.getpid(), signal.SIGTERM)

    asking = threading.Thread(target=client)
    asking.start()
    result = sonde("serve", *(("--port", port) if given_port else ()), *arguments)
    asking.join()
    if trouble:
        raise trouble[0]
    return result


def test_it_serves_the_model_with_the_limits_that_were_given(tiny: Path, tmp_path: Path) -> None:
    found: dict[str, Any] = {}
    said: dict[int, str] = {}
    headers = {"Authorization": f"Bearer {KEY}"}

    def ask(http: httpx.Client) -> None:
        assert http.get("/v1/capabilities").status_code == 401
        answer = http.get("/v1/capabilities", headers=headers | {"Host": "lab.example"})
        found.update(answer.json())
        for name, origin in (("lab", "https://lab.example"), ("other", "http://127.0.0.1:1")):
            found[name] = http.get("/health", headers={"Origin": origin}).status_code
        for length in (module.DIGITS, module.DIGITS + 1):
            body = b'{"prompt": "a", "max_tokens": %b}' % (b"1" * length)
            kind = {"Content-Type": "application/json"}
            answer = http.post("/v1/completions", content=body, headers=headers | kind)
            said[length] = answer.text

    port = free_port()
    result = while_serving(
        port,
        ask,
        *("--model", tiny, "--device", "cpu", "--api-key", KEY, "--allow-host", "lab.example"),
        *("--allow-origin", "https://lab.example"),
        *("--source-budget", "3MiB", "--max-cells", 77, "--data-dir", tmp_path / "mine"),
    )
    assert result.exit_code == 0, result.output
    assert found["model"]["n_layers"] == 2
    assert found["limits"]["cells"] == 77
    assert (found["lab"], found["other"]) == (200, 403)
    assert "max_tokens" in said[module.DIGITS]
    assert "max_tokens" not in said[module.DIGITS + 1]  # refused by the parser, not by the schema
    assert "digits" in said[module.DIGITS + 1]
    assert found["source_runs"]["budget_bytes"] == 3 * 2**20
    assert result.stdout.startswith(f"Sonde listens on http://127.0.0.1:{port}\n")
    assert "2 layers, float32 on cpu" in result.stdout
    assert "curl" in result.stdout
    assert KEY not in result.output
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o700
    logged = [line for line in result.stderr.splitlines() if line.startswith("{")]
    assert any('"route": "(none)", "status": 401' in line for line in logged)
    SweepStore(tmp_path / "mine").close()


def greeting(**network: Any) -> str:
    model: ModelDescription = Scripted().describe()
    return module.greeting("http://127.0.0.1:1", model, Network(**network), Path("/d/\x1b[2J"))


def test_the_greeting_says_where_what_and_how() -> None:
    text = greeting()
    for part in ("http://127.0.0.1:1\n", "scripted: 4 layers", "/docs", "curl", "Ctrl-C"):
        assert part in text
    assert "Authorization" not in text
    assert "\x1b" not in text


def test_the_greeting_shows_how_to_send_the_key_but_not_the_key() -> None:
    text = greeting(api_key=KEY)
    assert '-H "Authorization: Bearer $SONDE_API_KEY"' in text
    assert KEY not in text


def test_the_data_directory_is_where_the_platform_keeps_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert module.default_directory() == tmp_path / "data" / "sonde"
    monkeypatch.delenv("XDG_DATA_HOME")
    assert module.default_directory() == Path.home() / ".local" / "share" / "sonde"


def test_answers_that_are_cut_off_at_the_end_leave_no_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    module.log_to_stderr()
    logging.getLogger("uvicorn.error").error("cut", exc_info=asyncio.CancelledError())
    logging.getLogger("uvicorn.error").error("broken", exc_info=KeyError())
    [line] = capsys.readouterr().err.splitlines()
    assert '"message": "broken"' in line


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_ends_the_process_quietly(
    tiny: Path, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    command = [sys.executable, "-m", "sonde", "serve", "--model", str(tiny), "--port", "0"]
    with started(
        [*command, "--data-dir", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().decode().split()[-1]
        assert httpx.get(f"{url}/health", **LOCAL).status_code == 200
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert process.returncode == status
    assert b"Traceback" not in said
