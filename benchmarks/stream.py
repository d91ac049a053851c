"""How soon and how fast records reach listeners, beside the reference's way and a plain download.

    python -m benchmarks.stream            # four minutes; writes out/benchmarks/stream.json
    python -m benchmarks.stream replay     # only that part, kept beside the others
    python -m benchmarks.stream --quick    # half a minute, for a first look; writes nothing

Each measurement is of two or three servers, one after the other, in one run on one machine:
`sonde` is `sonde serve`; `reference` reads the file for each listener every half second;
`download` sends the same file and nothing else. Read the ratios: the times are this machine's.
"""

import argparse
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from benchmarks.machine import kept, write
from benchmarks.stream_load import LAST, LENGTH, Crowd, Lines, fill, percentile, write_at

LIVE = "sae_features.live.jsonl"
STREAM = "/api/p5/sae/stream"
processes = multiprocessing.get_context("spawn")

Row = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """How much of everything."""

    seconds: float = 5.0
    replayed: int = 2_000_000
    thousand: bool = True
    poured: int = 1_000_000


@dataclass(frozen=True)
class Served:
    """A server that runs, and the file it serves."""

    url: str
    process: psutil.Process
    live: Path
    startup_seconds: float

    def cpu(self) -> float:
        """Seconds of processor time so far."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def serving(kind: str, directory: Path) -> Iterator[Served]:
    """Start `sonde` or `reference` over a directory."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = {
        "sonde": ["sonde", "serve", "--output-dir", str(directory), "--port", port],
        "reference": ["benchmarks.stream_reference", str(directory), port],
    }[kind]
    began, url = time.perf_counter(), f"http://127.0.0.1:{port}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-m", *command], **quiet) as process:  # type: ignore[call-overload]
        try:
            until_it_answers(url)
            startup = time.perf_counter() - began
            yield Served(url, psutil.Process(process.pid), directory / LIVE, startup)
        finally:
            process.kill()


def until_it_answers(url: str) -> None:
    """Wait for a server."""
    while True:
        try:
            httpx.get(f"{url}/health", trust_env=False)
        except httpx.ConnectError:
            time.sleep(0.005)
        else:
            return


@contextmanager
def fresh(kind: str) -> Iterator[Served]:
    """A server over a new directory whose live file has a few records."""
    directory = Path(tempfile.mkdtemp())
    (directory / LIVE).write_bytes(Lines().take(10))
    try:
        with serving(kind, directory) as server:
            yield server
    finally:
        shutil.rmtree(directory)


@contextmanager
def health_times(url: str) -> Iterator[list[float]]:
    """How long `/health` takes, asked every 20 ms."""
    took: list[float] = []
    over = threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=url, trust_env=False, timeout=120) as http:
            while not over.wait(0.02):
                began = time.perf_counter()
                http.get("/health")
                took.append(time.perf_counter() - began)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield took
    finally:
        over.set()
        thread.join()


def milliseconds(values: list[float], share: float) -> float | None:
    """A percentile; null where there is nothing to take it of."""
    return round(1000 * percentile(values, share), 3) if values else None


def hear(
    url: str, listeners: int, ready: Any, results: Any, until: int | None, wait: float
) -> None:
    """In a process of its own: a crowd that listens and says what it heard."""
    crowd = Crowd(url, listeners)
    time.sleep(1.0)  # what was there before has arrived
    ready.put(True)
    heard = crowd.listen(until=until, timeout=wait)
    results.put((heard.records, heard.octets, heard.ages, time.time()))
    crowd.close()


