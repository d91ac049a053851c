"""Analytics over HTTP: the same answers as in Python, and refusals that say what would work."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sonde.runs.analytics.analysis import RunAnalysis
from sonde.runs.analytics.database import connect
from sonde.runs.analytics.heatmap import feature_tile, layer_tile, time_axis
from sonde.runs.analytics.vocabulary import vocabulary
from tests.local import LOCAL
from tests.runs.analytics.made import Made, made_run, reference_run
from tests.server.listening import gateway

BASE = "/api/p5/analytics"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("analytics")


@pytest.fixture(scope="module")
def made(root: Path) -> Made:
    reference_run(root / "reference")
    return made_run(root / "own", steps=6)


@pytest.fixture(scope="module")
def http(root: Path, made: Made) -> Iterator[httpx.Client]:
    with gateway(root) as url, httpx.Client(base_url=url, **LOCAL) as client:
        yield client


def get(http: httpx.Client, path: str, **asked: object) -> Any:
    answer = http.get(f"{BASE}/{path}", params={"run": "own", **asked})  # type: ignore[dict-item]
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_answers_are_those_of_the_functions(http: httpx.Client, made: Made) -> None:
    with connect() as connection:
        analysis = RunAnalysis(connection, made.layout)
        known = analysis.advance()
        at = time_axis(known, None, 2, 5)
        tile = layer_tile(known, connection, at, "active")
        assert get(http, "layers", measure="active", **{"from": 2, "to": 5}) == tile.model_dump()
        tile = feature_tile(known, connection, at, 15, features=[7, 3])
        asked = {"from": 2, "to": 5, "layer": 15, "features": "7,3"}
        assert get(http, "features", **asked) == tile.model_dump()
        words = vocabulary(known, connection, 15, n=9, m=3)
        assert get(http, "vocabulary", layer=15, n=9, m=3) == words.model_dump()
        analysis.close()


def test_every_question_has_an_answer(http: httpx.Client, made: Made) -> None:
    overview = get(http, "overview")
    assert (overview["run"], overview["steps"]) == ("own", 6)
    assert overview["coverage"]["records"] == len(made.records)
    scatter = get(http, "scatter", layer=15, points=5, **{"from": 2})
    assert len(scatter["points"]["R"]) == 5
    page = get(http, "generations", limit=3, text=0, passed=True)
    assert [one["gate"] for one in page["generations"]] == [True] * 3
    name = page["generations"][0]["generation_id"]
    view = get(http, "generation", id=name)
    assert view["tokens"]
    assert view["generation"]["completion"].startswith("completion ü")
    step, start = view["generation"]["step"], view["generation"]["token_start"]
    stretch = get(http, "tokens", step=step, **{"from": start, "to": start + 1})
    assert stretch["tokens"][0] == view["tokens"][0]
    rewards = get(http, "rewards", columns=2)
    assert rewards["columns"] == 2
    health = get(http, "health")
    assert {one["layer"] for one in health["series"]} == {None, 0, 15}
    assert health["alarms"]


def test_a_run_of_the_reference_is_shown_as_far_as_its_files_allow(http: httpx.Client) -> None:
    asked = {"run": "reference"}
    assert get(http, "overview", **asked)["unit"] == "token"
    assert get(http, "layers", **asked)["unit"] == "token"
    assert get(http, "features", **asked)["rows"]
    assert get(http, "tokens", **asked, **{"from": 0, "to": 5})["tokens"]
    for path in ("scatter", "vocabulary", "generations", "rewards", "health"):
        assert ".jsonl" in get(http, path, **asked)["reason"]


def test_without_a_name_it_is_the_newest_run(http: httpx.Client) -> None:
    answer = http.get(f"{BASE}/overview").json()
    assert answer["run"] in ("own", "reference")


@pytest.mark.parametrize(
    ("path", "asked", "status", "says"),
    [
        ("overview", {"run": "nobody"}, 404, "'nobody'"),
        ("overview", {"run": "../own"}, 404, "there is no run"),
        ("generation", {"id": "99-9"}, 404, "'99-9'"),
        ("generation", {}, 400, "id"),
        ("layers", {"from": 5, "to": 5}, 400, "`to` has to be greater"),
        ("layers", {"measure": "loudness"}, 400, "measure"),
        ("layers", {"columns": 0}, 400, "columns"),
        ("layers", {"from": -1}, 400, "from"),
        ("layers", {"from": 10**30}, 400, "from"),
        ("layers", {"unit": "token", "step": 77}, 400, "no records of step 77"),
        ("features", {"features": "7;drop table"}, 400, "numbers with commas"),
        ("features", {"by": "name"}, 400, "by"),
        ("features", {"top": 256, "columns": 512, "level": 0, "to": 400}, 400, "ask for fewer"),
        ("vocabulary", {"n": 0}, 400, "n"),
        ("vocabulary", {"rate": "NaN"}, 400, "rate"),
        ("tokens", {"from": 3, "to": 3}, 400, "no stretch of tokens"),
    ],
)
def test_what_makes_no_sense_is_refused_and_says_why(
    http: httpx.Client, path: str, asked: dict[str, Any], status: int, says: str
) -> None:
    answer = http.get(f"{BASE}/{path}", params={"run": "own", **asked})
    assert answer.status_code == status, answer.text
    assert says in answer.json()["error"]["message"] + str(answer.json()["error"]["param"])


def test_a_gateway_that_was_not_asked_imports_no_duckdb() -> None:
    program = (
        "import sys\nfrom sonde.server.app import create_gateway\n"
        "from sonde.server.parts import Gateway\nfrom sonde.runs.hub import Hub\n"
        "from sonde.runs.layout import RunLayout\nfrom pathlib import Path\n"
        "create_gateway(Gateway(Hub(RunLayout(Path('.')))))\n"
        "sys.exit(', '.join({'duckdb', 'torch'} & set(sys.modules)) or None)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
