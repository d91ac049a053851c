import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonde.cli.finding import analysed
from sonde.cli.watch import screen
from tests.cli.shell import refusal, sonde
from tests.programs import PATIENCE
from tests.runs.analytics.made import Made, made_run


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    monkeypatch.setenv("AEGIR_P5_OUTPUT_DIR", str(tmp_path / "runs"))
    return made_run(tmp_path / "runs" / "own", steps=3)


def test_once_is_one_picture_without_colour_in_a_pipe(made: Made) -> None:
    said = sonde("watch", "--once")
    assert said.exit_code == 0, said.output
    assert "own" in said.stdout.splitlines()[0]
    assert "steps 1 to 3" in said.stdout
    assert "\x1b" not in said.stdout
    assert "mean, steps" in sonde("watch", "--once", "--mean").stdout


def test_no_run_is_one_line(tmp_path: Path) -> None:
    said = refusal(sonde("watch", "--once", "--output-dir", tmp_path / "none"))
    assert "there are no runs" in said


class Terminal:
    """`sonde watch` in a terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sonde", "watch", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "40"},
            start_new_session=True,
        )
        os.close(theirs)
        self.said = ""

    def until(self, text: str, seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while text not in self.said:
            assert time.monotonic() < deadline, self.said[-2000:]
            self._read(0.2)

    def ended(self) -> int:
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.said[-2000:]
            self._read(0.05)
        self._read(0)
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def _read(self, seconds: float) -> None:
        if select.select([self._ours], [], [], seconds)[0]:
            try:
                self.said += os.read(self._ours, 65536).decode()
            except OSError:  # the other end is gone
                time.sleep(0.01)


@pytest.fixture
def terminal(made: Made) -> Iterator[Terminal]:
    terminal = Terminal("--every", "0.1")
    yield terminal
    terminal.close()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_follows_the_run_and_gives_the_terminal_back(
    terminal: Terminal, made: Made, number: signal.Signals, status: int
) -> None:
    terminal.until("step 3 ")
    assert "\x1b[?1049h" in terminal.said
    line = made.layout.live.read_bytes().splitlines()[0]
    with made.layout.live.open("ab") as live:
        live.write(
            line.replace(b'"step": 1', b'"step": 9').replace(b'"step":1', b'"step":9') + b"\n"
        )
    terminal.until("step 9 ")
    terminal.process.send_signal(number)
    assert terminal.ended() == status
    after = terminal.said.rpartition("\x1b[?1049l")[2]
    assert "reconstruction loss" in after, "the last picture stays"
    assert terminal.said.rstrip().endswith("\x1b[?25h")
    assert "Traceback" not in terminal.said


def asked_without_end(run: Made, number: signal.Signals) -> None:
    """A query that takes hours, and a signal in the middle of it."""
    soon = threading.Timer(0.2, signal.raise_signal, [number])
    with analysed(run.layout) as (_, connection), screen():
        soon.start()
        connection.execute("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b")


@pytest.mark.parametrize(
    ("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_a_signal_during_a_query_ends_it_like_any_other(
    made: Made, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, raised: type[BaseException]
) -> None:
    """DuckDB would make a plain error of it, and people would see a traceback."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    with pytest.raises(raised):
        asked_without_end(made, number)
