"""A gateway that runs, and clients that listen to it as a browser's EventSource would."""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.server.parts import Gateway, Network
from sonde.server.serving import running_server
from tests.local import LOCAL

STREAM = "/api/p5/sae/stream"


@dataclass
class Event:
    """One event as a browser sees it."""

    name: str
    data: Any
    id: str | None


@contextmanager
def gateway(directory: Path, **network: Any) -> Iterator[str]:
    """A gateway over a directory. -> its URL"""
    with running_server(Gateway(Hub(RunLayout(directory)), Network(**network))) as url:
        yield url


@contextmanager
def gateway_process(directory: Path, port: int = 0) -> Iterator[tuple[str, psutil.Process]]:
    """The same as users start it: a process of its own. -> its URL and the process"""
    command = [sys.executable, "-m", "sonde", "serve", "--output-dir", str(directory)]
    with subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline().decode()
            yield said.split()[3].rstrip(","), psutil.Process(process.pid)
        finally:
            process.kill()


def parsed(lines: Iterator[str]) -> Iterator[Event | str]:
    """Events, and comments as they are; what is not ended by a blank line is dropped."""
    name, data, id = "message", "", None
    for line in lines:
        if line.startswith(":"):
            yield line
        elif not line:
            if data:
                yield Event(name, json.loads(data), id)
            name, data = "message", ""
        else:
            key, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if key == "event":
                name = value
            elif key == "data":
                data += value
            elif key == "id":
                id = value


@dataclass
class Page:
    """Somebody who listens in a thread, and comes back with the last id when cut off."""

    url: str
    path: str = STREAM
    headers: dict[str, str] = field(default_factory=dict)
    reconnects: bool = True
    events: list[Event] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    """Of the records that arrived."""
    comments: list[str] = field(default_factory=list)
    connections: int = 0
    last_id: str | None = None
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _socket: socket.socket | None = None

    def __enter__(self) -> "Page":
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self.hang_up()
        assert self._thread is not None
        self._thread.join(15)
        assert not self._thread.is_alive()

    def hang_up(self) -> None:
        """Lose the connection."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def named(self, name: str) -> list[Any]:
        """What events of this name said."""
        return [event.data for event in list(self.events) if event.name == name]

    def until(self, met: Callable[["Page"], object], seconds: float = 20) -> "Page":
        """Wait for a fact; an error when it does not come about."""
        ends = time.monotonic() + seconds
        while not met(self):
            assert time.monotonic() < ends, (self.numbers[-5:], self.events[-5:], self.comments)
            time.sleep(0.002)
        return self

    def has(self, count: int) -> "Page":
        """Wait for so many records."""
        return self.until(lambda page: len(page.numbers) >= count)

    def _listen(self) -> None:
        with httpx.Client(base_url=self.url, timeout=None, **LOCAL) as http:
            while not self._over.is_set():
                try:
                    self._connect(http)
                except httpx.TransportError:
                    time.sleep(0.01)
                if not self.reconnects:
                    return

    def _connect(self, http: httpx.Client) -> None:
        last = {"Last-Event-ID": self.last_id} if self.last_id else {}
        with http.stream("GET", self.path, headers=self.headers | last) as answer:
            if answer.status_code != 200:
                return
            self._socket = answer.extensions["network_stream"].get_extra_info("socket")
            if self._over.is_set():
                return  # it was told to end before there was a connection to lose
            self.connections += 1
            for found in parsed(_lines(answer)):
                if isinstance(found, str):
                    self.comments.append(found)
                    continue
                if found.name == "message":
                    records = found.data if isinstance(found.data, list) else [found.data]
                    self.numbers += [record["token_index"] for record in records]
                self.events.append(found)
                self.last_id = found.id or self.last_id


def _lines(answer: httpx.Response) -> Iterator[str]:
    """Lines as the format breaks them, and nothing else."""
    rest = b""
    for piece in answer.iter_bytes():
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line.decode() for line in lines)
