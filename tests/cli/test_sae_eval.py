"""`sonde sae eval`: sets side by side, saved, and refused before anything is loaded."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sonde.cli.sae_options import layer_of
from sonde.errors import BadRequest
from sonde.sae.formats.sonde import save_autoencoder
from tests.cli.shell import refusal, sonde
from tests.sae.reading import mirror

TEXT = "When Mary and John went to the store, John gave a drink to Mary. " * 60


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_autoencoder(mirror(1), tmp_path_factory.mktemp("set") / "layer_1")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("text") / "story.txt"
    file.write_text(TEXT)
    return file


def test_a_set_is_judged_beside_another_by_kind_of_text(
    trained: Path, tiny: Path, text: Path, tmp_path: Path
) -> None:
    (tmp_path / "other.txt").write_text("The Eiffel Tower is in the city of Paris. " * 80)
    (tmp_path / "story.txt").write_text(text.read_text()[:4000])
    picture, numbers = tmp_path / "eval.png", tmp_path / "eval.json"
    result = sonde(
        "sae", "eval", trained.parent, "--beside", trained, "--model", tiny, "--text", tmp_path,
        "--context", 24, "--each", "--concepts", "--device", "cpu", "--save", picture,
        "--save", numbers,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0].split() == ["1", "1", "beside"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    found = json.loads(numbers.read_text())
    assert found["1"] == found["beside"]["1"]
    assert set(found["each"]) == set(found["beside"]["each"]) == {"other", "story"}
    assert found["1"]["tokens"] == sum(kind["1"]["tokens"] for kind in found["each"].values())


def test_what_cannot_be_judged_or_saved_is_refused_before_a_model_is_loaded(trained: Path) -> None:
    assert "expected .png, .svg or .json" in refusal(
        sonde("sae", "eval", trained, "--save", "a.csv")
    )
    said = refusal(sonde("sae", "eval", trained, "--beside", "shipped"))
    assert "shipped has layers [0, 7, 15, 21], and none of them is judged: [1]" in said
    assert "named twice" in refusal(sonde("sae", "eval", trained, trained))


def test_a_dictionary_without_a_layer_asks_for_it() -> None:
    assert layer_of(mirror(3)) == 3
    with pytest.raises(BadRequest, match="say it with --layer"):
        layer_of(replace(mirror(3), layer=None))
