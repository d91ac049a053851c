"""Query parameters that a route does not know."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.server.app import create_app
from sonde.server.parts import Parts
from sonde.server.serving import assemble
from tests.runs.trainer import Trainer
from tests.scripted import Scripted
from tests.server.talking import SWEEP, client_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def http(tmp_path: Path, trainer: Trainer) -> AsyncIterator[httpx.AsyncClient]:
    trainer.write(3)
    hub = Hub(RunLayout(trainer.layout.directory))
    parts: Parts = assemble(Scripted(), tmp_path / "data", runs=hub)
    async with client_of(create_app(parts)) as http:
        yield http
    parts.engine.stop(0)
    parts.sweeps.close()
    await hub.close()


@pytest.mark.parametrize(
    ("method", "path", "says"),
    [
        ("GET", "/v1/patch_sweep?limits=3", "did you mean 'limit'?"),
        ("GET", "/v1/patch_sweep/a/export?fromat=csv", "did you mean 'format'?"),
        ("POST", "/v1/patch_sweep?stream=1", "this route takes none"),
        ("POST", "/v1/completions?model=x", "this route takes none"),
        ("POST", "/tokenize?prompt=x", "this route takes none"),
        ("GET", "/health?deep=1", "this route takes none"),
        ("GET", "/v1/models?limit=1", "this route takes none"),
        ("GET", "/api/runs?run=x", "this route takes none"),
        ("GET", "/api/p5/sae/stream?folow=0", "did you mean 'follow'?"),
        ("GET", "/api/p5/sae/records?form=start", "did you mean 'from'?"),
        ("GET", "/api/p5/runs?zzz=1", "this route knows run"),
        ("DELETE", "/v1/patch_source/a?force=1", "this route knows model"),
    ],
)
async def test_an_unknown_parameter_is_refused_by_name(
    http: httpx.AsyncClient, method: str, path: str, says: str
) -> None:
    body = SWEEP if "patch_sweep" in path else {"prompt": "a"}
    answer = await http.request(method, path, json=body if method == "POST" else None)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, path.partition("?")[2].split("=")[0])
    assert "unknown query parameter" in error["message"]
    assert says in error["message"]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/patch_sweep?limit=3",
        "/v1/patch_sweep?",
        "/api/p5/sae/stream?follow=0&from=start&layers=0,15&include=generation&batch=4",
        "/api/p5/sae/records?from=start",
        "/api/p5/runs?run=",
        "/live?run=a&anything=at+all",
        "/causal/1f2e?with=3c4d",
        "/docs?x=1",
    ],
)
async def test_what_clients_and_pages_send_passes(http: httpx.AsyncClient, path: str) -> None:
    answer = await http.get(path)
    assert "unknown query parameter" not in answer.text
    assert answer.status_code in (200, 400, 404)


async def test_a_name_without_end_is_not_repeated(http: httpx.AsyncClient) -> None:
    answer = await http.get("/health", params={"x" * 5000: "1"})
    assert answer.status_code == 400
    assert len(answer.text) < 600
