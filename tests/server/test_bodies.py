"""Bodies that are too large, too late, no JSON, or no text."""

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Response

from sonde.server import bodies
from sonde.server.app import create_app
from sonde.server.bodies import has_half_a_pair
from sonde.server.parts import Parts
from sonde.server.serving import running_server
from tests.local import LOCAL
from tests.scripted import Scripted
from tests.server.talking import SWEEP, answer_on, client_of, connection, parts_over

JSON = {"Content-Type": "application/json"}
CAP = 100_000


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    directory = tmp_path_factory.mktemp("history")
    with parts_over(Scripted(), directory, max_body_bytes=CAP, body_seconds=0.2) as parts:
        yield parts


@pytest.fixture(scope="module")
def url(parts: Parts) -> Iterator[str]:
    with running_server(parts) as url:
        yield url


@pytest.fixture(scope="module")
def app(parts: Parts, url: str) -> FastAPI:
    return create_app(parts)


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(app) as http:
        yield http


def error_of(answer: httpx.Response) -> dict[str, Any]:
    error: dict[str, Any] = answer.json()["error"]
    assert error["code"] == answer.status_code
    return error


@pytest.mark.anyio
async def test_a_declared_size_beyond_the_cap_is_refused_unread(http: httpx.AsyncClient) -> None:
    async def body() -> AsyncIterator[bytes]:
        raise AssertionError("nobody may read this")
        yield b""

    headers = JSON | {"Content-Length": str(10**9), "Expect": "100-continue"}
    answer = await http.post("/v1/patch_sweep", content=body(), headers=headers)
    assert answer.status_code == 413
    assert "100,000" in error_of(answer)["message"]
    assert answer.headers["connection"] == "close"


@pytest.mark.anyio
async def test_an_undeclared_size_is_counted(http: httpx.AsyncClient) -> None:
    async def body() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 10_000

    answer = await http.post("/v1/patch_sweep", content=body(), headers=JSON)
    assert answer.status_code == 413


@pytest.mark.anyio
async def test_a_body_of_the_largest_size_passes(http: httpx.AsyncClient) -> None:
    content = json.dumps(SWEEP).encode().ljust(CAP)
    answer = await http.post("/v1/patch_sweep", content=content, headers=JSON)
    assert answer.status_code == 200


@pytest.mark.anyio
async def test_a_list_beyond_reason_is_refused_before_it_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = json.dumps(SWEEP | {"layers": [0] * 1_000_000}).encode()

    def parsed(*_: object, **__: object) -> None:
        raise AssertionError("nobody may parse this")

    with parts_over(Scripted(), tmp_path / "b") as parts:
        async with client_of(create_app(parts)) as http:
            monkeypatch.setattr(json, "loads", parsed)
            answer = await http.post("/v1/patch_sweep", content=content, headers=JSON)
            monkeypatch.undo()
    assert answer.status_code == 413
    assert "200,000 values" in error_of(answer)["message"]


@pytest.mark.anyio
async def test_a_long_range_in_a_short_body_is_refused_by_arithmetic(
    http: httpx.AsyncClient,
) -> None:
    body = SWEEP | {"layers": {"start": 0, "stop": 10**12}}
    answer = await http.post("/v1/patch_sweep", json=body)
    assert answer.status_code == 400
    assert "out of range" in answer.json()["error"]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"]
)
@pytest.mark.anyio
async def test_only_json_is_taken(http: httpx.AsyncClient, kind: str) -> None:
    headers = {"Content-Type": kind} if kind else {}
    content = json.dumps(SWEEP).encode()
    answer = await http.post("/v1/patch_sweep", content=content, headers=headers)
    assert answer.status_code == 400
    assert "application/json" in error_of(answer)["message"]


