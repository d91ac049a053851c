"""Source runs over HTTP: listed, looked at, dropped."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from sonde.server.app import create_app
from tests.scripted import Scripted
from tests.server.talking import SWEEP, client_of, parts_over

pytestmark = pytest.mark.anyio

URL = "/v1/patch_source"


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    with parts_over(Scripted(), tmp_path) as parts:
        async with client_of(create_app(parts)) as client:
            yield client


async def keep(http: httpx.AsyncClient) -> None:
    answer = await http.post("/v1/patch_sweep", json=SWEEP | {"keep_source": True})
    assert answer.status_code == 200


async def test_a_kept_run_is_listed_and_described(http: httpx.AsyncClient) -> None:
    assert (await http.get(URL)).json() == {"runs": [], "used_bytes": 0, "budget_bytes": 1000}
    await keep(http)
    listed = (await http.get(URL)).json()
    assert [run["run"] for run in listed["runs"]] == ["a"]
    assert listed["used_bytes"] == listed["runs"][0]["bytes"]
    one = (await http.get(f"{URL}/a")).json()
    assert (one["layers"], one["n_tokens"], one["weights"]) == ([0, 1], 8, "w1")
    assert {"bytes", "lease_seconds", "age_seconds", "hooks", "positions"} <= set(one)


async def test_a_dropped_run_is_gone_and_the_next_sweep_captures_again(
    http: httpx.AsyncClient,
) -> None:
    await keep(http)
    assert (await http.delete(f"{URL}/a")).json() == {"dropped": True}
    for answer in (await http.delete(f"{URL}/a"), await http.get(f"{URL}/a")):
        assert answer.status_code == 404
        assert answer.json() == {"error": "patch source run 'a' not found"}
    again = await http.post("/v1/patch_sweep", json=SWEEP)
    assert again.json()["auto_captured"] is True


@pytest.mark.parametrize("run", ["..", "%2e%2e", "a%2fb", "a b", "x" * 129, "%00", ".hidden"])
async def test_a_name_that_is_none_is_refused(http: httpx.AsyncClient, run: str) -> None:
    assert (await http.delete(f"{URL}/{run}")).status_code in (400, 404, 405)