def latency(kind: str, listeners: int, rate: int, seconds: float) -> Row:
    """Append at a rate; how old is a record when it is received?"""
    ready, results = processes.Queue(), processes.Queue()
    with fresh(kind) as server, health_times(server.url) as health:
        arguments = (server.url, listeners, ready, results, None, seconds + 3)
        ears = processes.Process(target=hear, args=arguments)
        ears.start()
        ready.get()
        health.clear()
        writer = processes.Process(target=write_at, args=(server.live, rate, seconds))
        writer.start()
        time.sleep(1.0)  # until it writes
        cpu, began = server.cpu(), time.perf_counter()
        writer.join()
        used = (server.cpu() - cpu) / (time.perf_counter() - began)
        records, _, ages, _ = results.get()
        ears.join()
        memory = server.process.memory_info().rss
    return {
        "server": kind,
        "listeners": listeners,
        "records_per_second": rate,
        "received_by_the_first": records,
        "p50_ms": milliseconds(ages, 0.5),
        "p99_ms": milliseconds(ages, 0.99),
        "cpu_percent": round(100 * used),
        "health_p99_ms": milliseconds(health, 0.99),
        "memory_mib": memory >> 20,
    }


def received(url: str, path: str) -> float:
    """Ask for a file or a stream and read it. -> seconds until its last record was there"""
    host, port = url.removeprefix("http://").split(":")
    mark = f'"step": {LAST}'.encode()
    with socket.create_connection((host, int(port))) as connected:
        connected.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        began, tail = time.perf_counter(), b""
        buffer = bytearray(2**20)
        view = memoryview(buffer)
        while mark not in tail:
            size = connected.recv_into(buffer)
            tail = tail[-2000:] + bytes(view[max(0, size - 2000) : size])
        return time.perf_counter() - began


def replay(directory: Path, count: int) -> list[Row]:
    """A run of `count` records to one new listener, and `/health` meanwhile."""
    fill(directory / LIVE, count)
    rows = []
    ways = [
        ("download", "reference", "/file"),
        ("sonde", "sonde", STREAM),
        ("sonde, batch=1000", "sonde", f"{STREAM}?batch=1000"),
        ("sonde, NDJSON", "sonde", "/api/p5/sae/records"),
        ("reference", "reference", STREAM),
    ]
    for name, kind, path in ways:
        with serving(kind, directory) as server, health_times(server.url) as health:
            time.sleep(0.5)
            health.clear()
            seconds = received(server.url, path)
            worst = milliseconds(health, 0.99) or round(1000 * seconds, 1)
            rows.append({"server": name, "seconds": round(seconds, 2), "health_p99_ms": worst})
    return rows


def stalled(kind: str, count: int, seconds: float) -> Row:
    """So many that never read beside one that does, at 5 MB/s."""
    ready, results = processes.Queue(), processes.Queue()
    with fresh(kind) as server, health_times(server.url) as health:
        crowd = Crowd(server.url, count)
        arguments = (server.url, 1, ready, results, None, seconds + 3)
        ears = processes.Process(target=hear, args=arguments)
        ears.start()
        ready.get()
        health.clear()
        before = server.process.memory_info().rss
        writer = processes.Process(target=write_at, args=(server.live, 10_000, seconds, 10))
        writer.start()
        writer.join()
        _, _, ages, _ = results.get()
        ears.join()
        grown = server.process.memory_info().rss - before
        crowd.close()
    return {
        "server": kind,
        "stalled_listeners": count,
        "healthy_p50_ms": milliseconds(ages, 0.5),
        "healthy_p99_ms": milliseconds(ages, 0.99),
        "health_p99_ms": milliseconds(health, 0.99),
        "memory_grown_mib": grown >> 20,
    }


