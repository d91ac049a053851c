"""`kill -9` in the middle of it: what the next server finds, and what it says of it."""

import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from sonde.store.sweep_file import FILE_NAME
from tests.server.contract.asking import SOURCE, SWEEP, Body, stream_lines, strict, summary_of
from tests.server.process import Serve, command, serve
from tests.tiny_model import save_tiny_model

pytestmark = pytest.mark.slow

GENERAL = "/v1/sweeps"

SMALL: Body = {
    "prompt": "The Rome Tower is in the city of",
    "clean_prompt": "The Eiffel Tower is in the city of",
    "source_run": "kept",
    "layers": [0, 1],
    "answer_token": " Paris",
}
ENDLESS = SMALL | {"source_run": "endless", "layers": [0, 1] * 2000, "positions": [2, 3, 4, 5] * 10}
"""A hundred and sixty thousand cells: far longer than it takes to be killed."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """A data directory, whose file is sound in the end, whatever happened."""
    directory = tmp_path / "data"
    yield directory
    with sqlite3.connect(directory / FILE_NAME) as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert file.execute("PRAGMA foreign_key_check").fetchall() == []
        half = "SELECT count(*) FROM sweeps LEFT JOIN results USING (number) WHERE state = ?"
        missing = f"{half} AND summary IS NULL"
        assert file.execute(missing, ("finished",)).fetchone() == (0,)
    file.close()


def history(http: httpx.Client) -> list[dict[str, Any]]:
    page = http.get(SWEEP, params={"limit": 1000}).json()
    assert page["next"] is None
    return list(page["sweeps"])


def events(http: httpx.Client, sweep: str) -> list[dict[str, Any]]:
    with http.stream("GET", f"{SWEEP}/{sweep}/events") as answer:
        return [strict(line) for line in stream_lines(answer) if line != "[DONE]"]


def killed_in_mid_sweep(server: Serve) -> None:
    """Begin an endless sweep, and kill the server when cells have come."""
    with server.http.stream("POST", SWEEP, json=ENDLESS | {"stream": True}) as answer:
        lines = stream_lines(answer)
        assert strict(next(lines))["type"] == "start"
        assert strict(next(lines))["type"] == "cell"
        server.kill()
        with pytest.raises(httpx.TransportError):
            list(lines)


def test_after_kill_9_the_history_is_readable_and_the_interrupted_sweep_says_so(
    model: Path, data: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with serve(model, data, log) as first:
        made = summary_of(first.http, SMALL | {"keep_source": True})
        before = history(first.http)
        told = events(first.http, before[0]["id"])
        killed_in_mid_sweep(first)
    with serve(model, data, log) as second:
        http = second.http
        interrupted, finished = history(http)
        assert finished == before[0]
        record = http.get(f"{SWEEP}/{finished['id']}").json()
        assert record["summary"] == made
        assert events(http, finished["id"]) == told
        exported = http.get(f"{SWEEP}/{finished['id']}/export", params={"format": "csv"})
        assert len(exported.text.splitlines()) == 1 + 16
        assert interrupted["state"] == "interrupted"
        assert "server ended" in interrupted["error"]
        assert interrupted["provenance"]["request"]["source_run"] == "endless"
        assert http.get(f"{SWEEP}/{interrupted['id']}").json()["summary"] is None
        assert http.get(f"{SWEEP}/{interrupted['id']}/export").status_code == 409
        assert http.delete(f"{SWEEP}/{interrupted['id']}").json() == {
            "cancelled": False, "state": "interrupted",
        }  # fmt: skip
        [last] = events(http, interrupted["id"])
        assert (last["type"], last["state"]) == ("error", "interrupted")
        assert http.get(SOURCE).json()["runs"] == [], "source runs are in memory only"
        again = summary_of(http, SMALL)
        assert again["auto_captured"]
        assert again["grid"] == made["grid"]
        second.process.send_signal(signal.SIGTERM)
        assert second.process.wait(30) == 0


def test_after_kill_9_a_general_sweep_is_interrupted_too(
    model: Path, data: Path, tmp_path: Path
) -> None:
    body = {"corrupt": SMALL["prompt"], "clean": SMALL["clean_prompt"], "answer": " Paris"}
    endless = body | {"layers": [0, 1] * 2000, "positions": [2, 3, 4, 5] * 10, "stream": True}
    with serve(model, data, tmp_path / "log") as first:
        made = first.http.post(GENERAL, json=body)
        with first.http.stream("POST", GENERAL, json=endless) as answer:
            lines = stream_lines(answer)
            assert [strict(next(lines))["type"] for _ in range(2)] == ["start", "cell"]
            first.kill()
            with pytest.raises(httpx.TransportError):
                list(lines)
    with serve(model, data, tmp_path / "log") as second:
        interrupted, finished = second.http.get(GENERAL).json()["sweeps"]
        assert (interrupted["state"], interrupted["kind"]) == ("interrupted", "table")
        assert second.http.get(f"{GENERAL}/{finished['id']}").json()["table"] == made.json()
        assert second.http.get(f"{GENERAL}/{interrupted['id']}/export").status_code == 409
        assert '"state":"interrupted"' in second.http.get(
            f"{GENERAL}/{interrupted['id']}/events"
        ).text  # fmt: skip


def test_killed_among_many_short_sweeps_every_one_is_whole_or_interrupted(
    model: Path, data: Path, tmp_path: Path
) -> None:
    answered: list[str] = []
    with serve(model, data, tmp_path / "log") as first, ThreadPoolExecutor(8) as threads:

        def ask(number: int) -> None:
            try:
                answer = first.http.post(SWEEP, json=SMALL | {"source_run": f"run-{number}"})
            except httpx.TransportError:
                return
            answer.raise_for_status()
            answered.append(answer.headers["x-sweep-id"])
            if len(answered) == 25:
                first.kill()

        list(threads.map(ask, range(200)))
    with serve(model, data, tmp_path / "log") as second:
        states = {entry["id"]: entry["state"] for entry in history(second.http)}
        assert set(states.values()) <= {"finished", "interrupted"}
        assert {states[sweep] for sweep in answered} == {"finished"}, "what was answered is kept"
        for sweep, state in states.items():
            kinds = [event["type"] for event in events(second.http, sweep)]
            whole = ["start", *["cell"] * 16, "summary"]
            assert kinds == (whole if state == "finished" else ["error"])


def test_a_second_server_on_the_same_directory_is_refused_in_one_line(
    model: Path, data: Path, tmp_path: Path
) -> None:
    with serve(model, data, tmp_path / "log") as first:
        second = subprocess.run(command(model, data), capture_output=True, text=True, timeout=60)
        assert second.returncode == 2
        assert second.stdout == ""
        (line,) = second.stderr.strip().splitlines()
        assert str(data) in line
        assert str(first.process.pid) in line
        assert "--data-dir" in line
        assert first.http.get("/health").status_code == 200