@pytest.mark.parametrize("kind", ["Application/JSON; charset=utf-8", "application/vnd.a+json"])
@pytest.mark.anyio
async def test_json_by_its_other_names_is_taken(http: httpx.AsyncClient, kind: str) -> None:
    content = json.dumps(SWEEP).encode()
    answer = await http.post("/v1/patch_sweep", content=content, headers={"Content-Type": kind})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("text", "half"),
    [
        (r'{"a": "\ud83d\ude00"}', False),
        (r'{"a": "\uD83D\uDE00"}', False),
        (r'{"a": "\\ud83d"}', False),
        (r'{"a": "\u00e9"}', False),
        (r'{"a": "\ud83d"}', True),
        (r'{"a": "\ude00\ud83d"}', True),
        (r'{"a": "\\\ud83d"}', True),
        (r'{"a": "\ud83d\ud83d\ude00"}', True),
        (r'{"\udfff": 1}', True),
    ],
)
def test_half_of_a_surrogate_pair_is_found(text: str, half: bool) -> None:
    assert has_half_a_pair(text.encode()) is half
    with suppress(UnicodeEncodeError):
        json.dumps(json.loads(text), ensure_ascii=False).encode()
        assert not half


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(SWEEP | {"prompt": "\ud800"}).encode(),
        json.dumps(SWEEP | {"\udfff": 1}).encode(),
        b'{"prompt": "\xed\xa0\x80"}',
        b'{"prompt": "\xff"}',
        b'{"prompt": "\xc3',
        '{"prompt": "a"}'.encode("utf-16"),
    ],
)
@pytest.mark.anyio
async def test_text_that_is_none_is_refused(http: httpx.AsyncClient, content: bytes) -> None:
    answer = await http.post("/v1/patch_sweep", content=content, headers=JSON)
    assert answer.status_code == 400
    assert error_of(answer)["type"] == "Bad Request"


@pytest.mark.anyio
async def test_a_text_cut_between_two_bytes_of_a_letter_is_whole_again(
    http: httpx.AsyncClient,
) -> None:
    content = json.dumps(SWEEP | {"source_run": "é"}, ensure_ascii=False).encode()
    at = content.index("é".encode()) + 1

    async def body() -> AsyncIterator[bytes]:
        yield content[:at]
        yield content[at:]

    answer = await http.post("/v1/patch_sweep", content=body(), headers=JSON)
    assert "not UTF-8" not in answer.text


