"""A server that is asked to end while it works: when, with what status, and what it leaves.

A chunk cannot be stopped half way. Here one takes far longer than a server may take to end.
"""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from sonde.store.sweep_file import FILE_NAME
from tests.local import LOCAL
from tests.programs import started
from tests.server.process import serve
from tests.server.talking import SWEEP
from tests.tiny_model import save_tiny_model

PROGRAM = """
import sys, threading, time
from pathlib import Path
from sonde.cli import serve
from sonde.cli.main import main
from tests.scripted import Scripted

class Loaded:
    backend = Scripted(chunk=1, before_chunk=lambda chunk: time.sleep(60) if chunk == 30 else None)
    def describe(self):
        return self.backend.describe()

serve.load_model = lambda *_arguments, **_options: Loaded()
serve.offered = lambda *_arguments: {}  # it stands in no directory that others could be found by
main(["serve", "--model", "slow", "--port", "0", "--data-dir", sys.argv[1]])
"""
"""`sonde serve` on a model that needs a minute for one chunk of a sweep."""


LONG = SWEEP | {"layers": [0, 1, 2, 3] * 10, "stream": True}


@dataclass(frozen=True)
class Slow:
    """The program, and where it listens."""

    process: "subprocess.Popen[str]"
    url: str

    def end(self, *signals: int, pause: float = 0.0) -> tuple[int, float]:
        """Send signals. -> the exit status, and how long it took to end."""
        began = time.monotonic()
        for number in signals:
            self.process.send_signal(number)
            time.sleep(pause)
        status = self.process.wait(60)
        return status, time.monotonic() - began


@contextmanager
def slow_server(directory: Path, log: Path) -> Iterator[Slow]:
    with (
        log.open("w") as errors,
        started(
            [sys.executable, "-c", PROGRAM, str(directory)],
            stdout=subprocess.PIPE, stderr=errors, text=True,
        ) as process,
    ):  # fmt: skip
        assert process.stdout is not None
        said = process.stdout.readline()
        assert "http" in said, log.read_text()
        yield Slow(process, said.split()[-1])


@contextmanager
def streaming(slow: Slow) -> Iterator[Iterator[str]]:
    """A sweep that has begun and is in its long chunk. -> the lines of its stream from there."""
    with (
        httpx.Client(base_url=slow.url, timeout=60, **LOCAL) as http,
        http.stream("POST", "/v1/patch_sweep", json=LONG) as answer,
    ):
        lines = (line for line in answer.iter_lines() if line.startswith("data: "))
        assert json.loads(next(lines)[6:])["type"] == "start"
        for _ in range(20):
            assert json.loads(next(lines)[6:])["type"] == "cell"
        yield lines


def states(directory: Path) -> list[tuple[str, str]]:
    """What the file itself says, before any other server has opened it."""
    with sqlite3.connect(directory / FILE_NAME) as file:
        found = file.execute("SELECT state, error FROM sweeps").fetchall()
    file.close()
    return found


def events(lines: Iterator[str]) -> list[Any]:
    return [line[6:] if line == "data: [DONE]" else json.loads(line[6:]) for line in lines]


def test_07_sigterm_during_a_sweep_ends_within_five_seconds_and_says_interrupted(
    tmp_path: Path,
) -> None:
    with slow_server(tmp_path / "data", tmp_path / "log") as slow, streaming(slow) as lines:
        status, seconds = slow.end(signal.SIGTERM)
        *_, last = events(lines)
    assert (status, seconds < 5) == (0, True), seconds
    assert (last["type"], last["state"]) == ("error", "interrupted")
    assert "shutting down" in last["error"]
    [(state, error)] = states(tmp_path / "data")
    assert state == "interrupted"
    assert "shutting down" in error
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_07_a_sweep_that_is_answered_at_once_is_a_503_that_says_so(tmp_path: Path) -> None:
    with (
        slow_server(tmp_path / "data", tmp_path / "log") as slow,
        streaming(slow),
        httpx.Client(base_url=slow.url, timeout=60, **LOCAL) as http,
        ThreadPoolExecutor(1) as asking,
    ):
        body = SWEEP | {"source_run": "b"}
        asked = asking.submit(http.post, "/v1/patch_sweep", json=body)
        while len(http.get("/v1/patch_sweep").json()["sweeps"]) < 2:
            time.sleep(0.01)
        slow.end(signal.SIGTERM)
        answer = asked.result()
    assert answer.status_code == 503
    assert "shutting down" in answer.json()["error"]
    assert [state for state, _ in states(tmp_path / "data")] == ["interrupted"] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("signals", "status"),
    [
        ((signal.SIGTERM, signal.SIGINT, signal.SIGINT), 0),
        ((signal.SIGINT, signal.SIGTERM, signal.SIGTERM), 130),
        ((signal.SIGTERM, signal.SIGTERM), 0),
    ],
)
@pytest.mark.parametrize("pause", [0.0, 0.3])
def test_07_several_signals_end_it_at_once_with_a_status_and_a_true_history(
    tmp_path: Path, signals: tuple[int, ...], status: int, pause: float
) -> None:
    with slow_server(tmp_path / "data", tmp_path / "log") as slow, streaming(slow):
        ended, seconds = slow.end(*signals, pause=pause)
    assert ended == status or (pause == 0 and ended in (0, 130)), "two at once may change places"
    assert seconds < 5
    assert [state for state, _ in states(tmp_path / "data")] == ["interrupted"]


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0.0, 0.1, 0.5, 1.0])
def test_07_an_idle_server_ends_with_a_status_whenever_further_signals_come(
    tmp_path: Path, pause: float
) -> None:
    """Also while Python puts its things away, after the server itself has ended."""
    with slow_server(tmp_path / "data", tmp_path / "log") as slow:
        status, _ = slow.end(signal.SIGTERM, *[signal.SIGINT] * 5, pause=pause)
    assert status in (0, 130)


@pytest.mark.slow
def test_07_a_long_text_keeps_no_server_from_ending(tmp_path: Path) -> None:
    """With a real model: Python would take seconds to put away what it has loaded."""
    model = save_tiny_model(tmp_path / "model")
    text = "The city of Paris is 12 " * 150_000
    with (
        serve(model, tmp_path / "data", tmp_path / "log") as server,
        ThreadPoolExecutor(1) as asking,
    ):
        asked = asking.submit(server.http.post, "/tokenize", json={"prompt": text})
        threads = psutil.Process(server.process.pid).num_threads
        before = threads()
        while threads() == before and not asked.done():
            time.sleep(0.01)
        status, seconds = Slow(server.process, "").end(signal.SIGTERM)
        answer = asked.result()
    assert (status, seconds < 5) == (0, True), seconds
    assert answer.status_code in (200, 503), "answered in time, or told"
