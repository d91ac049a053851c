"""One line per request, the headers all answers have, and what becomes of bugs."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse, StreamingResponse

from sonde.errors import BadRequest
from sonde.server.errors import add_error_handlers
from sonde.server.metrics import Metrics
from sonde.server.request_log import CLIENT_LEFT, JsonLines, RequestLog
from tests.server.talking import client_of

pytestmark = pytest.mark.anyio

LOG = "sonde.server.request_log"


@pytest.fixture
def app() -> FastAPI:
    app = FastAPI()
    add_error_handlers(app)

    @app.get("/items/{name}")
    async def item(name: str) -> str:
        return name

    @app.get("/bug")
    async def bug() -> None:
        raise KeyError("the secret of the bug")

    @app.get("/v1/patch_sweep/refused")
    async def refused() -> None:
        raise BadRequest("no")

    @app.get("/page")
    async def page() -> HTMLResponse:
        return HTMLResponse("<p>", headers={"Cache-Control": "max-age=9"})

    @app.get("/cut")
    async def cut() -> StreamingResponse:
        async def pieces() -> AsyncIterator[bytes]:
            yield b"half"
            raise KeyError("in the middle")

        return StreamingResponse(pieces())

    app.add_middleware(RequestLog, metrics=Metrics())
    return app


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Any:
    """What was logged, as it would be written."""
    caplog.set_level(logging.INFO, logger=LOG)
    written = JsonLines()

    def read() -> list[dict[str, Any]]:
        ours = [record for record in caplog.records if record.name == LOG]
        return [json.loads(written.format(record)) for record in ours]

    return read


async def test_a_request_is_one_line_that_names_the_route_and_not_the_path(
    app: FastAPI, lines: Any
) -> None:
    async with client_of(app) as http:
        answer = await http.get("/items/my-secret", params={"q": "private"})
    [line] = lines()
    assert line.pop("time").endswith("+00:00")
    assert line.pop("milliseconds") >= 0
    assert line == {
        "level": "info",
        "message": "request",
        "method": "GET",
        "route": "/items/{name}",
        "status": 200,
        "request": answer.headers["x-request-id"],
        "client": "127.0.0.1",
    }


async def test_every_answer_has_an_id_and_a_client_may_choose_it(app: FastAPI) -> None:
    async with client_of(app) as http:
        ids = {(await http.get("/items/a")).headers["x-request-id"] for _ in range(3)}
        assert len(ids) == 3
        chosen = await http.get("/items/a", headers={"X-Request-Id": "trace.1-2_3"})
        assert chosen.headers["x-request-id"] == "trace.1-2_3"
        for odd in ('a"b', "a b", "x" * 65, "../etc"):
            answer = await http.get("/items/a", headers={"X-Request-Id": odd})
            assert answer.headers["x-request-id"] != odd


async def test_a_bug_is_a_500_with_the_id_and_its_traceback_is_in_the_log_only(
    app: FastAPI, lines: Any
) -> None:
    async with client_of(app) as http:
        answer = await http.get("/bug")
    assert answer.status_code == 500
    assert answer.headers["x-request-id"] in answer.json()["error"]["message"]
    assert "secret" not in answer.text
    trouble, request = lines()
    assert "KeyError: 'the secret of the bug'" in trouble["traceback"]
    assert answer.headers["x-request-id"] in trouble["message"]
    assert request["status"] == 500


async def test_an_answer_that_breaks_in_the_middle_is_not_mended(app: FastAPI, lines: Any) -> None:
    async with client_of(app) as http:
        with pytest.raises(KeyError):
            await http.get("/cut")
    assert [line["level"] for line in lines()] == ["error", "info"]


async def test_a_client_that_waits_when_the_server_stops_is_told(app: FastAPI, lines: Any) -> None:
    sent: list[Any] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/", "headers": []}
    waiting = asyncio.create_task(RequestLog(inner, Metrics())(scope, None, send))  # type: ignore[arg-type]
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert sent[0]["status"] == 503
    assert b"shutting down" in sent[1]["body"]
    assert [line["status"] for line in lines()] == [503]


async def test_refusals_and_unknown_routes_are_logged_too(app: FastAPI, lines: Any) -> None:
    async with client_of(app) as http:
        await http.get("/v1/patch_sweep/refused")
        await http.get("/nowhere/with/ids")
    noted = [(line["route"], line["status"]) for line in lines()]
    assert noted == [("/v1/patch_sweep/refused", 400), ("(none)", 404)]


async def test_a_client_that_left_before_its_answer_is_logged_as_such(lines: Any) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        await send({"type": "http.response.start", "status": 409, "headers": []})

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(_message: Any) -> None:
        await asyncio.sleep(0)

    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/", "headers": []}
    await RequestLog(app, Metrics())(scope, receive, send)
    [line] = lines()
    assert (line["status"], line["client"]) == (CLIENT_LEFT, None)


async def test_answers_may_not_be_framed_sniffed_cached_or_run(app: FastAPI) -> None:
    async with client_of(app) as http:
        headers = (await http.get("/items/a")).headers
        page = (await http.get("/page")).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert "default-src 'self'" in page["content-security-policy"]
    assert page.get_list("cache-control") == ["max-age=9"], "a route's own word stands"


async def test_what_is_not_http_passes(app: FastAPI) -> None:
    passed: list[str] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        passed.append(scope["type"])

    await RequestLog(inner, Metrics())({"type": "lifespan"}, None, None)  # type: ignore[arg-type]
    assert passed == ["lifespan"]


def test_a_line_is_one_line_whatever_is_in_it() -> None:
    record = logging.LogRecord("a", logging.WARNING, "", 0, "two\nlines %s", ("\x1b[2J",), None)
    text = JsonLines().format(record)
    assert len(text.splitlines()) == 1
    assert text.isascii()
    assert json.loads(text)["message"] == "two\nlines \x1b[2J"


async def test_requests_are_counted_by_route_and_status(app: FastAPI) -> None:
    metrics = Metrics()
    counted = RequestLog(app, metrics)
    transport = httpx.ASGITransport(counted)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        for name in ("a", "b"):
            await http.get(f"/items/{name}")
    labels = {"route": "/items/{name}", "method": "GET", "status": "200"}
    assert metrics.registry.get_sample_value("sonde_requests_total", labels) == 2