def head(length: int, *, host: str = "localhost", more: str = "") -> bytes:
    """The head of a request whose body is to have so many bytes."""
    return (
        f"POST /v1/patch_sweep HTTP/1.1\r\nHost: {host}\r\n{more}"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def test_a_body_that_does_not_come_is_not_waited_for(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "LINGER_SECONDS", 0.05)
    with connection(url) as connected:
        connected.sendall(head(50) + b"{")
        status, answer = answer_on(connected)
    assert status == 408
    assert b"0.2 seconds" in answer


def test_a_client_that_sends_far_too_much_sees_why_and_is_cut_off(url: str) -> None:
    """No more of the body is read than the cap and a little."""
    sent = 0
    with connection(url) as connected:
        connected.sendall(head(10**9))
        with suppress(ConnectionError):
            while sent < 10**9:
                connected.sendall(b"x" * 2**16)
                sent += 2**16
        status, answer = answer_on(connected)
    assert status == 413
    assert b"at most 100,000 are read" in answer
    assert sent < 64 * 2**20


def test_a_client_that_waits_to_be_asked_is_answered_and_not_asked(url: str) -> None:
    with connection(url) as connected:
        connected.sendall(head(10**9, more="Expect: 100-continue\r\n"))
        status, answer = answer_on(connected)
    assert status == 413
    assert b"100 Continue" not in answer


def test_a_body_nobody_wants_ends_the_connection_and_others_stay(url: str) -> None:
    with connection(url) as connected:
        connected.sendall(head(10, host="evil.example") + b"0123456789")
        status, answer = answer_on(connected)
    assert status == 403
    assert b"connection: close" in answer
    assert httpx.get(f"{url}/health", **LOCAL).status_code == 200


def test_a_client_that_leaves_in_the_middle_of_its_body_leaves_nothing(
    url: str, parts: Parts
) -> None:
    with connection(url) as connected:
        connected.sendall(head(50) + b"{")
    assert httpx.get(f"{url}/health", **LOCAL).status_code == 200
    assert parts.engine.counts()["sweep"] == (0, 0)


@pytest.mark.anyio
async def test_a_little_of_a_refused_body_is_read_before_the_answer_ends() -> None:
    order: list[str] = []
    pieces = iter([b"x", b"y", b""])

    async def receive() -> dict[str, Any]:
        order.append("read")
        piece = next(pieces)
        return {"type": "http.request", "body": piece, "more_body": piece != b""}

    async def send(message: Any) -> None:
        order.append(message["type"].removeprefix("http.response."))

    scope = {"headers": [(b"content-length", b"1000000")]}
    answer = Response(b"no", 403)
    await bodies.refuse(answer, scope, bodies.Incoming(scope, receive), send)
    assert order == ["start", "body", "read", "read", "read", "body"]


@pytest.mark.anyio
async def test_a_refused_body_is_not_read_for_longer_than_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bodies, "LINGER_SECONDS", 0.05)
    reads = 0

    async def receive() -> dict[str, Any]:
        nonlocal reads
        reads += 1
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b"x", "more_body": True}

    scope = {"headers": [(b"content-length", b"1000000")]}
    began = time.monotonic()
    await bodies._linger(bodies.Incoming(scope, receive))
    assert reads > 1
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "deflate", "gzip, gzip", "x" * 500])
@pytest.mark.anyio
async def test_10_a_body_that_is_compressed_is_refused_by_name(
    http: httpx.AsyncClient, encoding: str
) -> None:
    body = gzip.compress(json.dumps(SWEEP).encode())
    headers = JSON | {"Content-Encoding": encoding}
    for route in ("/v1/patch_sweep", "/v1/completions", "/tokenize"):
        answer = await http.post(route, content=body, headers=headers)
        assert answer.status_code == 415
        assert f"Content-Encoding is '{encoding[:60]}'" in error_of(answer)["message"]


@pytest.mark.anyio
async def test_a_body_that_is_as_it_is_may_say_so(http: httpx.AsyncClient) -> None:
    answer = await http.post(
        "/v1/patch_sweep", json=SWEEP, headers={"Content-Encoding": "Identity"}
    )
    assert answer.status_code == 200


@pytest.mark.anyio
async def test_08_callers_without_the_key_may_send_little(tmp_path: Path) -> None:
    network: dict[str, Any] = {"api_key": "k", "keyless_body_bytes": 1000}
    with parts_over(Scripted(), tmp_path, **network) as parts:
        async with client_of(create_app(parts)) as http:
            small, large = {"prompt": "The" + " city" * 20}, {"prompt": "The" + " city" * 240}
            assert (await http.post("/tokenize", json=small)).status_code == 200
            for route, body in (("/tokenize", large), ("/detokenize", {"tokens": [1] * 1000})):
                answer = await http.post(route, json=body)
                assert answer.status_code == 413
                assert "at most 1,000" in error_of(answer)["message"]
                assert "Bearer" in error_of(answer)["message"]
                keyed = await http.post(route, json=body, headers={"Authorization": "Bearer k"})
                assert keyed.status_code == 200
                wrong = await http.post(route, json=body, headers={"Authorization": "Bearer x"})
                assert wrong.status_code == 413


@pytest.mark.anyio
async def test_where_there_is_no_key_nobody_is_without_it(tmp_path: Path) -> None:
    with parts_over(Scripted(), tmp_path, keyless_body_bytes=10) as parts:
        async with client_of(create_app(parts)) as http:
            assert (
                await http.post("/tokenize", json={"prompt": "The" + " city" * 20})
            ).status_code == 200
