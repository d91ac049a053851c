"""Heads that are late, too large, or no heads at all, on real connections."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from sonde.runs.hub import Hub
from sonde.server.parts import Gateway
from sonde.server.protocol import CHUNKS, Chunks, GuardedProtocol, chunks_of
from sonde.server.serving import running_server
from tests.local import LOCAL
from tests.runs.trainer import Trainer
from tests.scripted import Scripted
from tests.server.talking import SWEEP, answer_on, connection, parts_over, received_on

HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"


def pause(chunk: int) -> None:
    """A large sweep rests for a while."""
    if chunk == 6:
        time.sleep(0.5)


def whole_answer(connected: socket.socket) -> bytes:
    """An answer that may come in pieces, from a connection that stays open."""
    received = b""
    while not received.endswith(b'{"status":"ok"}'):
        piece = connected.recv(65536)
        assert piece, received
        received += piece
    return received


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("history")
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(GuardedProtocol, "head_seconds", 0.3)
        parts = stack.enter_context(parts_over(Scripted(before_chunk=pause), directory))
        yield stack.enter_context(running_server(parts))


def error(answer: bytes) -> str:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/json" in head
    message: str = json.loads(body)["error"]
    return message


def test_a_head_that_comes_byte_by_byte_is_cut_off(url: str) -> None:
    with connection(url) as connected:
        connected.sendall(HEAD)
        connected.settimeout(0.02)
        late = time.monotonic() + 10
        answer = b""
        while not answer and time.monotonic() < late:
            connected.sendall(b"x")
            try:
                answer = connected.recv(65536)
            except TimeoutError:
                continue
        connected.settimeout(10)
        answer += received_on(connected)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert "0.3 seconds" in error(answer)


def test_a_connection_that_says_nothing_is_closed(url: str) -> None:
    with connection(url) as connected:
        assert answer_on(connected) == (0, b"")


def test_the_second_head_on_a_connection_has_a_deadline_too(url: str) -> None:
    with connection(url) as connected:
        connected.sendall(HEAD + b"\r\n")
        assert whole_answer(connected).startswith(b"HTTP/1.1 200 ")
        connected.sendall(HEAD)
        status, _ = answer_on(connected)
    assert status == 408


def test_an_answer_may_take_longer_than_a_head(url: str) -> None:
    body = SWEEP | {"layers": [0, 1, 2, 3], "stream": True}
    with httpx.Client(base_url=url, **LOCAL) as http:
        answer = http.post("/v1/patch_sweep", json=body)
        assert answer.elapsed.total_seconds() > 0.4
        assert answer.text.endswith("data: [DONE]\n\n")


def test_a_connection_may_rest_between_requests(url: str) -> None:
    with connection(url) as connected:
        for _ in range(2):
            connected.sendall(HEAD + b"\r\n")
            assert whole_answer(connected).startswith(b"HTTP/1.1 200 ")
            time.sleep(0.4)


def test_a_slow_body_is_not_a_slow_head(url: str) -> None:
    body = json.dumps(SWEEP).encode()
    with connection(url) as connected:
        connected.sendall(
            b"POST /v1/patch_sweep HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        )
        time.sleep(0.5)
        connected.sendall(body)
        status, _ = answer_on(connected)
    assert status == 200


@pytest.mark.parametrize("name", [b"x: ", b"x" * 100_000])
def test_a_head_that_is_too_large_is_431_and_not_read_to_its_end(url: str, name: bytes) -> None:
    sent = 0
    with connection(url) as connected:
        connected.sendall(HEAD + name)
        try:
            while sent < 100 * 2**20:
                connected.sendall(b"y" * 2**16)
                sent += 2**16
        except ConnectionError:
            pass
        status, answer = answer_on(connected)
    assert status in (431, 0)
    assert sent < 64 * 2**20
    if answer:
        assert "too long" in error(answer)


def test_a_large_head_in_one_piece_is_431(url: str) -> None:
    with connection(url) as connected:
        connected.sendall(HEAD + b"x: " + b"y" * 20_000)
        status, answer = answer_on(connected)
    assert status == 431
    assert "too long" in error(answer)


@pytest.mark.parametrize(
    "head",
    [
        b"nonsense\r\n\r\n",
        b"GET /health HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
        b"Content-Length: 2\r\n\r\n",
        b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nx: a\x00b\r\n\r\n",
    ],
)
def test_a_head_that_is_none_is_400_in_json(url: str, head: bytes) -> None:
    with connection(url) as connected:
        connected.sendall(head)
        status, answer = answer_on(connected)
    assert status == 400
    assert "cannot be read" in error(answer)


def test_health_answers_while_hundreds_dawdle(url: str) -> None:
    with ExitStack() as stack:
        for _ in range(200):
            connected = stack.enter_context(connection(url))
            connected.sendall(HEAD)
        with httpx.Client(base_url=url, **LOCAL) as http:
            assert http.get("/health").status_code == 200


STREAM = "/api/p5/sae/stream?follow=0"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    trainer = Trainer(tmp_path_factory.mktemp("runs") / "run")
    trainer.write(3000)  # more than one write
    with running_server(Gateway(Hub(trainer.layout))) as address:
        yield address


def records(body: bytes) -> list[int]:
    lines = [line for line in body.split(b"\n") if line.startswith(b"data: {") and b"token" in line]
    return [json.loads(line[6:])["token_index"] for line in lines]


def test_a_stream_is_the_same_by_the_short_way_and_by_the_long_one(
    gateway: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    write = Chunks.__call__

    async def counted(chunks: Chunks, piece: bytes) -> None:
        taken.append(len(piece))
        await write(chunks, piece)

    monkeypatch.setattr(Chunks, "__call__", counted)
    with httpx.Client(base_url=gateway, **LOCAL) as http:
        short = http.get(STREAM)
        assert len(taken) > 1
        assert sum(taken) == len(short.content)
        taken.clear()
        monkeypatch.setattr("sonde.server.live.chunks_of", lambda _scope: None)
        assert http.get(STREAM).content == short.content  # on the same connection
    assert not taken
    assert records(short.content) == list(range(3000))


def test_a_client_that_knows_no_chunks_gets_none(gateway: str) -> None:
    with connection(gateway) as connected:
        connected.sendall(f"GET {STREAM} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        status, answer = answer_on(connected)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert status == 200
    assert b"chunked" not in head.lower()
    assert body.startswith(b"retry: ")
    assert b"\r\n" not in body
    assert records(body) == list(range(3000))


def test_the_short_way_is_for_plain_requests_only() -> None:
    assert chunks_of({"type": "http", "http_version": "1.1", "method": "GET"}) is None
    assert chunks_of({"http_version": "2", "method": "GET", "extensions": {CHUNKS: {}}}) is None
    assert chunks_of({"http_version": "1.1", "method": "HEAD", "extensions": {CHUNKS: {}}}) is None
