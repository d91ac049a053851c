"""Descriptions of features: of the right dictionary, or a reason why not."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sonde.runs.atomic import write_json
from sonde.runs.layout import RunLayout
from sonde.sae import shipped
from sonde.sae.feature_file import FEATURES, write_features
from sonde.schema.feature import Feature
from sonde.schema.records import Cadence, RunInfo, SAEFile
from tests.local import LOCAL
from tests.server.listening import gateway


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def url(root: Path) -> Iterator[str]:
    with gateway(root) as url:
        yield url


def describe(root: Path, name: str, *saes: SAEFile) -> None:
    cadence = Cadence(record_every_n_tokens=4, spill_every_n_steps=1, save_every_n_steps=50)
    info = RunInfo(
        run_id=name, model="m", saes=list(saes), layers=[7], k=16, cadence=cadence, versions={},
        started=1.0, status="running",
    )  # fmt: skip
    (root / name).mkdir()
    write_json(RunLayout(root / name).run_info, info.model_dump(by_alias=True))


def get(url: str, **query: Any) -> Any:
    return httpx.get(f"{url}/api/saes/7", params=query, **LOCAL)


def test_shipped_features_are_described_in_the_order_asked_for(url: str) -> None:
    found = get(url, features="12,3").json()
    assert [card["feature"] for card in found["features"]] == [12, 3]
    assert found["dictionary"] == "layer_7"
    assert found["features"][0]["snippets"]


def test_a_run_of_the_shipped_dictionary_gets_its_descriptions(root: Path, url: str) -> None:
    import json

    folder = shipped.layers()[7]
    sha256 = json.loads((folder / "autoencoder.json").read_text())["sha256"]
    describe(root, "same", SAEFile(layer_index=7, path="/gone/sae.safetensors", sha256=sha256))
    assert get(url, run="same", features="12").json()["features"][0]["feature"] == 12


def test_a_run_with_its_own_dictionary_never_gets_others(root: Path, url: str) -> None:
    own = root.parent / "own"
    own.mkdir()
    sae = SAEFile(layer_index=7, path=str(own / "sae.safetensors"), sha256="0" * 64)
    describe(root, "other", sae)
    found = get(url, run="other", features="0").json()
    assert found["features"] == []
    assert "nobody has described" in found["reason"]
    card = Feature(feature=0, rate=0.5, promoted=["mine"], suppressed=[], snippets=[])
    write_features(own / FEATURES, [card])
    assert get(url, run="other", features="0").json()["features"] == [card.model_dump()]


def test_a_run_that_does_not_say_is_not_guessed_at(root: Path, url: str) -> None:
    (root / "reference").mkdir()
    RunLayout(root / "reference").live.write_text("")
    assert "run.json" in get(url, run="reference", features="0").json()["reason"]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"features": "1,x"}, "not numbers"),
        ({"features": ",".join(["1"] * 257)}, "257 features are more than 256"),
        ({"features": "16384"}, "out of range"),
    ],
)
def test_a_bad_request_says_what_is_wrong(url: str, query: dict[str, str], says: str) -> None:
    answer = get(url, **query)
    assert answer.status_code == 400
    assert says in answer.text


def test_an_unknown_run_is_not_found(url: str) -> None:
    assert get(url, run="nowhere", features="1").status_code == 404
