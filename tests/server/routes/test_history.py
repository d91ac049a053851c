"""The history on a server that has no model: read, and true after a kill."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.server.app import create_gateway
from sonde.server.parts import Gateway
from sonde.server.past import History
from sonde.store.past import PastSweeps
from sonde.store.sweeps import SweepStore
from tests.server.talking import SWEEP, client_of
from tests.store.swept import EVENTS, entry, finish
from tests.store.test_past import killed_server

pytestmark = pytest.mark.anyio

PATH = "/v1/patch_sweep"
SAID = "/v1/history"


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A gateway beside a data directory."""
    past = History(PastSweeps(tmp_path / "data"))
    app = create_gateway(Gateway(Hub(RunLayout(tmp_path)), sweeps=past))
    async with client_of(app) as http:
        yield http


async def test_07_a_gateway_says_of_a_killed_servers_sweeps_that_they_were_interrupted(
    tmp_path: Path, http: httpx.AsyncClient
) -> None:
    killed_server(tmp_path / "data")
    listed = (await http.get(PATH)).json()["sweeps"]
    assert {each["id"]: each["state"] for each in listed} == {
        "waiting": "interrupted", "running": "interrupted", "finished": "finished",
    }  # fmt: skip
    assert (await http.get(f"{PATH}/running")).json()["state"] == "interrupted"
    told = (await http.get(f"{PATH}/running/events", headers={"Last-Event-ID": "5"})).text
    assert '"state":"interrupted"' in told
    last = told.splitlines()[0].removeprefix("id: ")
    again = await http.get(f"{PATH}/running/events", headers={"Last-Event-ID": last})
    assert again.status_code == 204, "a browser's EventSource then stops asking"
    assert (await http.get(f"{PATH}/running/export")).status_code == 409


async def test_a_gateway_shows_what_a_server_with_a_model_has_finished(
    tmp_path: Path, http: httpx.AsyncClient
) -> None:
    store = SweepStore(tmp_path / "data")
    store.begin(entry("a"))
    finish(store, "a")
    store.begin(entry("b"))
    record = await http.get(f"{PATH}/a")
    assert record.json()["summary"] is not None
    followed = await http.get(f"{PATH}/a/events")
    assert followed.text.count("data: ") == len(EVENTS) + 1
    csv = await http.get(f"{PATH}/a/export", params={"format": "csv"})
    assert csv.status_code == 200
    under_way = await http.get(f"{PATH}/b/events")
    assert under_way.status_code == 409
    assert (await http.get(f"{PATH}/b")).json()["state"] == "waiting"
    store.close()


async def test_what_takes_a_model_still_says_that_there_is_none(http: httpx.AsyncClient) -> None:
    assert (await http.get(PATH)).json() == {"sweeps": [], "next": None}
    assert (await http.get(f"{PATH}/nobody")).status_code == 404
    for answer in (await http.post(PATH, json=SWEEP), await http.delete(f"{PATH}/a")):
        assert answer.status_code == 404
        assert "--model" in answer.text


async def test_a_gateway_names_stars_and_deletes_what_a_server_with_a_model_has_finished(
    tmp_path: Path, http: httpx.AsyncClient
) -> None:
    store = SweepStore(tmp_path / "data")
    for sweep in ("a", "b", "c"):
        store.begin(entry(sweep))
    finish(store, "a")
    finish(store, "b")
    named = await http.patch(f"{SAID}/a", json={"name": "Eiffel", "starred": True})
    assert (named.status_code, named.json()["name"]) == (200, "Eiffel")
    listed = (await http.get("/v1/sweeps", params={"starred": "true"})).json()["sweeps"]
    assert [(each["id"], each["starred"]) for each in listed] == [("a", True)]
    found = (await http.get(PATH, params={"search": "eiffel"})).json()["sweeps"]
    assert [each["id"] for each in found] == ["c", "b", "a"], "all were asked about it"
    gone = await http.delete(f"{SAID}/b")
    assert (gone.status_code, gone.json()["id"]) == (200, "b")
    assert (await http.get(f"{PATH}/b")).status_code == 404
    under_way = await http.delete(f"{SAID}/c")
    assert (under_way.status_code, under_way.json()["error"]["code"]) == (409, 409)
    assert store.entry("a").starred
    store.close()


@pytest.mark.parametrize(
    "body", [{"name": "x" * 121}, {"name": "a\nb"}, {"note": "x" * 4_001}, {"star": True}, []]
)
async def test_remarks_that_are_too_long_or_none_are_refused(
    tmp_path: Path, http: httpx.AsyncClient, body: object
) -> None:
    killed_server(tmp_path / "data")
    assert (await http.patch(f"{SAID}/finished", json=body)).status_code == 400


async def test_nothing_is_said_of_a_sweep_that_is_not_there(http: httpx.AsyncClient) -> None:
    for answer in (
        await http.patch(f"{SAID}/nobody", json={"name": "x"}),
        await http.delete(f"{SAID}/nobody"),
    ):
        assert answer.status_code == 404
        assert "GET /v1/sweeps lists them" in answer.json()["error"]["message"]
