"""The page of a run: whatever is in it, it stays one page, and asks nobody for anything."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

from sonde.results.run_page import Assets, run_page

HOSTILE = "</script><script>alert(1)</script><!-- \u2028 & <b>"


class Parts(HTMLParser):
    """What scripts a page has."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.policy = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "script":
            self.scripts.append((found, ""))
        if found.get("http-equiv") == "Content-Security-Policy":
            self.policy = found["content"] or ""

    def handle_data(self, data: str) -> None:
        if self.scripts and self.cdata_elem == "script":
            attributes, before = self.scripts[-1]
            self.scripts[-1] = (attributes, before + data)


def parts_of(page: str) -> Parts:
    parts = Parts()
    parts.feed(page)
    return parts


def test_what_is_in_a_run_cannot_leave_its_place() -> None:
    page = run_page(HOSTILE, json.dumps({"run": HOSTILE}), Assets("let a = 1;", "b {}"))
    parts = parts_of(page)
    assert len(parts.scripts) == 2
    attributes, text = parts.scripts[0]
    assert attributes == {"type": "application/json", "id": "run-copy"}
    assert json.loads(text) == {"run": HOSTILE}
    assert "<title>&lt;/script&gt;" in page


def test_only_its_own_script_may_run_and_nothing_may_be_fetched() -> None:
    script = "let a = '</script><!--';"
    parts = parts_of(run_page("run", "{}", Assets(script, "")))
    _, text = parts.scripts[1]
    assert text.strip() == "let a = '<\\/script><\\!--';"
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in parts.policy
    assert parts.policy.startswith("default-src 'none';")
    assert not re.search(r"https?:", parts.policy)
