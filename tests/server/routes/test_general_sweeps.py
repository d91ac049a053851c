"""`/v1/sweeps` over real HTTP, on a tiny model: the general request, answered in all its ways."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sonde.engine.tables import sweep_table
from sonde.results import Sweep
from sonde.sae.feature_axis import feature_cells
from sonde.sae.formats.sonde import save_autoencoder
from sonde.sae.load import load_autoencoder
from sonde.schema import SweepRecord
from sonde.schema.table import SweepRequest, SweepTable, TableSummary
from sonde.server.parts import Network
from sonde.server.serving import assemble, running_server
from tests.local import LOCAL
from tests.sae.reading import mirror
from tests.server.contract.asking import refused, stream_lines, strict, sweep_body, until, without
from tests.server.tiny_server import LAYERS, OTHER, PROMPT, Served, chatting_backend

URL, CLASSIC = "/v1/sweeps", "/v1/patch_sweep"
BODY: dict[str, Any] = {
    "corrupt": OTHER,
    "clean": PROMPT,
    "answer": " Paris",
    "foil": " Rome",
    "hooks": ["post_block", "mlp_out"],
    "metric": "logit_diff",
    "metrics": ["kl_clean", "rank"],
}
CELLS = 2 * LAYERS * 8
ENDLESS = BODY | {"layers": [0, 1, 2] * 1000, "positions": [1, 2, 3, 4] * 10}
FEATURES = {"corrupt": OTHER, "answer": " Paris", "features": {"layer": 1, "dictionary": "mirror"}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    named = {"mirror": save_autoencoder(mirror(1), folder / "mirror")}
    parts = assemble(chatting_backend(), folder / "data", network=Network(), dictionaries=named)
    with running_server(parts) as url, httpx.Client(base_url=url, timeout=60, **LOCAL) as http:
        yield Served(url, http, parts)


@pytest.fixture
def http(server: Served) -> httpx.Client:
    return server.http


def swept(http: httpx.Client, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The id and the answer of a sweep that must succeed."""
    answer = http.post(URL, json=body)
    assert answer.status_code == 200, answer.text
    return answer.headers["X-Sweep-Id"], strict(answer.text)


def events(http: httpx.Client, sweep: str, last: int | None = None) -> list[tuple[int, Any]]:
    """(number, event) of those that follow the last one heard."""
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    text = http.get(f"{URL}/{sweep}/events", headers=headers).text
    frames = [frame.split("\n") for frame in text.split("\n\n") if frame.startswith("id: ")]
    return [(int(i.removeprefix("id: ")), json.loads(d.removeprefix("data: "))) for i, d in frames]


def in_process(server: Served, body: dict[str, Any], **options: Any) -> dict[str, Any]:
    """The same sweep without a server."""
    *_, summary = sweep_table(server.parts.backend, SweepRequest(**body), **options)
    assert isinstance(summary, TableSummary)
    made: dict[str, Any] = json.loads(summary.model_dump_json(exclude={"type"}))
    return made


def test_the_answer_is_the_table_that_the_same_sweep_has_in_process(server: Served) -> None:
    _, made = swept(server.http, BODY)
    assert without(made) == without(in_process(server, BODY))
    assert [table["hook"] for table in made["tables"]] == BODY["hooks"]
    assert SweepTable.model_validate(made).metric == "logit_diff"


