"""The interface is served whole, safely, and from memory."""

import gzip
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.server.app import create_gateway
from sonde.server.parts import Gateway
from sonde.server.routes.ui import NOT_BUILT, PAGES, lost, read_build, routes
from tests.server.talking import client_of

pytestmark = pytest.mark.anyio

SCRIPT = b"export const answer = 42;\n" * 100


@pytest.fixture
def build(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><title>built</title>")
    (tmp_path / "assets" / "index-1a2b.js").write_bytes(SCRIPT)
    (tmp_path / "assets" / "index-1a2b.css").write_text("body { margin: 0 }")
    return tmp_path


def gateway(directory: Path) -> Gateway:
    return Gateway(Hub(RunLayout(directory)))


def app_of(build: Path) -> FastAPI:
    app = FastAPI()
    app.include_router(routes(gateway(build), build))
    return app


async def got(build: Path, path: str, **headers: str) -> httpx.Response:
    async with client_of(app_of(build)) as http:
        return await http.get(path, headers=headers)


@pytest.mark.parametrize("path", ["/", "/causal", "/causal/1f2e", "/live/a/b", "/runs/x"])
async def test_every_address_of_the_interface_is_the_same_page(build: Path, path: str) -> None:
    answer = await got(build, path)
    assert answer.status_code == 200
    assert answer.text == "<!doctype html><title>built</title>"
    assert answer.headers["cache-control"] == "no-cache"


async def test_no_script_or_style_may_be_inline_or_foreign(build: Path) -> None:
    headers = (await got(build, "/")).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


async def test_a_file_with_a_hash_in_its_name_is_kept_for_good_and_packed(build: Path) -> None:
    async with client_of(app_of(build)) as http:
        packed = await http.get("/assets/index-1a2b.js")
        plain = await http.get("/assets/index-1a2b.js", headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert len(gzip.compress(SCRIPT)) < len(SCRIPT)
    assert "content-encoding" not in plain.headers
    assert packed.content == plain.content == SCRIPT
    assert "immutable" in packed.headers["cache-control"]
    assert packed.headers["content-type"] == "text/javascript; charset=utf-8"


async def test_what_a_browser_has_is_not_sent_again(build: Path) -> None:
    first = await got(build, "/")
    again = await got(build, "/", **{"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "path", ["/assets/none.js", "/assets/../index.html", "/assets/%2e%2e/index.html", "/other"]
)
async def test_there_is_nothing_but_the_build(build: Path, path: str) -> None:
    assert (await got(build, path)).status_code == 404


async def test_without_a_build_the_page_says_how_to_make_one(tmp_path: Path) -> None:
    answer = await got(tmp_path / "none", "/causal")
    assert answer.status_code == 200
    assert answer.content == NOT_BUILT
    assert b"make ui" in NOT_BUILT
    assert read_build(tmp_path / "none") == {}


async def test_a_server_without_a_model_has_it_too(tmp_path: Path) -> None:
    async with client_of(create_gateway(gateway(tmp_path))) as http:
        for page in PAGES:
            answer = await http.get(page)
            assert answer.status_code == 200, page
            assert "text/html" in answer.headers["content-type"]


async def test_an_address_that_is_mistyped_is_a_page_for_people_and_json_for_programs(
    tmp_path: Path,
) -> None:
    (tmp_path / "index.html").write_text("<!doctype html><title>Sonde</title>")
    found = lost({"accept": "text/html,application/xhtml+xml,*/*"}, tmp_path)
    assert found is not None
    assert (found.status_code, found.media_type) == (404, "text/html; charset=utf-8")
    assert "Content-Security-Policy" in found.headers
    assert lost({"accept": "*/*"}, tmp_path) is None
    assert lost({"accept": "text/html"}, tmp_path / "nothing") is None
