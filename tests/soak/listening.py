"""Listeners of a soak: each record once and in order, whatever becomes of the server."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx

from tests.local import LOCAL
from tests.soak.ledger import Ledger

STREAM = "/api/p5/sae/stream"


@dataclass
class Listener:
    """Comes back with the last id whenever the connection is lost."""

    url: str
    batch: int
    ledger: Ledger
    stop: threading.Event
    next: int = 0
    """The record that must come now."""
    connections: int = 0
    _last: str | None = field(default=None)

    def run(self) -> None:
        """Until told to stop."""
        timeout = httpx.Timeout(10, read=30)  # a heartbeat comes every ten seconds
        with httpx.Client(base_url=self.url, timeout=timeout, **LOCAL) as http:
            while not self.stop.is_set():
                try:
                    self._connect(http)
                except httpx.TransportError:
                    time.sleep(0.05)

    def _connect(self, http: httpx.Client) -> None:
        headers = {"Last-Event-ID": self._last} if self._last else {}
        params = {"from": "start", "batch": str(self.batch)}
        with http.stream("GET", STREAM, params=params, headers=headers) as answer:
            if answer.status_code != 200:
                time.sleep(0.05)
                return
            self.connections += 1
            for name, data, id in _events(answer.iter_lines()):
                self._hear(name, data)
                self._last = id or self._last
                if self.stop.is_set():
                    return

    def _hear(self, name: str, data: str) -> None:
        if name == "source" and "reason" in json.loads(data):
            self.ledger.fault(f"a listener was told of another source: {data[:300]}")
        if name != "message":
            return
        found = json.loads(data)
        for record in found if isinstance(found, list) else [found]:
            if record["token_index"] != self.next:
                self.ledger.fault(f"record {record['token_index']} came, {self.next} was next")
            self.next = record["token_index"] + 1


def _events(lines: Iterator[str]) -> Iterator[tuple[str, str, str | None]]:
    """Name, data and id; what is not ended by a blank line never was."""
    name, data, id = "message", "", None
    for line in lines:
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                yield name, data, id
            name, data = "message", ""
        elif key == "event":
            name = value
        elif key == "data":
            data += value
        elif key == "id":
            id = value