def test_a_stream_has_its_id_every_cell_and_the_same_summary(http: httpx.Client) -> None:
    _, whole = swept(http, BODY)
    with http.stream("POST", URL, json=BODY | {"stream": True}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        *lines, done = stream_lines(answer)
        sweep = answer.headers["X-Sweep-Id"]
    start, *cells, summary = map(strict, lines)
    assert done == "[DONE]"
    assert (start["type"], start["id"], start["cells"]) == ("start", sweep, CELLS)
    assert {cell["type"] for cell in cells} == {"cell"}
    assert len({(cell["table"], *cell["at"]) for cell in cells}) == len(cells) == CELLS
    assert summary.pop("type") == "summary"
    assert without(summary) == without(whole)


def test_one_that_nobody_waits_for_is_followed_from_any_event(http: httpx.Client) -> None:
    answer = http.post(URL, json=BODY, headers={"Prefer": "respond-async"})
    entry = answer.json()
    assert answer.status_code == 202
    assert answer.headers["Location"] == f"{URL}/{entry['id']}"
    assert (entry["kind"], entry["done"]) == ("table", 0)
    told = events(http, entry["id"])
    assert [number for number, _ in told] == list(range(1, CELLS + 3))
    assert told[-1][1]["type"] == "summary"
    assert events(http, entry["id"], 7) == told[7:]
    over = http.get(f"{URL}/{entry['id']}/events", headers={"Last-Event-ID": str(len(told))})
    assert over.status_code == 204
    record = http.get(f"{URL}/{entry['id']}").json()
    assert (record["state"], record["summary"]) == ("finished", None)
    assert {"type": "summary"} | record["table"] == told[-1][1]


def test_one_that_is_cancelled_midway_leaves_no_captured_run(server: Served) -> None:
    http = server.http
    with http.stream("POST", URL, json=ENDLESS | {"stream": True}) as answer:
        lines = stream_lines(answer)
        sweep = strict(next(lines))["id"]
        assert strict(next(lines))["type"] == "cell"
        assert server.parts.backend.manifests(), "the clean run is held while it is swept"
        cancelled = http.delete(f"{URL}/{sweep}").json()
        *_, last = map(strict, lines)
    assert cancelled == {"cancelled": True, "state": "cancelled"}
    assert (last["type"], last["state"]) == ("error", "cancelled")
    assert server.parts.backend.manifests() == {}
    assert http.delete(f"{URL}/{sweep}").json() == {"cancelled": False, "state": "cancelled"}


def test_a_client_that_leaves_stops_it(server: Served) -> None:
    with server.http.stream("POST", URL, json=ENDLESS | {"stream": True}) as answer:
        sweep = strict(next(stream_lines(answer)))["id"]
    until(lambda: server.parts.sweeps.record(sweep).state == "cancelled", "it is cancelled")
    assert server.parts.backend.manifests() == {}


def test_one_history_lists_both_kinds_and_the_classic_view_only_its_own(
    http: httpx.Client,
) -> None:
    general, made = swept(http, BODY)
    classic = http.post(CLASSIC, json=sweep_body()).headers["X-Sweep-Id"]
    first, second = http.get(URL, params={"limit": 2}).json()["sweeps"]
    assert [first["id"], second["id"]] == [classic, general]
    assert "kind" not in first
    assert second["kind"] == "table"
    assert second["provenance"]["request"]["corrupt"] == OTHER
    assert http.get(CLASSIC, params={"limit": 1}).json()["sweeps"] == [first]
    assert general not in [each["id"] for each in http.get(CLASSIC).json()["sweeps"]]
    shown = http.get(f"{URL}/{classic}").content
    assert shown == http.get(f"{CLASSIC}/{classic}").content, "either path has the same record"
    record = SweepRecord.model_validate(http.get(f"{URL}/{general}").json())
    assert record.table == SweepTable.model_validate(made)
    for answer in (
        http.get(f"{CLASSIC}/{general}"),
        http.get(f"{CLASSIC}/{general}/events"),
        http.get(f"{CLASSIC}/{general}/export"),
        http.delete(f"{CLASSIC}/{general}"),
    ):
        refused(answer, 404, "no sweep")
    refused(http.get(f"{URL}/nobody"), 404, "GET /v1/sweeps lists them", plain=False)


BEGINNINGS = {
    "json": b"{", "csv": b'"hook"', "parquet": b"PAR1", "png": b"\x89PNG", "svg": b"<?xml",
    "html": b"<!doctype html>",
}  # fmt: skip


def test_it_is_exported_in_every_format(http: httpx.Client) -> None:
    sweep, made = swept(http, BODY)
    for format, begins in BEGINNINGS.items():
        answer = http.get(f"{URL}/{sweep}/export", params={"format": format})
        assert answer.status_code == 200, (format, answer.text)
        assert answer.content[: len(begins)].lower() == begins.lower(), format
        assert f'filename="sweep-{sweep}.{format}"' in answer.headers["content-disposition"]
    text = http.get(f"{URL}/{sweep}/export").text
    assert Sweep.from_json(text).table == SweepTable.model_validate(made)


def test_an_estimate_counts_the_cells_and_leaves_nothing(server: Served) -> None:
    before = server.http.get(URL).json()
    cost = server.http.post(f"{URL}/estimate", json=BODY).json()
    assert cost["cells"] == CELLS
    assert server.http.get(URL).json() == before
    assert server.parts.backend.manifests() == {}


def test_features_of_a_named_dictionary_are_removed(server: Served, tmp_path: Path) -> None:
    sweep, made = swept(server.http, FEATURES)
    dictionary = load_autoencoder(save_autoencoder(mirror(1), tmp_path / "mirror"))
    cells_of = feature_cells(dictionary, name="mirror")
    assert without(made) == without(in_process(server, FEATURES, cells_of=cells_of))
    assert [table["kind"] for table in made["tables"]] == ["cells", "random_direction"]
    assert made["notes"]["dictionary"] == "mirror"
    for format in BEGINNINGS:
        assert server.http.get(f"{URL}/{sweep}/export?format={format}").status_code == 200, format
    cost = server.http.post(f"{URL}/estimate", json=FEATURES).json()
    assert cost["cells"] == len([event for _, event in events(server.http, sweep)]) - 2


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"layerz": [1]}, 400, "layerz"),
        ({"hooks": ["nowhere"]}, 400, "nowhere"),
        ({"layers": [99]}, 400, "99"),
        ({"clean": None}, 400, "clean prompt"),
        ({"model": "somebody-else"}, 404, "'tiny'"),
        ({"features": {"layer": 1, "dictionary": "../../etc"}, "hooks": None}, 400, "mirror"),
        ({"features": {"layer": 1}}, 400, "features.dictionary: mirror"),
        ({"features": {"layer": 1, "dictionary": "mirror"}}, 400, "leave 'hooks' out"),
    ],
)
def test_what_is_wrong_is_json_with_a_status_also_for_a_stream(
    http: httpx.Client, fields: dict[str, Any], status: int, words: str, stream: bool
) -> None:
    answer = http.post(URL, json=BODY | fields | {"stream": stream})
    refused(answer, status, words, plain=False)


