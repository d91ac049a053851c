"""The page that lists the routes."""

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.server.app import create_app
from sonde.server.routes.docs import page
from tests.scripted import Scripted
from tests.server.talking import client_of, parts_over

pytestmark = pytest.mark.anyio


class Links(HTMLParser):
    """Everything a page fetches or leads to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script"
        self.found += [value or "" for name, value in attrs if name in ("src", "href")]


async def test_every_route_is_on_the_page_and_nothing_comes_from_elsewhere(tmp_path: Path) -> None:
    with parts_over(Scripted(), tmp_path) as parts:
        app = create_app(replace(parts, runs=Hub(RunLayout(tmp_path))))
        async with client_of(app) as http:
            answer = await http.get("/docs")
        document = app.openapi()
    assert answer.headers["content-type"].startswith("text/html")
    for path, methods in document["paths"].items():
        assert f"<code>{path}</code>" in answer.text
        for operation in methods.values():
            assert f"id='{operation['operationId']}'" in answer.text
    for field in ("clean_prompt", "keep_source", "logprob_token_ids", "Last-Event-Id"):
        assert field.lower() in answer.text.lower()
    links = Links()
    links.feed(answer.text)
    assert all(link.startswith("/") for link in links.found)


def test_what_others_wrote_is_text_on_the_page() -> None:
    document = {
        "info": {"title": "<b>", "version": "1"},
        "tags": [{"name": "a", "description": "<i>"}],
        "components": {"schemas": {}},
        "paths": {
            "/x": {
                "get": {
                    "tags": ["a"],
                    "operationId": "x",
                    "description": "<script>",
                    "responses": {"200": {"description": "<u>"}},
                }
            }
        },
    }
    text = page(document)
    assert not any(tag in text for tag in ("<b>", "<i>", "<u>", "<script>"))
