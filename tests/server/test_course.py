"""A sweep over a run's checkpoints on a server: streamed and exported, each as in process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sonde as package
from sonde.errors import BadRequest
from sonde.results import CheckpointSweep, Sweep
from sonde.sae.formats.sonde import save_autoencoder
from sonde.schema.table import SweepRequest
from sonde.server.course import Course
from sonde.server.dictionaries import Dictionaries
from tests.cli.shell import refusal, sonde
from tests.sae.reading import mirror
from tests.server.checkpoints import STEPS, a_run
from tests.server.contract.asking import refused, stream_lines, strict
from tests.server.test_pool_served import serving
from tests.server.tiny_server import OTHER, PROMPT, Served

URL = "/v1/sweeps"
SINGLE: dict[str, Any] = {
    "corrupt": OTHER, "clean": PROMPT, "answer": " Paris", "pairing": "last",
    "metrics": ["prob"],
}  # fmt: skip
BODY = SINGLE | {"checkpoints": {"run": "one"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("course")
    a_run(folder)
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    with serving(folder, room=2) as (served, _loader, _size):
        yield served


def in_process(folder: Path, **asked: Any) -> CheckpointSweep:
    return package.checkpoints(folder / "one").sweep(**SINGLE | asked)


def test_the_table_is_that_of_the_same_sweep_in_process(server: Served, folder: Path) -> None:
    answer = server.http.post(URL, json=BODY)
    assert answer.status_code == 200, answer.text
    made, mine = strict(answer.text), in_process(folder)
    assert made["tables"] == [t.model_dump(mode="json") for t in mine.whole.tables]
    assert [record["step"] for record in made["checkpoints"]] == list(STEPS)
    assert [r["weights"] for r in made["checkpoints"]] == [r.weights for r in mine.records]
    assert [r["model"] for r in made["checkpoints"]] == [f"one@checkpoint-{s}" for s in STEPS]


def test_a_stream_tells_how_models_are_loaded_and_every_cell_once(server: Served) -> None:
    with server.http.stream("POST", URL, json=BODY | {"stream": True}) as answer:
        *lines, done = stream_lines(answer)
        sweep = answer.headers["X-Sweep-Id"]
    events = list(map(strict, lines))
    kinds = [event["type"] for event in events]
    assert done == "[DONE]"
    assert kinds[-1] == "summary"
    assert "loading" in kinds
    [start] = [event for event in events if event["type"] == "start"]
    cells = [tuple(event["at"]) for event in events if event["type"] == "cell"]
    assert len(set(cells)) == len(cells) == start["cells"]
    record = server.http.get(f"{URL}/{sweep}").json()
    assert (record["state"], record["done"]) == ("finished", start["cells"])
    assert record["provenance"]["weights"] == events[-1]["checkpoints"][-1]["weights"]
    for format in ("csv", "json", "html", "png"):
        assert server.http.get(f"{URL}/{sweep}/export?format={format}").status_code == 200


def test_an_estimate_is_so_many_times_that_of_one(server: Served) -> None:
    one = SINGLE | {"model": f"one@checkpoint-{STEPS[-1]}"}
    single = server.http.post(f"{URL}/estimate", json=one).json()
    many = server.http.post(f"{URL}/estimate", json=BODY).json()
    assert many["cells"] == 3 * single["cells"]


def test_the_command_asks_the_same_here_and_of_a_server(
    server: Served, folder: Path, tmp_path: Path
) -> None:
    asked = ["sweep", "--clean", PROMPT, "--corrupt", OTHER, "--answer", " Paris"]
    asked += ["--pairing", "last", "--metric", "logprob", "--metric", "prob"]
    here = sonde(*asked, "--run", folder / "one", "--checkpoints", "20,60", "--json")
    there = sonde(
        *asked, "--run", "one", "--checkpoints", "20,60", "--url", server.url,
        "--save", tmp_path / "course.html",
    )  # fmt: skip
    assert here.exit_code == 0, here.output
    assert there.exit_code == 0, there.output
    found = Sweep.from_json(here.stdout)
    assert isinstance(found, CheckpointSweep)
    assert found.steps == [20, 60]
    assert "step 20" in there.stdout
    assert (tmp_path / "course.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--checkpoints", "all"], "give --run too"),
        (["--run", "x", "--model", "y"], "leave --model out"),
        (["--run", "x", "--estimate"], "of one model"),
        (["--run", "x", "--checkpoints", "new"], "steps of checkpoints"),
    ],
)
def test_options_that_do_not_go_together_are_one_line(options: list[str], says: str) -> None:
    assert says in refusal(sonde("sweep", "--pair", "eiffel", *options))


@pytest.mark.parametrize(
    ("fields", "status", "says"),
    [
        ({"checkpoints": {"run": "two"}}, 404, "no such run"),
        ({"checkpoints": {"run": "one", "steps": [21]}}, 404, "checkpoints of steps 20, 40, 60"),
        ({"model": "base"}, 400, "leave `model` out"),
        ({"checkpoints": {"run": "one", "steps": []}}, 400, "steps"),
        ({"source_run": "mine"}, 400, "source_run is of one model"),
    ],
)
def test_what_cannot_be_swept_is_said_with_a_status(
    server: Served, fields: dict[str, Any], status: int, says: str
) -> None:
    refused(server.http.post(URL, json=BODY | fields), status, says, plain=False)


def test_features_are_of_the_run_s_own_dictionary_unless_another_is_named(tmp_path: Path) -> None:
    a_run(tmp_path)
    named = Dictionaries({"mine": save_autoencoder(mirror(1), tmp_path / "mine")})
    with serving(tmp_path, room=4) as (served, _loader, _size):
        features = {"layer": 1, "by": "activation", "top": 2, "draws": 1}
        body = SweepRequest(**BODY | {"features": features})
        course = Course.of(body, served.parts.models, named)
        with pytest.raises(BadRequest, match="no dictionary and no run 'one'"):
            course.check(served.parts.backend, served.parts.sweeps._limits)
        mine = SweepRequest(**BODY | {"features": features | {"dictionary": "mine"}})
        Course.of(mine, served.parts.models, named).check(
            served.parts.backend, served.parts.sweeps._limits
        )
