"""The autoencoders that come with Sonde: all there, small enough, and as good as they say."""

from typing import TYPE_CHECKING, Any

import pytest

from sonde.errors import BadRequest
from sonde.sae.cards import card
from sonde.sae.feature_file import FEATURES, read_some
from sonde.sae.shipped import JUDGED, SHIPPED, find, layers
from sonde.schema.autoencoder import AutoencoderFile

if TYPE_CHECKING:
    from sonde import Model

LAYERS = [0, 7, 15, 21]
WIDE = [7, 15, 21]
FEATURES_OF = {0: 4096, 7: 16384, 15: 16384, 21: 16384}
UNEXPLAINED = {0: 0.06, 7: 0.09, 15: 0.13, 21: 0.15}
"""At most, on a sample of the text they are judged by; on all of it see the README beside them."""
EVERY = 4
"""Of the contexts of that text, one in so many."""


def test_there_is_one_for_every_layer_the_default_run_looks_at() -> None:
    assert list(layers()) == LAYERS
    assert find("15") == layers()[15]
    assert find(str(SHIPPED)) == SHIPPED


def test_a_layer_or_path_without_one_is_refused_with_what_there_is() -> None:
    with pytest.raises(BadRequest, match=r"layer 3 .* there are layers \[0, 7, 15, 21\]"):
        find("3")
    with pytest.raises(BadRequest, match=r"there is no 'nowhere/at/all'"):
        find("nowhere/at/all")


@pytest.mark.parametrize("layer", LAYERS)
def test_its_files_are_small_and_its_card_says_what_its_configuration_says(layer: int) -> None:
    folder = layers()[layer]
    assert all(file.stat().st_size < 20_000_000 for file in folder.iterdir())
    config = AutoencoderFile.model_validate_json((folder / "autoencoder.json").read_text())
    assert (config.layer, config.hook, config.model) == (layer, "post_block", "smollm2")
    assert (folder / "README.md").read_text() == card(config)
    assert config.d_sae == FEATURES_OF[layer]
    said = config.notes["evaluation"]
    assert said["fvu"] <= 0.125
    assert said["ce_recovered"] >= 0.98
    assert said["tokens"] > 10_000
    assert config.notes["described"]["never_active"] < 0.02


@pytest.mark.parametrize("layer", WIDE)
def test_the_wide_ones_are_sparse_and_none_of_their_features_is_dense(layer: int) -> None:
    config = AutoencoderFile.model_validate_json((layers()[layer] / "autoencoder.json").read_text())
    assert config.notes["recipe"]["k"] == 38
    said = config.notes["evaluation"]
    assert said["l0"] <= 40
    assert said["dense"] <= 15
    assert said["dead"] < 0.02


@pytest.mark.parametrize("layer", [0, 15])
def test_features_are_described_over_their_whole_range(layer: int) -> None:
    width = FEATURES_OF[layer]
    features = read_some(layers()[layer] / FEATURES, range(width))
    assert [each.feature for each in features] == list(range(width))
    assert sum(not each.snippets for each in features) < 0.01 * width
    full = [each for each in features if len(each.snippets) >= 20]
    assert len(full) > 0.8 * width
    parts = [{snippet.part for snippet in each.snippets} for each in full]
    assert all("top" in each and len(each) > 1 for each in parts)
    assert sum(len(each) == 3 for each in parts) > 0.75 * len(full)


@pytest.mark.slow
def test_they_are_as_good_on_text_they_were_not_trained_on(smollm2: "Model") -> None:
    from sonde.sae.corpus import documents, from_text
    from sonde.sae.evaluate import evaluate
    from sonde.sae.load import load_autoencoder

    backend: Any = smollm2.backend
    whole = from_text(backend.reader, documents(JUDGED), 256)
    contexts = whole.take(slice(None, None, EVERY))
    loaded = {layer: load_autoencoder(folder) for layer, folder in layers().items()}
    for layer, found in evaluate(backend.reader, loaded, contexts).items():
        assert found.health.fvu is not None
        assert found.health.fvu <= UNEXPLAINED[layer]
        assert found.loss.recovered is not None
        assert found.loss.recovered >= 0.98
        assert found.health.l0 is not None
        assert found.health.l0 <= (64.1 if layer == 0 else 42)