def pour(path: Path, count: int) -> None:
    """Append as fast as a process can."""
    block = Lines().take(200)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    for _ in range(count // 200):
        os.write(descriptor, block)
    os.close(descriptor)


def throughput(kind: str, listeners: int, count: int) -> Row:
    """The highest rate that reaches listeners while it is written."""
    ready, results = processes.Queue(), processes.Queue()
    with fresh(kind) as server:
        ears = processes.Process(
            target=hear, args=(server.url, listeners, ready, results, count, 300)
        )
        ears.start()
        ready.get()
        cpu, began = server.cpu(), time.time()
        writer = processes.Process(target=pour, args=(server.live, count))
        writer.start()
        _, octets, _, ended = results.get()
        cpu = server.cpu() - cpu
        writer.join()
        ears.join()
    seconds = ended - began
    return {
        "server": kind,
        "listeners": listeners,
        "records_per_second_each": round(count / seconds),
        "mib_per_second_in_all": round(octets / seconds / 2**20),
        "cpu_percent": round(100 * cpu / seconds),
    }


def ratios(rows: list[Row], key: str, same: Callable[[Row], object]) -> None:
    """Beside each of ours, how it compares with the reference's."""
    theirs = {same(row): row[key] for row in rows if row["server"] == "reference"}
    for row in rows:
        other = theirs.get(same(row))
        if row["server"].startswith("sonde") and other and row[key]:
            row[f"reference_{key}_ratio"] = round(other / row[key], 2)


def show(title: str, rows: list[Row]) -> None:
    """Print as measured."""
    print(f"\n{title}")
    for row in rows:
        print("  " + ", ".join(f"{key} {value}" for key, value in row.items()))


def measured_latency(plan: Plan) -> list[Row]:
    """From append to receipt."""
    cases = [(1, 1_000), (10, 1_000), (100, 1_000), (1, 10_000), (100, 10_000)]
    rows = [
        latency(kind, count, rate, plan.seconds)
        for count, rate in cases
        for kind in ("sonde", "reference")
    ]
    if plan.thousand:
        rows.append(latency("sonde", 1_000, 1_000, plan.seconds))
    for key in ("p50_ms", "p99_ms"):
        ratios(rows, key, lambda row: (row["listeners"], row["records_per_second"]))
    return rows


def measured_stalled(plan: Plan) -> list[Row]:
    """Beside many that never read, and beside nobody."""
    cases = [("sonde", 0), ("sonde", 100), ("reference", 100)]
    return [stalled(kind, count, plan.seconds) for kind, count in cases]


def measured_throughput(plan: Plan) -> list[Row]:
    """As fast as it goes."""
    return [
        throughput(kind, count, plan.poured if count == 1 else plan.poured // 40)
        for count in (1, 100)
        for kind in ("sonde", "reference")
    ]


def measured_replay(plan: Plan) -> list[Row]:
    """A long file to one new listener."""
    directory = Path(tempfile.mkdtemp())
    try:
        rows = replay(directory, plan.replayed)
    finally:
        shutil.rmtree(directory)
    download = next(row["seconds"] for row in rows if row["server"] == "download")
    ratios(rows, "seconds", lambda _row: 0)
    for row in rows:
        row["of_a_download"] = round(row["seconds"] / download, 2)
    return rows


def measured_startup(_plan: Plan) -> list[Row]:
    """From the command line to the first answer, five times."""
    rows = []
    for _ in range(5):
        with fresh("sonde") as server:
            seconds = round(server.startup_seconds, 2)
            rows.append({"seconds": seconds, "cpu_seconds": round(server.cpu(), 2)})
    return sorted(rows, key=lambda row: row["seconds"])


PARTS: dict[str, Callable[[Plan], list[Row]]] = {
    "latency": measured_latency,
    "stalled": measured_stalled,
    "throughput": measured_throughput,
    "replay": measured_replay,
    "startup": measured_startup,
}


def main() -> None:
    """Measure, show, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="less of everything; keep nothing")
    options = parser.parse_args()
    unknown = sorted(set(options.parts) - set(PARTS))
    if unknown:
        parser.error(f"{unknown[0]!r} is none of {', '.join(PARTS)}")
    small = Plan(seconds=2.0, replayed=200_000, thousand=False, poured=100_000)
    found: dict[str, Any] = {"record_bytes": LENGTH}
    for part in options.parts or PARTS:
        found[part] = PARTS[part](small if options.quick else Plan())
        show(part, found[part])
    if not options.quick:
        write("stream", measured() | found)


def measured() -> dict[str, Any]:
    """What was measured before, so that one part alone does not take the others away."""
    before = kept("stream")
    return {part: before[part] for part in PARTS if part in before}


if __name__ == "__main__":
    main()
