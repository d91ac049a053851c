"""A thousand users of one server: where it breaks, and what it says then.

`sonde serve` runs in a process of its own with the default model. Users are tasks of this process,
each with a connection of its own, on the same machine. A user thinks, for a while that is
exponentially distributed; then asks: a small sweep, a short completion, the history, or a page.
Every fourth has a stream of a run open besides. Who is told to come back later does so when the
answer says, five times; then gives up. Meanwhile somebody asks every half second whether the server
is alive.

    python -m benchmarks.thousand_users
"""

import argparse
import asyncio
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from benchmarks.machine import machine, write
from benchmarks.stream_load import fill
from sonde.runs.layout import LIVE_NAME

LEVELS = (1, 10, 100, 300, 600, 1000)
SECONDS = 20.0
THINK = 10.0
"""Seconds between two questions of one user, on average."""
STREAMING = 4
"""One user in so many has a stream of a run open."""
TRIES = 5
LATE = 60.0
"""An answer that takes longer is counted as none."""
PLACES = (
    ("The Eiffel Tower is in the city of", "The Colosseum is in the city of", " Paris"),
    ("The capital of France is", "The capital of Italy is", " Paris"),
)
"""Clean prompt, corrupt prompt, answer: a sweep has two layers and two positions of it."""
KINDS = {"sweep": 0.6, "completion": 0.2, "history": 0.15, "page": 0.05}


class Answer(NamedTuple):
    """What came back."""

    status: int
    retry_after: float
    body: bytes


