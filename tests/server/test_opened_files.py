"""E2: whatever is asked for, a gateway opens nothing outside the directory of its runs.

Every file that Python opens is heard of, as `strace` would, by an audit hook.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.server.app import create_gateway
from sonde.server.parts import Gateway
from tests.runs.analytics.made import made_run

NAMES = ["..", "../outside", "%2e%2e%2foutside", "/etc", "a\0b", "x" * 10_000, "led-away", "a/b"]

ROUTES = {
    "/api/p5/runs": {},
    "/api/p5/page": {},
    "/api/p5/sae/stream": {"follow": "0"},
    "/api/p5/sae/records": {},
    "/api/p5/analytics/overview": {},
    "/api/p5/analytics/generations": {},
    "/api/saes/15": {"features": "1"},
}

_heard: list[str] | None = None


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _heard is not None and isinstance(arguments[0], str | bytes):
        path, flags = Path(os.fsdecode(arguments[0])), arguments[2]
        refuses_links = isinstance(flags, int) and flags & os.O_NOFOLLOW
        folder = os.path.realpath(path.parent if refuses_links else path)
        _heard.append(str(Path(folder) / path.name) if refuses_links else folder)


sys.addaudithook(_hear)  # for good: a hook cannot be taken off


@pytest.fixture
def heard() -> Iterator[list[str]]:
    """Where what is opened meanwhile really is."""
    global _heard
    _heard = []
    yield _heard
    _heard = None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, another one outside, and links that lead from the one to the other."""
    folder = tmp_path_factory.mktemp("paths")
    made_run(folder / "runs" / "mine", steps=2, save_every=1)
    made_run(folder / "outside", steps=2)
    outside, mine = folder / "outside", folder / "runs" / "mine"
    (folder / "runs" / "led-away").symlink_to(outside)
    (mine / "checkpoint-7").symlink_to(outside)
    (mine / "checkpoint-9").write_text("a plain file")
    (mine / "segments" / "7.jsonl").symlink_to(outside / "generations.jsonl")
    (mine / "sae_health.jsonl").unlink()
    (mine / "sae_health.jsonl").symlink_to(outside / "sae_health.jsonl")
    return folder


@pytest.fixture(scope="module")
def http(folder: Path) -> Iterator[TestClient]:
    app = create_gateway(Gateway(Hub(RunLayout(folder / "runs"))))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


@pytest.mark.parametrize("route", ROUTES)
def test_a_name_that_leads_out_opens_nothing_there(
    http: TestClient, folder: Path, heard: list[str], route: str
) -> None:
    for name in NAMES:
        answer = http.get(route, params={"run": name, **ROUTES[route]})
        assert answer.status_code in (400, 404, 501), (name, answer.text[:200])
    assert outside_of(folder, heard) == []


@pytest.mark.parametrize("route", ROUTES)
def test_links_inside_a_run_are_not_followed(
    http: TestClient, folder: Path, heard: list[str], route: str
) -> None:
    answer = http.get(route, params={"run": "mine", **ROUTES[route]})
    assert answer.status_code in (200, 501), answer.text[:200]
    seen = any(path.startswith(str(folder / "runs" / "mine")) for path in heard)
    assert seen or answer.status_code == 501
    assert outside_of(folder, heard) == []


def outside_of(folder: Path, heard: list[str]) -> list[str]:
    """What was opened where nothing is to be opened."""
    forbidden = (str(folder / "outside"), "/etc/passwd")
    return [path for path in heard if path.startswith(forbidden)]
