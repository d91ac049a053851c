"""`sonde ablate`, on a tiny model, and on a run."""

import json
from pathlib import Path

import pytest

from tests.cli.shell import refusal, sonde
from tests.runs.analytics.made import made_run

TEXT = "When Mary and John went to the store, John gave a drink to Mary. " * 200
PROMPT = "When Mary and John went to the store"


@pytest.fixture(scope="module")
def dictionary(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ablate")
    (folder / "text.txt").write_text(TEXT)
    made = sonde(
        "sae", "train", "--model", tiny, "--layers", "1", "--text", folder / "text.txt",
        "--context", 24, "--features", 48, "--k", 4, "--tokens", 1000, "--batch", 128,
        "--buffer", 1000, "--device", "cpu", "--out", folder / "saes",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    return folder / "saes" / "layer_1"


def test_features_of_a_prompt_are_removed_and_the_answer_is_shown_and_saved(
    tiny: Path, dictionary: Path, tmp_path: Path
) -> None:
    page = tmp_path / "why.html"
    asked = ["ablate", "--model", tiny, "--sae", dictionary, "--layer", "1", "--prompt", PROMPT]
    said = sonde(*asked, "--answer", " Mary", "--save", page)
    assert said.exit_code == 0, said.output
    assert "features of layer 1, removed" in said.stdout
    assert "random directions" in said.stdout
    assert "promotes" in said.stdout
    assert page.read_text().startswith("<!doctype html>")
    found = json.loads(sonde(*asked, "--answer", " Mary", "--json").stdout)
    assert found["layer"] == 1
    one = str(found["features"][0]["feature"])
    again = json.loads(sonde(*asked, "--answer", " Mary", "--features", one, "--json").stdout)
    assert [each["feature"] for each in again["features"]] == [int(one)]
    assert again["features"][0]["everywhere"] == found["features"][0]["everywhere"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--prompt", "a"], "--prompt and --answer go together"),
        (["some", "--prompt", "a", "--answer", "b"], "not both"),
        (["--prompt", "a", "--answer", "b"], "which layer?"),
        (["--prompt", "a", "--answer", "b", "--layer", "3"], "no autoencoder for layer 3"),
        (["--prompt", "a", "--answer", "b", "--features", "x"], "numbers with commas"),
        (["--prompt", "a", "--answer", "b", "--save", "x.png"], ".html, .json"),
    ],
)
def test_what_cannot_be_asked_is_one_line(options: list[str], says: str) -> None:
    assert says in refusal(sonde("ablate", *options))


def test_a_run_without_a_checkpoint_says_so(tmp_path: Path) -> None:
    made_run(tmp_path / "run", steps=2, save_every=9)
    assert "no checkpoint" in refusal(sonde("ablate", tmp_path / "run"))