class Connection:
    """One user's connection, as HTTP/1.1 has it: made when it is needed, and kept."""

    def __init__(self, url: str) -> None:
        self._where = urlsplit(url)
        self._ends: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: Any = None) -> Answer:
        """One question, and its whole answer; again where the server had hung up meanwhile."""
        kept = self._ends is not None
        try:
            reader, _ = await self.send(method, path, body)
            status, headers = await self.head(reader)
        except (OSError, asyncio.IncompleteReadError):
            if not kept:
                raise
            self.close()
            reader, _ = await self.send(method, path, body)
            status, headers = await self.head(reader)
        if headers.get("transfer-encoding") == "chunked":
            content = b"".join([chunk async for chunk in _chunks(reader)])
        else:
            content = await reader.readexactly(int(headers.get("content-length", 0)))
        if headers.get("connection") == "close":
            self.close()
        return Answer(status, float(headers.get("retry-after", 1)), content)

    async def send(
        self, method: str, path: str, body: Any = None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A question, on the connection that there is."""
        if self._ends is None or self._ends[1].is_closing():
            self._ends = await asyncio.open_connection(self._where.hostname, self._where.port)
        text = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self._where.netloc}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
        )
        self._ends[1].write(head.encode() + text)
        await self._ends[1].drain()
        return self._ends

    @staticmethod
    async def head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
        """The status and the headers of an answer."""
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines[1:] if line)
        return int(lines[0].split()[1]), {name.lower(): value.strip() for name, _, value in pairs}

    def close(self) -> None:
        """Hang up."""
        if self._ends is not None:
            self._ends[1].close()
            self._ends = None


async def _chunks(reader: asyncio.StreamReader) -> Any:
    while size := int(await reader.readline(), 16):
        yield await reader.readexactly(size)
        await reader.readline()
    await reader.readline()


@dataclass
class Seen:
    """What the users of one level met with."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    """From the first try to the answer."""
    statuses: Counter[int] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    gave_up: int = 0
    waits: list[float] = field(default_factory=list)
    """What refusals said to wait."""
    said: str | None = None
    """The first refusal."""
    alive: list[float] = field(default_factory=list)
    streams: int = 0


async def user(number: int, url: str, seen: Seen, until: float) -> None:
    """Think, ask, and again."""
    rng = random.Random(number)
    connection = Connection(url)
    stream = asyncio.create_task(_listen(url, seen)) if number % STREAMING == 0 else None
    try:
        await asyncio.sleep(rng.uniform(0, min(THINK, until - time.monotonic())))
        asked = number
        while time.monotonic() < until:
            asked += 1000
            kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
            began = time.monotonic()
            try:
                if await _answered(connection, kind, asked, seen, rng, until):
                    seen.seconds[kind].append(time.monotonic() - began)
            except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
                seen.failures[type(error).__name__] += 1
                connection.close()
            await asyncio.sleep(min(rng.expovariate(1 / THINK), max(0, until - time.monotonic())))
    finally:
        connection.close()
        if stream is not None:
            stream.cancel()
            with suppress(asyncio.CancelledError):
                await stream


async def _answered(
    connection: Connection, kind: str, number: int, seen: Seen, rng: random.Random, until: float
) -> bool:
    """Ask until there is an answer, as often as somebody with patience would."""
    for _ in range(TRIES):
        answer = await asyncio.wait_for(connection.ask(*question(kind, number)), LATE)
        seen.statuses[answer.status] += 1
        if answer.status not in (429, 503):
            if answer.status != 200:
                seen.failures[answer.body.decode(errors="replace")[:300]] += 1
            return answer.status == 200
        seen.said = seen.said or answer.body.decode(errors="replace")
        seen.waits.append(answer.retry_after)
        if time.monotonic() + answer.retry_after > until:
            return False
        await asyncio.sleep(answer.retry_after * rng.uniform(1, 1.5))
    seen.gave_up += 1
    return False


def question(kind: str, number: int) -> tuple[str, str, Any]:
    """Method, path and body."""
    if kind == "sweep":
        clean, corrupt, answer = PLACES[number % len(PLACES)]
        some = {"layers": [20 + number % 5, 25 + number % 5], "positions": [3, 4]}
        body = {"clean": clean, "corrupt": corrupt, "answer": answer, "stream": False}
        return "POST", "/v1/sweeps", body | some
    if kind == "completion":
        return "POST", "/v1/completions", {"prompt": "The capital of", "max_tokens": 4}
    return "GET", "/v1/sweeps?limit=20" if kind == "history" else "/", None


async def _listen(url: str, seen: Seen) -> None:
    """Have a stream open, and let come what comes."""
    connection = Connection(url)
    try:
        reader, _ = await connection.send("GET", "/api/p5/sae/stream?from=live")
        status, _headers = await connection.head(reader)
        seen.streams += status == 200
        while await reader.read(65536):
            pass
    except (OSError, asyncio.IncompleteReadError) as error:
        seen.failures[f"stream: {type(error).__name__}"] += 1
    finally:
        connection.close()


async def _probe(url: str, seen: Seen, until: float) -> None:
    """Is it alive? As a load balancer asks."""
    connection = Connection(url)
    while time.monotonic() < until:
        began = time.monotonic()
        try:
            answer = await asyncio.wait_for(connection.ask("GET", "/ready"), LATE)
            seen.alive.append(time.monotonic() - began)
            seen.failures["not ready"] += answer.status != 200
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            seen.failures["no answer to /ready"] += 1
            connection.close()
        await asyncio.sleep(0.5)
    connection.close()


async def level(users: int, url: str, seconds: float) -> Seen:
    """So many users for a while."""
    seen, until = Seen(), time.monotonic() + seconds
    tasks = [user(number, url, seen, until) for number in range(users)]
    await asyncio.gather(_probe(url, seen, until), *tasks)
    return seen


def summary(users: int, seen: Seen, seconds: float, process: int) -> dict[str, Any]:
    """The level as plain numbers."""
    answered = sum(map(len, seen.seconds.values()))
    return {
        "users": users,
        "answered": answered,
        "per_second": round(answered / seconds, 1),
        "statuses": {str(status): n for status, n in sorted(seen.statuses.items())},
        "failures": {name: n for name, n in seen.failures.items() if n},
        "gave_up": seen.gave_up,
        "seconds": {kind: _spread(each) for kind, each in seen.seconds.items()},
        "alive": _spread(seen.alive),
        "streams_open": seen.streams,
        "told_to_wait": _spread(seen.waits),
        "said": seen.said,
        "server": _state(process),
    }


def _spread(values: list[float]) -> dict[str, float] | None:
    if not values:
        return None
    ordered = sorted(values)
    at = {"half": 0.5, "of 20, 19": 0.95, "all": 1.0}
    last = len(ordered) - 1
    return {name: round(ordered[round(share * last)], 3) for name, share in at.items()}


def _state(process: int) -> dict[str, float]:
    status = Path(f"/proc/{process}/status").read_text()
    [kib] = re.findall(r"VmRSS:\s+(\d+)", status)
    return {"mib": round(int(kib) / 1024), "files": len(os.listdir(f"/proc/{process}/fd"))}


@contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[str, int]]:
    """A server with the default model and a run. -> its address, and the number of its process"""
    run = folder / "runs" / "one"
    run.mkdir(parents=True)
    fill(run / LIVE_NAME, 2000)
    command = [
        sys.executable, "-m", "sonde", "serve", "--model", "smollm2", "--data-dir",
        str(folder / "data"), "--output-dir", str(folder / "runs"), "--port", "0", *options,
    ]  # fmt: skip
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found, (folder / "log").read_text()
            yield found[0], process.pid
        finally:
            process.terminate()


def main() -> None:
    """Ramp up, level by level, and write what was seen."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--levels", type=int, nargs="+", default=list(LEVELS))
    parser.add_argument("--seconds", type=float, default=SECONDS)
    asked = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    found = []
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (url, process):
        for users in asked.levels:
            seen = asyncio.run(level(users, url, asked.seconds))
            found.append(summary(users, seen, asked.seconds, process))
            print(json.dumps(found[-1]), flush=True)
        load = os.getloadavg()[0]
    write("thousand_users", {"machine": machine(), "load": round(load, 1), "levels": found})


if __name__ == "__main__":
    main()
