"""A server from its parts to its end."""

import json
import signal
import socket
import threading
from pathlib import Path

import httpx
import pytest

from sonde.errors import BadRequest, DataDirectoryInUse, EngineLost
from sonde.schema import ModelDescription
from sonde.server import serving
from sonde.server.serving import (
    Server,
    assemble,
    bind,
    exit_status,
    listen,
    running_server,
    url_of,
)
from sonde.store.sweeps import SweepStore
from tests.local import LOCAL
from tests.scripted import Scripted
from tests.server.talking import SWEEP, parts_over


def test_it_serves_and_leaves_no_thread_no_port_and_no_lock(tmp_path: Path) -> None:
    before = threading.active_count()
    with running_server(assemble(Scripted(), tmp_path)) as url:
        assert httpx.get(f"{url}/health", **LOCAL).status_code == 200
        answer = httpx.post(f"{url}/v1/patch_sweep", json=SWEEP, **LOCAL)
        assert answer.status_code == 200
        with pytest.raises(DataDirectoryInUse):
            SweepStore(tmp_path)
    assert threading.active_count() == before
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/health", **LOCAL)
    store = SweepStore(tmp_path)
    assert [entry.state for entry in store.page(before=None, limit=9).sweeps] == ["finished"]
    store.close()


def test_a_stream_that_is_stopped_ends_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep never ends by itself; stopping cancels it, and its stream says so."""
    monkeypatch.setattr("sonde.server.serving.STOP_SECONDS", 0.1)
    under_way, over = threading.Event(), threading.Event()

    def slow(chunk: int) -> None:
        under_way.set()
        if chunk > 0:
            over.wait(0.05)

    backend = Scripted(chunk=1, before_chunk=slow)
    lines: list[str] = []

    def follow(url: str) -> None:
        body = SWEEP | {"stream": True, "layers": [0, 1, 2, 3] * 20}
        with httpx.stream("POST", f"{url}/v1/patch_sweep", json=body, **LOCAL) as answer:
            lines.extend(answer.iter_lines())

    with running_server(assemble(backend, tmp_path)) as url:
        following = threading.Thread(target=follow, args=(url,))
        following.start()
        assert under_way.wait(10)
    following.join(10)
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line]
    assert (events[-1]["type"], events[-1]["state"]) == ("error", "interrupted")
    assert "shutting down" in events[-1]["error"]
    store = SweepStore(tmp_path)
    assert [entry.state for entry in store.page(before=None, limit=9).sweeps] == ["interrupted"]
    store.close()


def test_a_port_that_is_taken_is_named_with_a_way_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(BadRequest, match=rf"127.0.0.1 port {port}.*in use.*--port 0"):
            bind("127.0.0.1", port)


def test_a_port_that_is_taken_while_the_model_loads_is_named_too() -> None:
    with bind("127.0.0.1", 0) as early, bind("127.0.0.1", early.getsockname()[1]) as late:
        listen(early)
        with pytest.raises(BadRequest, match="in use"):
            listen(late)


def test_what_waits_in_the_kernel_for_a_client_that_does_not_read_is_bounded() -> None:
    with bind("127.0.0.1", 0) as held:
        listen(held)
        with socket.create_connection(held.getsockname()), held.accept()[0] as connected:
            if serving.UNSENT is not None:
                unsent = connected.getsockopt(socket.IPPROTO_TCP, serving.UNSENT)
                assert unsent == serving.UNSENT_BYTES


@pytest.mark.parametrize("host", ["nowhere.invalid", "203.0.113.7", "a..b"])
def test_an_address_that_is_not_this_machines_is_refused(host: str) -> None:
    with pytest.raises(BadRequest, match=host.replace(".", r"\.")):
        bind(host, 0)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:"),
        ("0.0.0.0", "http://127.0.0.1:"),
        ("::1", "http://[::1]:"),
    ],
)
def test_the_url_is_one_that_works_here(host: str, url: str) -> None:
    try:
        held = bind(host, 0)
    except BadRequest:
        pytest.skip("no such address family here")
    with held:
        assert url_of(held).startswith(url)
        assert int(url_of(held).rpartition(":")[2]) > 0


def test_a_signal_asks_the_server_to_stop_and_is_remembered(tmp_path: Path) -> None:
    caught = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in caught}
    with parts_over(Scripted(), tmp_path) as parts:
        server = Server(parts)
        try:
            with server.hearing_signals():
                signal.raise_signal(signal.SIGTERM)
                assert server.should_exit
                running = threading.enumerate()
                [last] = [each for each in running if isinstance(each, threading.Timer)]
            assert last.finished.is_set(), "it would end this process, too"
            assert server.stopped_by == signal.SIGTERM
            for number in caught:
                assert signal.getsignal(number) == server.handle_exit, "until the process ends"
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def test_a_server_that_ends_without_a_signal_gives_them_back(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with parts_over(Scripted(), tmp_path) as parts, Server(parts).hearing_signals():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("dies", ["baselines 2", "capture a", "score"])
def test_a_server_whose_engine_is_lost_says_so_and_then_ends_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies: str
) -> None:
    """Whatever the engine was doing when it died."""
    monkeypatch.setattr(serving, "UNHEALTHY_SECONDS", 0.5)
    backend = Scripted(failing={dies: EngineLost("a worker ended")})
    parts = assemble(backend, tmp_path)
    held = bind("127.0.0.1", 0)
    listen(held)
    server = Server(parts)
    thread = threading.Thread(target=server.run, args=([held],), daemon=True)
    thread.start()
    with httpx.Client(base_url=url_of(held), **LOCAL) as http:
        answer = http.post("/v1/patch_sweep", json=SWEEP)
        assert (answer.status_code, http.get("/health").status_code) == (503, 503)
        assert "a worker ended" in answer.json()["error"]
    thread.join(20)
    assert not thread.is_alive()
    assert isinstance(server.lost, EngineLost)
    held.close()


def test_an_engine_that_dies_while_nobody_asks_anything_ends_the_server_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Mortal(Scripted):
        dead = False

        def describe(self) -> ModelDescription:
            if self.dead:
                raise EngineLost("a worker ended")
            return super().describe()

    monkeypatch.setattr(serving, "UNHEALTHY_SECONDS", 0.1)
    backend = Mortal()
    server = Server(assemble(backend, tmp_path))
    held = bind("127.0.0.1", 0)
    listen(held)
    thread = threading.Thread(target=server.run, args=([held],), daemon=True)
    thread.start()
    backend.dead = True
    thread.join(20)
    assert not thread.is_alive()
    assert "a worker ended" in str(server.lost)
    held.close()


def test_ctrl_c_ends_with_130_and_any_other_way_with_0() -> None:
    assert exit_status(signal.SIGINT) == 130
    assert exit_status(signal.SIGTERM) == exit_status(None) == 0
