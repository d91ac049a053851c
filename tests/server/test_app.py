"""The app as a whole: its order, its start and its end."""

import asyncio
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from starlette.types import Message

from sonde.errors import ServerStopping
from sonde.server import app as app_module
from sonde.server import routes
from sonde.server.app import create_app, stop
from sonde.server.serving import assemble, running_server
from sonde.store.sweeps import SweepStore
from tests.scripted import Scripted
from tests.server.talking import SWEEP, answer_on, client_of, connection, parts_over

pytestmark = pytest.mark.anyio


def test_every_routes_module_is_known_to_the_app() -> None:
    for found in iter_modules(routes.__path__):
        module = import_module(f"sonde.server.routes.{found.name}")
        assert getattr(app_module, found.name, None) is module, f"mount {found.name} in app.py"


async def test_a_foreign_request_is_refused_before_its_body_is_looked_at(tmp_path: Path) -> None:
    with parts_over(Scripted(), tmp_path, api_key="k", max_body_bytes=10) as parts:
        async with client_of(create_app(parts)) as http:
            body = b"x" * 100
            foreign = await http.post("/v1/x", content=body, headers={"Host": "evil.example"})
            keyless = await http.post("/v1/x", content=body)
            large = await http.post("/v1/x", content=body, headers={"Authorization": "Bearer k"})
    assert [foreign.status_code, keyless.status_code, large.status_code] == [403, 401, 413]
    assert all("x-request-id" in answer.headers for answer in (foreign, keyless, large))


async def test_two_apps_share_nothing(tmp_path: Path) -> None:
    with (
        parts_over(Scripted(), tmp_path / "a") as one,
        parts_over(Scripted(), tmp_path / "b") as two,
    ):
        one.backend.capture("kept", [1], ["post_block"], [0], [0])
        async with client_of(create_app(one)) as first, client_of(create_app(two)) as second:
            assert len((await first.get("/v1/patch_source")).json()["runs"]) == 1
            assert len((await second.get("/v1/patch_source")).json()["runs"]) == 0


async def test_at_its_end_the_engine_has_stopped_and_the_history_is_free(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    parts = assemble(Scripted(), tmp_path)
    app = create_app(parts)
    messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    said: list[str] = []

    async def receive() -> Message:
        return next(messages)

    async def send(message: Message) -> None:
        said.append(message["type"])

    await app({"type": "lifespan", "asgi": {}, "state": {}}, receive, send)
    assert said == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    with pytest.raises(ServerStopping):
        parts.engine.stream(lambda: iter([1]))
    left = {thread for thread in set(threading.enumerate()) - before if "engine" in thread.name}
    assert not left
    SweepStore(tmp_path).close()


async def test_more_sweeps_than_may_wait_are_told_to_come_back(tmp_path: Path) -> None:
    blocked = threading.Event()

    def wait(_chunk: int) -> None:
        blocked.wait(20)

    parts = assemble(Scripted(before_chunk=wait), tmp_path, waiting=2)
    try:
        async with client_of(create_app(parts)) as http:
            asked = [
                asyncio.create_task(http.post("/v1/patch_sweep", json=SWEEP | {"source_run": run}))
                for run in map(str, range(12))
            ]
            done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            health = await http.get("/health")
            blocked.set()
            answers = [await each for each in asked]
    finally:
        blocked.set()
        stop(parts, 0)
    assert {each.result().status_code for each in done} == {429}
    assert health.status_code == 200
    refused = [answer for answer in answers if answer.status_code == 429]
    assert all(int(answer.headers["retry-after"]) > 0 for answer in refused)
    assert [answer.status_code for answer in answers].count(200) == 12 - len(refused) >= 2


IDS = [
    b"..",
    b"../../etc/passwd",
    b"%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    b"%2Fetc%2Fpasswd",
    b"a/b",
    b"a%2Fb",
    b"a%00b",
    b"a%0Ab",
    b"%ff",
    b"%F0%9F%98%80",
    b"x" * 10_000,
    b"~root",
    b"%5c..%5c",
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("history")
    with parts_over(Scripted(), directory) as parts, running_server(parts) as url:
        yield url


@pytest.mark.parametrize("name", IDS, ids=lambda name: repr(name[:20]))
def test_an_id_that_is_a_path_leads_nowhere(url: str, name: bytes) -> None:
    """On every route that takes an id; ids are checked by pattern before anything is looked up."""
    targets = [
        b"GET /v1/patch_sweep/%b",
        b"DELETE /v1/patch_sweep/%b",
        b"GET /v1/patch_sweep/%b/events",
        b"GET /v1/patch_sweep/%b/export",
        b"GET /v1/patch_source/%b",
        b"DELETE /v1/patch_source/%b",
        b"GET /v1/models/%b",
    ]
    for target in targets:
        with connection(url) as connected:
            head = b"%b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            connected.sendall(head % (target % name))
            status, answer = answer_on(connected)
        assert status in (400, 404), (target, answer[:300])
        assert b'{"error"' in answer
