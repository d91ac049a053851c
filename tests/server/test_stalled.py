"""Clients that take nothing are let go; slow ones are not."""

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from sonde.server import serving
from sonde.server.serving import Server, bind, listen, url_of
from sonde.server.stalled import StalledClients, bytes_taken
from tests.local import LOCAL
from tests.scripted import Scripted
from tests.server.talking import SWEEP, parts_over


class Client:
    """A connection with a client that takes what it is told to."""

    def __init__(self) -> None:
        self.waiting, self.aborted = 100, False

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def abort(self) -> None:
        self.aborted = True


def test_10_a_client_that_takes_nothing_for_too_long_is_let_go() -> None:
    stalled, client = StalledClients(60), Client()
    assert stalled.cut([client], 0) == 0
    assert stalled.cut([client], 59) == 0
    assert stalled.cut([client], 60) == 1
    assert client.aborted


def test_a_client_that_takes_a_little_now_and_then_is_served_for_as_long_as_it_takes() -> None:
    stalled, client = StalledClients(60), Client()
    for minute in range(50):
        assert stalled.cut([client], 50.0 * minute) == 0
        client.waiting -= 1
    client.waiting = 0
    assert stalled.cut([client], 10_000) == 0, "nothing waits for it"
    assert not client.aborted


class Connected:
    """The same over a real connection; the rest of what was sent waits in the kernel."""

    def __init__(self, held: socket.socket) -> None:
        self.held = held

    def get_write_buffer_size(self) -> int:
        return 1

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.held

    def abort(self) -> None:
        raise AssertionError


def test_the_kernel_says_what_a_client_has_taken() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()) as client,
    ):
        ours, _ = listening.accept()
        with ours:
            transport = Connected(ours)
            before = bytes_taken(transport)
            ours.sendall(b"x" * 1000)
            assert client.recv(1000)
            until(lambda: bytes_taken(transport) != before)


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)


def test_10_a_stalled_reader_of_a_finished_sweep_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "LOOK_TICKS", 1)
    with parts_over(Scripted(), tmp_path, stalled_seconds=0.5) as parts:
        held = bind("127.0.0.1", 0)
        listen(held)
        server = Server(parts)
        thread = threading.Thread(target=server.run, args=([held],), daemon=True)
        thread.start()
        url = url_of(held)
        with httpx.Client(base_url=url, timeout=60, **LOCAL) as http:
            body = SWEEP | {"layers": [0, 1, 2, 3] * 2000}
            done = http.post("/v1/patch_sweep", json=body)
            sweep = done.headers["X-Sweep-Id"]
            size = len(http.get(f"/v1/patch_sweep/{sweep}/events").content)
            assert size > 4 * 2**20, "more than the kernel takes for a client"
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            at = httpx.URL(url)
            client.connect((at.host, at.port))
            path = f"/v1/patch_sweep/{sweep}/events".encode()
            client.sendall(b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % path)
            until(lambda: any(each.get_write_buffer_size() for each in server._transports()))
            until(lambda: not server.server_state.connections)
        server.should_exit = True
        thread.join(20)
        held.close()
