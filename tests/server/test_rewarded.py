"""A test of the reward on a server: streamed, kept, exported, as in process; refused by name."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sonde as package
from sonde.results import RewardSweep, Sweep
from sonde.sae.feature_file import FEATURES
from sonde.sae.formats.sonde import save_autoencoder
from sonde.sae.load import load_autoencoder
from sonde.schema.reward import TableSampling
from sonde.server.rewarded import Rewarded
from tests.reward.test_exam import run_of
from tests.sae.reading import mirror
from tests.server.checkpoints import a_run
from tests.server.contract.asking import refused, stream_lines, strict
from tests.server.test_pool_served import serving
from tests.server.tiny_server import Served

URL = "/v1/sweeps"
BODY: dict[str, Any] = {
    "features": {"layer": 1, "numbers": [3, 20], "draws": 1},
    "reward": {"run": "one", "prompts": 4},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the catalog, with a dictionary of its own and two checkpoints."""
    folder = tmp_path_factory.mktemp("rewarded")
    run = a_run(folder, (20, 40))
    path = save_autoencoder(mirror(1), folder / "mine")
    (path / FEATURES).touch()
    sha = load_autoencoder(path).origin.sha256
    file = {"layer_index": 1, "path": str(path / "autoencoder.safetensors"), "sha256": sha}
    run_of(run, ["one"], saes=[file], layers=[1])
    for step in (20, 40):
        config = run / f"checkpoint-{step}" / "config.json"
        wider = json.loads(config.read_text()) | {"max_position_embeddings": 512}
        config.write_text(json.dumps(wider))
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    with serving(folder, room=2) as (served, _loader, _size):
        yield served


def test_it_finds_what_is_found_in_process_and_is_kept(server: Served, folder: Path) -> None:
    with server.http.stream("POST", URL, json=BODY | {"stream": True}) as answer:
        *told, done = stream_lines(answer)
        sweep = answer.headers["X-Sweep-Id"]
    events = list(map(strict, told))
    kinds = [event["type"] for event in events]
    assert done == "[DONE]"
    assert kinds[-1] == "summary"
    assert {"loading", "start", "sampling", "cell", "reward"} <= set(kinds)
    [start] = [event for event in events if event["type"] == "start"]
    assert start["cells"] == 4 * (1 + 2 * 2)
    assert all(TableSampling.model_validate(e) for e in events if e["type"] == "sampling")
    features = package.Features(layer=1, numbers=[3, 20], draws=1)
    mine = package.checkpoints(folder / "one").reward(features, prompts=4)
    assert isinstance(mine, RewardSweep)
    assert events[-1]["reward"] == mine.reward.model_dump(mode="json")
    assert events[-1]["tables"] == [t.model_dump(mode="json") for t in mine.table.tables]
    record = server.http.get(f"{URL}/{sweep}").json()
    assert (record["state"], record["done"]) == ("finished", start["cells"])
    assert record["provenance"]["model"] == "one@checkpoint-40"
    for format in ("csv", "html", "png"):
        assert server.http.get(f"{URL}/{sweep}/export?format={format}").status_code == 200
    again = Sweep.from_json(server.http.get(f"{URL}/{sweep}/export?format=json").text)
    assert isinstance(again, RewardSweep)
    assert again.effects == mine.effects


def test_it_is_cancelled_like_any_sweep(server: Served) -> None:
    slow = BODY | {"reward": {"run": "one", "prompts": 64}}
    with server.http.stream("POST", URL, json=slow | {"stream": True}) as answer:
        sweep = answer.headers["X-Sweep-Id"]
        ended = server.http.delete(f"{URL}/{sweep}").json()
        *_, last = map(strict, stream_lines(answer))
    assert ended["state"] == "cancelled"
    assert last["state"] == "cancelled"


def test_an_estimate_counts_completions(server: Served) -> None:
    found = server.http.post(f"{URL}/estimate", json=BODY).json()
    assert found["cells"] == 4 * (1 + 2 * 2)
    assert found["seconds"] > 0
    assert Rewarded.kind == "table"


@pytest.mark.parametrize(
    ("fields", "status", "says"),
    [
        ({"reward": {"run": "two"}}, 404, "no such run"),
        ({"reward": {"run": "one", "step": 21}}, 404, "checkpoints of steps 20, 40"),
        ({"model": "one@checkpoint-20"}, 400, "leave `model` out"),
        ({"features": None}, 400, "say which layer"),
        ({"corrupt": "x", "answer": "y"}, 400, "'corrupt' has no meaning"),
        ({"features": {"layer": 1, "how": "patch"}}, 400, "no clean prompt"),
        ({"reward": {"run": "one", "prompts": 1}}, 400, "prompts"),
        ({"features": {"layer": 0, "numbers": [3]}}, 400, "layer 0 of this run"),
        ({"features": {"layer": 1, "top": 9_000, "draws": 9_000}}, 400, "completions; at most"),
    ],
)
def test_what_cannot_be_tested_is_said_with_a_status(
    server: Served, fields: dict[str, Any], status: int, says: str
) -> None:
    refused(server.http.post(URL, json=BODY | fields), status, says, plain=False)


def test_a_reward_of_somebody_s_own_is_not_loaded(server: Served, folder: Path) -> None:
    info = folder / "one" / "run.json"
    before = info.read_text()
    info.write_text(before.replace('"task": "catalog"', '"task": "mine.py:verify"'))
    try:
        refused(server.http.post(URL, json=BODY), 400, "give it with --reward", plain=False)
    finally:
        info.write_text(before)
