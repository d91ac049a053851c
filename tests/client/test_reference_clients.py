"""Programs written for other patching servers run against Sonde's, unmodified."""

import asyncio
from collections.abc import Iterator

import httpx
import pytest

from tests.client.conftest import CLEAN, CORRUPT
from tests.client.reference_calls import Dashboard, LibraryClient

SUMMARY_KEYS = {
    "layers", "positions", "hook", "metric", "grid", "clean", "corrupt", "argmax", "skipped",
    "alignment", "noise_floor", "auto_captured", "captured_source_run", "hook_grids",
}  # fmt: skip


@pytest.fixture
def library(url: str) -> Iterator[LibraryClient]:
    with LibraryClient(url) as client:
        yield client


def test_the_walkthrough_runs_from_capture_to_drop(library: LibraryClient) -> None:
    n_clean, clean = library.capture(CLEAN, "walkthrough", " Paris")
    assert n_clean == 8

    positions = library.span(CORRUPT, "city of")
    assert positions == [5, 6]
    cells = [
        [library.cell(CORRUPT, " Paris", "walkthrough", layer, p, p + 1) for p in positions]
        for layer in range(4)
    ]

    served = library.sweep(
        library.sweep_body(
            source_run="walkthrough",
            clean_prompt=CLEAN,
            clean_baseline=clean,
            positions=[{"span": "city of", "occurrence": 0}],
        )
    )
    assert set(served) >= SUMMARY_KEYS
    assert served["grid"] == cells
    assert served["clean"] == clean
    assert f"noise floor {served['noise_floor']:.3g}" == "noise floor 0"
    assert (served["auto_captured"], served["captured_source_run"]) == (False, None)

    layer, position = served["argmax"]["layer"], served["argmax"]["position"]
    around = range(max(layer - 1, 0), min(layer + 2, 4))
    zoomed = [
        library.cell(CORRUPT, " Paris", "walkthrough", n, position, position + 1) for n in around
    ]
    assert zoomed == [cells[n][positions.index(position)] for n in around]

    assert library.drop("walkthrough") is True
    assert library.drop("walkthrough") is False


def test_the_library_streams_a_multi_hook_sweep_of_a_prompt_captured_on_the_way(
    library: LibraryClient,
) -> None:
    body = library.sweep_body(
        clean_prompt=CLEAN, metric="recovered", hooks=["mlp_in", "post_block"]
    )
    cells, summary = library.streamed(body | {"stream": True})
    assert len(cells) == 2 * 4 * 6
    assert all(set(cell) >= {"hook", "layer", "position", "value"} for cell in cells)
    assert (summary["auto_captured"], summary["captured_source_run"]) == (True, body["source_run"])
    whole = library.sweep(body)
    for changing in ("timing",):
        whole.pop(changing), summary.pop(changing)
    assert {**whole, "type": "summary"} == summary
    assert [each["hook"] for each in summary["hook_grids"]] == ["mlp_in", "post_block"]
    assert library.drop(body["source_run"]) is False


def test_the_library_sends_vectors_and_masks_only_when_they_are_set(library: LibraryClient) -> None:
    body = library.sweep_body(source_module="zeros", mask={"indices": [0, 1]})
    for absent in ("source_run", "clean_prompt", "clean_baseline", "keep_source"):
        del body[absent]
    found = library.sweep(body)
    assert (found["clean"], found["alignment"], found["hook_grids"]) == (None, None, None)
    assert len(found["positions"]) == 7


def test_what_is_wrong_is_plain_json_also_when_a_stream_was_asked_for(
    library: LibraryClient,
) -> None:
    wrong = library.sweep_body(source_run="absent", stream=True)
    response = httpx.post(f"{library.base}/patch_sweep", json=wrong)
    assert (response.status_code, response.headers["content-type"]) == (400, "application/json")
    assert response.json()["error"] != ""
    with pytest.raises(httpx.HTTPStatusError):
        library.streamed(wrong)


def test_text_that_splits_lines_elsewhere_does_not_split_an_event(library: LibraryClient) -> None:
    """Line by line means `str.splitlines`, to which U+2028 and U+0085 are ends of lines."""
    prompt = "The\u2028city\u2029of\x85Rome"
    body = library.sweep_body(prompt=prompt, clean_prompt=prompt, layers=[1], stream=True)
    cells, summary = library.streamed(body)
    assert len(cells) == len(summary["positions"])


def test_the_dashboard_fills_its_heatmaps_cell_by_cell(url: str) -> None:
    page = Dashboard(url)
    start, *cells, summary = page.events(page.body())
    assert start["type"] == "start"
    assert (start["hooks"], start["layers"]) == (["post_block", "mlp_out"], [0, 2])
    assert {cell["type"] for cell in cells} == {"cell"}
    filled = {(cell["hook"], cell["layer"], cell["position"]): cell["value"] for cell in cells}
    assert len(filled) == 2 * 2 * len(start["positions"])
    for each in summary["hook_grids"]:
        for layer, row in zip(summary["layers"], each["grid"], strict=True):
            for position, value in zip(summary["positions"], row, strict=True):
                assert filled[each["hook"], layer, position] == value
    assert summary["captured_source_run"] == page.run
    assert page.labels(CORRUPT)[:2] == ["The", " Colosseum"]


def test_the_dashboard_shows_the_servers_message(url: str) -> None:
    page = Dashboard(url)
    with pytest.raises(RuntimeError, match="answer_token ' Atlantis' tokenizes to"):
        list(page.events(page.body(answer_token=" Atlantis")))


def test_a_dashboard_that_is_closed_stops_its_sweep(url: str) -> None:
    page = Dashboard(url)
    events = page.events(page.body(layers={"start": 0, "stop": 4}))
    assert next(events)["type"] == "start"
    events.close()  # type: ignore[attr-defined]  # it is a generator

    async def forgotten() -> None:
        async with asyncio.timeout(30), httpx.AsyncClient() as client:
            while True:
                runs = (await client.get(f"{url}/v1/patch_source")).json()["runs"]
                if page.run not in {run["run"] for run in runs}:
                    return
                await asyncio.sleep(0.01)

    asyncio.run(forgotten())
