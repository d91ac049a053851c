"""The autoencoders that come with Sonde: all there, small enough, and as good as they say."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sonde.errors import BadRequest
from sonde.sae.cards import card
from sonde.sae.feature_file import FEATURES, read_some
from sonde.sae.shipped import HELD_OUT, SHIPPED, find, layers
from sonde.schema.autoencoder import AutoencoderFile

if TYPE_CHECKING:
    from sonde import Model

LAYERS = [0, 7, 14, 15, 21]
CONTEXTS = 8


def test_there_is_one_for_every_layer_the_default_run_looks_at() -> None:
    assert list(layers()) == LAYERS
    assert find("15") == layers()[15]
    assert find(str(SHIPPED)) == SHIPPED


def test_a_layer_or_path_without_one_is_refused_with_what_there_is() -> None:
    with pytest.raises(BadRequest, match=r"layer 3 .* there are layers \[0, 7, 14, 15, 21\]"):
        find("3")
    with pytest.raises(BadRequest, match=r"there is no 'nowhere/at/all'"):
        find("nowhere/at/all")


@pytest.mark.parametrize("layer", LAYERS)
def test_its_files_are_small_and_its_card_says_what_its_configuration_says(layer: int) -> None:
    folder = layers()[layer]
    assert all(file.stat().st_size < 12_000_000 for file in folder.iterdir())
    config = AutoencoderFile.model_validate_json((folder / "autoencoder.json").read_text())
    assert (config.layer, config.hook, config.model) == (layer, "post_block", "smollm2")
    assert (folder / "README.md").read_text() == card(config)
    said = config.notes["evaluation"]
    assert said["fvu"] <= 0.15
    assert said["ce_recovered"] >= 0.95
    assert said["dead"] < 0.1
    assert said["tokens"] > 100_000


def test_every_feature_is_described() -> None:
    features = read_some(layers()[15] / FEATURES, range(4096))
    assert [each.feature for each in features] == list(range(4096))
    described = [each for each in features if each.snippets]
    assert len(described) > 0.99 * 4096
    assert all(each.promoted for each in features)


@pytest.mark.slow
def test_they_are_as_good_as_they_say_on_held_out_text(smollm2: "Model") -> None:
    from sonde.sae.corpus import documents, from_text
    from sonde.sae.evaluate import evaluate
    from sonde.sae.load import load_autoencoder

    backend: Any = smollm2.backend
    text = documents(HELD_OUT)
    contexts = from_text(backend.reader, text[:: len(text) // CONTEXTS], 256)
    loaded = {layer: load_autoencoder(folder) for layer, folder in layers().items()}
    for layer, found in evaluate(backend.reader, loaded, contexts).items():
        said = _said(layers()[layer])
        assert found.health.fvu is not None
        assert found.health.fvu == pytest.approx(said["fvu"], abs=0.03)
        assert found.health.fvu <= 0.15
        assert found.loss.recovered is not None
        assert found.loss.recovered >= 0.95
        assert found.health.dead is not None
        assert found.health.dead < 0.1


def _said(folder: Path) -> dict[str, float]:
    said: dict[str, float] = json.loads((folder / "autoencoder.json").read_text())["notes"][
        "evaluation"
    ]
    return said
