"""A gateway as users run it, under more than usual: crowds, stalled clients, kills, signals."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from benchmarks.stream import health_times

from sonde.runs.hub import LEAVE_SECONDS
from tests.local import LOCAL
from tests.runs.trainer import Trainer
from tests.server.listening import STREAM, Page, gateway_process
from tests.server.test_stream_faults import asking

pytestmark = pytest.mark.slow


def received(connected: socket.socket, count: int, seconds: float = 120) -> int:
    """Read until so many records have come. -> how many came"""
    connected.settimeout(seconds)
    found, rest = 0, b""
    while found < count:
        data = connected.recv(2**20)
        if not data:
            break
        rest += data
        found += rest.count(b'"token_index"')
        rest = rest[-12:]
    return found


def big_run(trainer: Trainer, records: int) -> None:
    """A run with history: the same few lines again and again, because making them takes longest."""
    lines = b"".join(trainer.line(number) for number in range(2000))
    trainer.layout.segments.mkdir()
    with trainer.layout.segment(1).open("wb") as file:
        for _ in range(records // 2000):
            file.write(lines)


def test_s11_a_hundred_that_never_read_cost_bounded_memory_and_nobody_else(
    trainer: Trainer,
) -> None:
    trainer.write(1)
    with gateway_process(trainer.layout.directory) as (url, process), ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(asking(url, buffer=4096))
        healthy, slow = asking(url), asking(url, buffer=4096)
        stack.enter_context(healthy)
        stack.enter_context(slow)
        sizes = []
        for _ in range(12):
            trainer.write(20_000)  # 4 MB: soon more than all buffers of a connection hold
            assert received(healthy, 20_000) >= 19_999
            sizes.append(process.memory_info().rss)
        assert max(sizes[6:]) - sizes[5] < 16 * 2**20
        assert received(slow, trainer.written) == trainer.written  # the slow one lost nothing


def test_s13_a_long_replay_keeps_nobody_waiting(trainer: Trainer) -> None:
    big_run(trainer, 1_000_000)
    with gateway_process(trainer.layout.directory) as (url, process), health_times(url) as took:
        with asking(url, f"{STREAM}?from=start") as replay:
            assert received(replay, 1_000_000) == 1_000_000
        assert process.memory_info().rss < 200 * 2**20
    assert len(took) > 10
    assert sorted(took)[len(took) // 2] < 0.5  # on a busy machine; the benchmark measures it


def test_a_thousand_listeners_all_get_everything(trainer: Trainer) -> None:
    trainer.write(1)
    with gateway_process(trainer.layout.directory) as (url, process), ExitStack() as stack:
        crowd = [asking(url) for _ in range(1000)]
        for connected in crowd:
            stack.enter_context(connected)
        for connected in crowd:
            assert received(connected, 1) == 1
        for step in range(1, 6):
            trainer.write(100)
            trainer.rotate(step)
        for connected in crowd:
            assert received(connected, 500) == 500
        health = httpx.get(f"{url}/api/p5/health", timeout=60, **LOCAL).json()
        assert health["listeners"] == 1000
        assert process.memory_info().rss < 400 * 2**20


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def test_s14_gateways_are_killed_and_pages_come_back_by_themselves(trainer: Trainer) -> None:
    port, over = free_port(), threading.Event()

    def write() -> None:
        step = 0
        while not over.is_set():
            step += 1
            for _ in range(20):
                trainer.write(10)
                time.sleep(0.005)
            trainer.rotate(step)
        trainer.write(1)

    trainer.write(1)
    writing = threading.Thread(target=write)
    url = f"http://127.0.0.1:{port}"
    with ExitStack() as stack:
        pages = [Page(url, f"{STREAM}?from=start"), Page(url, f"{STREAM}?from=start&batch=7")]
        for page in pages:
            stack.enter_context(page)
        writing.start()
        for _ in range(3):
            with gateway_process(trainer.layout.directory, port) as (_, process):
                for page in pages:
                    page.has(len(page.numbers) + 300)
                process.kill()
        over.set()
        writing.join()
        with gateway_process(trainer.layout.directory, port):
            for page in pages:
                page.has(trainer.written)
    for page in pages:
        assert page.numbers == list(range(trainer.written))
        assert page.connections >= 4


@pytest.mark.parametrize("stalled", [0, 20])
def test_sigterm_with_open_streams_ends_soon_and_well_and_listeners_resume(
    trainer: Trainer, stalled: int
) -> None:
    trainer.write(20_000)
    port = free_port()
    with Page(f"http://127.0.0.1:{port}", f"{STREAM}?from=start") as page, ExitStack() as stack:
        with gateway_process(trainer.layout.directory, port) as (url, process):
            for _ in range(stalled):
                stack.enter_context(asking(url, buffer=4096))
            page.has(20_000)
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        trainer.write(10)
        with gateway_process(trainer.layout.directory, port):
            page.has(20_010)
    assert page.numbers == list(range(20_010))


def test_a_stop_takes_less_than_five_seconds_by_its_own_clock() -> None:
    from sonde.server.app import STOP_SECONDS
    from sonde.server.jobs import CHUNK_SECONDS
    from sonde.server.serving import ANSWERS_SECONDS, HURRY_SECONDS, LAST_SECONDS

    assert LEAVE_SECONDS < ANSWERS_SECONDS
    assert STOP_SECONDS + CHUNK_SECONDS < ANSWERS_SECONDS < LAST_SECONDS
    assert LAST_SECONDS + HURRY_SECONDS <= 4.5, "five with all that a busy machine adds"


def test_the_contracts_own_smoke_test_works_as_written_but_for_the_port(trainer: Trainer) -> None:
    trainer.write(30)
    trainer.snapshot(50, 2)
    with gateway_process(trainer.layout.directory) as (url, _):
        rows = shell(f"curl -s {url}/api/p5/runs")
        assert json.loads(rows)["count"] == 1
        lines = shell(f"curl -sN {url}/api/p5/sae/stream | head -20").splitlines()
    assert len(lines) == 20
    assert sum(line.startswith("data: ") for line in lines) >= 4


def shell(command: str) -> str:
    environment = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=60, env=environment
    )
    return done.stdout


def test_the_gateway_needs_no_torch(trainer: Trainer) -> None:
    with gateway_process(trainer.layout.directory) as (_, process):
        loaded = {Path(mapped.path).name for mapped in process.memory_maps()}
    assert not any("torch" in name for name in loaded)
    program = "import sonde.server.serving, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