def test_a_request_that_is_refused_at_once_is_not_in_the_history(http: httpx.Client) -> None:
    before = http.get(URL).json()
    for fields in ({"hooks": ["nowhere"]}, {"model": "nobody"}):
        answer = http.post(URL, json=BODY | fields, headers={"Prefer": "respond-async"})
        assert answer.status_code in (400, 404)
    assert http.get(URL).json() == before


def test_edges_are_streamed_estimated_exported_and_refused(http: httpx.Client) -> None:
    body = {name: BODY[name] for name in ("corrupt", "clean", "answer", "foil", "metric")} | {
        "senders": ["embed", "z:0", "mlp_out:1"], "receivers": ["q:2", "mlp:1", "logits", "total"],
    }  # fmt: skip
    sweep, found = swept(http, body)
    [table] = found["tables"]
    assert [axis["name"] for axis in table["axes"]] == ["sender", "receiver"]
    with http.stream("POST", URL, json=body | {"stream": True}) as answer:
        told = [json.loads(line) for line in stream_lines(answer) if line != "[DONE]"]
    cells = [event for event in told if event["type"] == "cell"]
    assert len(cells) == found["timing"]["cells"]
    assert http.post(f"{URL}/estimate", json=body).json()["cells"] == len(cells)
    for format in ("html", "csv", "parquet", "png", "svg"):
        assert http.get(f"{URL}/{sweep}/export", params={"format": format}).status_code == 200
    scored = body | {"receivers": ["all"], "method": "attribution", "verify": 3, "sample": 3}
    assert swept(http, scored)[1]["verification"]["verified"] == 6
    joined = body | {"frozen": "path", "receivers": ["q:2.0+total"]}
    refused(http.post(URL, json=joined), 400, "total stands alone", plain=False)
