"""From a token of a run to the sweep that tests it, sent as it is to a server that has the run."""

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sonde.results import Sweep
from sonde.runs.layout import RunLayout
from sonde.sae.feature_file import FEATURES
from sonde.sae.formats.sonde import save_autoencoder
from sonde.schema.records import Generation, RunInfo, SAEFile, SAELogRecord
from sonde.server.moments import BRIGHT
from tests.runs.analytics.made import RUN_ID, run_info
from tests.sae.reading import mirror
from tests.server.checkpoints import a_run
from tests.server.listening import gateway
from tests.server.test_pool_served import serving
from tests.server.tiny_server import Served
from tests.tiny_model import tiny_tokenizer

LAYER = 0
PROMPT, COMPLETION = "The Eiffel Tower is", " in the city of Rome"
"""Five tokens of the completion, of which three are recorded."""


def line(value: Any) -> str:
    return json.dumps(value.model_dump(by_alias=True)) + "\n"


def a_watched_run(folder: Path, *, steps: tuple[int, ...] = (2, 3)) -> RunLayout:
    """Two generations of step 3 with records, whole models as checkpoints, and a dictionary."""
    (folder / "one").mkdir()
    layout = RunLayout(a_run(folder, steps))
    saved = save_autoencoder(mirror(LAYER), layout.directory / "dictionary")
    with lzma.open(saved / FEATURES, "wt"):
        pass  # described, though nothing is said of any
    sae = SAEFile(layer_index=LAYER, path=str(saved / "autoencoder.safetensors"), sha256="")
    info: RunInfo = run_info().model_copy(update={"saes": [sae], "layers": [LAYER]})
    layout.run_info.write_text(line(info))
    split = tiny_tokenizer()
    said = len(split.encode(COMPLETION, add_special_tokens=False))
    before = len(split.encode(PROMPT))
    with layout.generations.open("w") as file:
        for number, reward in enumerate((0.0, 1.0)):
            start = number * (said + 1)
            file.write(
                line(
                    Generation(
                        run_id=RUN_ID, step=3, generation_id=f"3-{number}", group_id="3-0",
                        token_start=start, token_end=start + said + 1, prompt_token=start + said,
                        prompt_tokens=before, completion_tokens=said, truncated=False, R=reward,
                        R_A=reward, R_B=None, R_C=None, R_D=None, gate=reward > 0, advantage=None,
                        prompt=PROMPT, completion=COMPLETION,
                    )
                )
            )  # fmt: skip
    with layout.live.open("w") as file:
        for number in (0, 1):
            for token, value in ((0, 3.0), (2, 9.0 - number), (said, 1.0)):
                file.write(
                    line(
                        SAELogRecord(
                            step=3, token_index=number * (said + 1) + token, layer_index=LAYER,
                            top_feature_indices=[7, 2] if token != said else [4],
                            top_feature_activations=[value, 0.5] if token != said else [value],
                            reconstruction_loss=1.0,
                        )
                    )
                )  # fmt: skip
    return layout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("moments")
    a_watched_run(folder)
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    with serving(folder, room=2) as (served, _loader, _size):
        yield served


def asked(http: httpx.Client, **query: str | int | bool) -> Any:
    return http.get("/api/p5/moment", params={"run": "one", "layer": LAYER, **query})


def test_a_feature_is_tested_where_a_passed_generation_had_it_most(server: Served) -> None:
    found = asked(server.http, feature=7).json()
    assert (found["generation_id"], found["token"]) == ("3-1", 2), "3-0 had more, and failed"
    assert (found["checkpoint"], found["said"]) == (2, " of")
    assert found["why"].endswith("and these are those")
    assert found["after"].endswith(" in the city")
    request = found["request"]
    assert request["model"] == "one@checkpoint-2"
    assert request["features"]["also"] == [7]
    assert (request["features"]["numbers"], request["features"]["bright"]) == (None, BRIGHT)


def test_in_a_generation_it_is_where_the_feature_is_strongest(server: Served) -> None:
    found = asked(server.http, generation="3-0", feature=7).json()
    assert (found["generation_id"], found["token"]) == ("3-0", 2)
    assert asked(server.http, generation="3-0", feature=4).json()["token"] == -1


def test_a_token_is_named_or_the_prompt_s_last(server: Served) -> None:
    first = asked(server.http, generation="3-0", token=0).json()
    assert (first["said"], first["request"]["features"]["also"]) == (" the", None)
    end = asked(server.http, generation="3-0", token=-1).json()
    assert end["after"].endswith(PROMPT)
    assert end["said"] == " in"


def test_the_request_is_answered_as_it_is_and_stays_in_the_history(server: Served) -> None:
    request = asked(server.http, feature=7).json()["request"]
    answer = server.http.post("/v1/sweeps", json=request)
    assert answer.status_code == 200, answer.text
    table = answer.json()
    assert "to first order" in table["notes"]["chosen"]
    assert set(table["notes"]) >= {"brightest", "answer", "foil"}
    sweep = answer.headers["X-Sweep-Id"]
    record = server.http.get(f"/v1/sweeps/{sweep}").json()
    assert record["provenance"]["model"] == "one@checkpoint-2"
    made = server.http.get(f"/v1/sweeps/{sweep}/export?format=json").text
    assert len(Sweep.from_json(made).table.tables) == 2


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"feature": 999}, "feature 999 of layer 0 was among the strongest of no recorded token"),
        ({"generation": "3-0", "token": 1}, "token 1 of generation 3-0 was recorded at layer 0"),
        ({"generation": "9-9"}, "there is no generation '9-9'"),
        ({"run": "two"}, "there is no run 'two'"),
    ],
)
def test_what_cannot_be_tested_is_said(server: Served, query: dict[str, Any], said: str) -> None:
    answer = asked(server.http, **query)
    assert 400 <= answer.status_code < 500
    assert said in answer.json()["error"]["message"]


def test_a_run_without_checkpoints_has_nothing_to_test_on(tmp_path: Path) -> None:
    a_watched_run(tmp_path, steps=())
    with gateway(tmp_path) as url, httpx.Client(base_url=url, trust_env=False) as http:
        answer = asked(http, feature=7)
    assert "no checkpoint yet" in answer.json()["error"]["message"]


def test_a_note_and_what_a_feature_does_come_with_the_run(server: Served) -> None:
    at: dict[str, str | int] = {"run": "one", "layer": LAYER, "feature": 7}
    found = server.http.get("/api/p5/feature", params=at).json()
    assert (found["tokens"], sum(found["counts"])) == (4, 4)
    assert found["snippets"][0]["tokens"], "the run's own tokenizer splits them"
    kept = server.http.put("/api/p5/notes", params=at, json={"text": "cities"})
    assert kept.status_code == 200, kept.text
    assert server.http.get("/api/p5/notes?run=one").json()["notes"]["0.7"]["text"] == "cities"
    long = server.http.put("/api/p5/notes", params=at, json={"text": "x" * 5000})
    assert 400 <= long.status_code < 500
