"""What can go wrong between a trainer and a listener, over a real connection.

The faults are those of `tests/runs/test_tail.py` and more; here they happen while a gateway serves.
"""

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from sonde.runs import hub
from tests.local import LOCAL
from tests.runs.trainer import Trainer
from tests.server.listening import STREAM, Page, gateway


@pytest.fixture
def url(trainer: Trainer) -> Iterator[str]:
    with gateway(trainer.layout.directory, heartbeat_seconds=0.1) as url:
        yield url


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is noticed by the clock, beats that are due and clients that left, is noticed soon."""
    monkeypatch.setattr(hub, "WATCH_SECONDS", 0.05)


@pytest.mark.usefixtures("soon")
def test_s1_half_a_line_waits_and_hearts_beat_meanwhile(trainer: Trainer, url: str) -> None:
    trainer.write(1)
    with Page(url) as page:
        page.has(1)
        trainer.tear()
        page.until(lambda page: len(page.named("heartbeat")) >= 2)
        assert page.numbers == [0]
        trainer.mend()
        page.has(2)
    assert page.numbers == [0, 1]
    assert (page.comments, page.connections) == ([], 1)


def test_s3_truncated_then_shorter(trainer: Trainer, url: str) -> None:
    trainer.write(200)
    with Page(url) as page:
        page.has(200)
        trainer.truncate()
        trainer.write(50)
        page.has(250)
    assert page.numbers == list(range(250))
    assert "truncated" in page.named("source")[-1]["reason"]


def test_s3_truncated_and_the_same_again(trainer: Trainer, url: str) -> None:
    """A run that begins anew with the same seed is not taken for one that went on."""
    trainer.write(200)
    with Page(url) as page:
        page.has(200)
        trainer.truncate()
        page.until(lambda page: len(page.named("source")) == 2)
        trainer.written = 0
        trainer.write(50)
        page.has(250)
    assert page.numbers == [*range(200), *range(50)]


def test_s5_replaced_with_unread_lines(trainer: Trainer, url: str) -> None:
    trainer.write(10)
    with Page(url) as page:
        page.has(10)
        trainer.write(500)
        trainer.replace(5)
        page.has(515)
    assert page.numbers == list(range(515))
    assert len(page.named("source")) == 2


def test_s6_rotations_under_load(trainer: Trainer, url: str) -> None:
    trainer.write(1)

    def write() -> None:
        for step in range(1, 31):
            for _ in range(10):
                trainer.write(10)
            trainer.rotate(step)

    with Page(url) as head:
        head.has(1)
        writing = threading.Thread(target=write)
        writing.start()
        with Page(url, f"{STREAM}?from=start") as late:
            writing.join()
            for page in (head, late):
                page.has(3001)
                assert page.numbers == list(range(3001))
                assert len(page.named("source")) == 1


def test_s7_deleted_and_made_again_later(trainer: Trainer, url: str) -> None:
    trainer.write(10)
    with Page(url) as page:
        page.has(10)
        trainer.write(5)
        trainer.layout.live.unlink()
        page.until(lambda page: page.named("idle"))
        trainer.write(5)
        page.has(20)
    assert page.numbers == list(range(20))
    assert len(page.named("idle")) <= 2


def test_s8_bad_lines_among_good(trainer: Trainer, url: str) -> None:
    trainer.write(1)
    bad = [b"not json", b'{"a":NaN}', b'{"a":1', b'{"a":1}{"b":2}', b"[1]"]
    offset = trainer.layout.live.stat().st_size
    trainer.append(b"\n".join(bad) + b"\n\n\n")
    trainer.write(1)
    with Page(url) as page:
        page.has(2)
        health = httpx.get(f"{url}/api/p5/health", **LOCAL).json()
    assert page.numbers == [0, 1]
    assert len(page.comments) == len(bad)
    assert f"byte {offset} " in page.comments[0]
    [run] = health["runs"]
    assert run["bad_lines"] == len(bad)
    assert [line["offset"] for line in run["first_bad_lines"]][0] == offset
    assert {line["fault"] for line in run["first_bad_lines"]} == {"not JSON", "not one object"}


def test_s10_a_line_longer_than_any_buffer(trainer: Trainer, url: str) -> None:
    trainer.write(1)
    with Page(url) as page:
        page.has(1)
        for _ in range(60):
            trainer.append(b"x" * 2**20)
        trainer.append(b"\n")
        trainer.write(1)
        page.has(2)
    assert page.numbers == [0, 1]
    assert "too long" in page.comments[0]


def test_s14_cut_off_again_and_again(trainer: Trainer, url: str) -> None:
    over = threading.Event()

    def write() -> None:
        for step in range(1, 16):
            for _ in range(20):
                trainer.write(5)
                time.sleep(0.001)
            trainer.rotate(step)
        over.set()

    trainer.write(1)
    with Page(url, f"{STREAM}?from=start") as page:
        threading.Thread(target=write).start()
        while not over.is_set() or page.connections <= 3:
            page.hang_up()
            time.sleep(0.01)
        page.has(1501)
    assert page.numbers == list(range(1501))


def reference_run(directory: Path) -> Trainer:
    """Six keys, empty snapshots, everything in the live file, no companions."""
    trainer = Trainer(directory)
    trainer.write(30)
    for step in (50, 100):
        trainer.snapshot(step, 0)
        trainer.layout.metadata(step).write_text(json.dumps({"run_id": "x"}))
    return trainer


def test_a_run_of_the_reference_is_served_as_far_as_its_files_allow(tmp_path: Path) -> None:
    trainer = reference_run(tmp_path / "p5")
    with gateway(tmp_path / "p5") as url:
        with Page(url, f"{STREAM}?include=generation,metrics,health") as page:
            page.has(30)
            trainer.write(5)
            page.has(35)
        rows = httpx.get(f"{url}/api/p5/runs", **LOCAL).json()
        runs = httpx.get(f"{url}/api/runs", **LOCAL).json()
    assert page.numbers == list(range(35))
    assert [row["n_sae_records"] for row in rows["rows"]] == [0, 0]
    assert runs["runs"][0]["missing"] == [
        "run.json",
        "generations.jsonl",
        "grpo_metrics.jsonl",
        "sae_health.jsonl",
    ]


def asking(url: str, path: str = STREAM, buffer: int | None = None) -> socket.socket:
    """A bare connection that has asked for a stream."""
    at = urlsplit(url)
    connected = socket.socket()
    if buffer is not None:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    connected.connect((at.hostname, at.port))
    connected.sendall(f"GET {path} HTTP/1.1\r\nHost: {at.netloc}\r\n\r\n".encode())
    return connected


@pytest.mark.usefixtures("soon")
def test_listeners_leave_nothing_behind(trainer: Trainer, url: str) -> None:
    trainer.write(1)
    with Page(url) as page:
        page.has(1)
    page.until(lambda _page: not listeners(url))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(2):
        sockets = [asking(url) for _ in range(20)]
        page.until(lambda _page: listeners(url) == 20)
        for connected in sockets:
            connected.close()
        page.until(lambda _page: not listeners(url))
    assert len(os.listdir("/proc/self/fd")) <= before + 5


def listeners(url: str) -> int:
    found: int = httpx.get(f"{url}/api/p5/health", **LOCAL).json()["listeners"]
    return found
