from dataclasses import replace
from pathlib import Path

import pytest

from sonde.errors import BadAutoencoder, MissingDictionary
from sonde.sae.formats.sonde import save_autoencoder
from sonde.training.dictionaries import load_dictionaries
from sonde.training.presets import PRESETS
from tests.training.test_plan import plan
from tests.training.tiny_run import tiny_sae

TINY = replace(PRESETS["smollm2-cpu"], n_layers=3, width=16)


def test_each_layer_is_loaded_and_announced(tmp_path: Path) -> None:
    for layer in (0, 2):
        save_autoencoder(replace(tiny_sae(layer), layer=layer), tmp_path / f"layer_{layer}")
    where = {layer: str(tmp_path / f"layer_{layer}") for layer in (0, 2)}
    said: list[str] = []
    given = plan("smollm2-cpu", preset=TINY, layers=(0, 2), dictionaries=where)
    found = load_dictionaries(given, said.append)
    assert {layer: sae.d_sae for layer, sae in found.items()} == {0: 40, 2: 40}
    assert len(said) == 2
    assert found[0].origin.sha256


def test_one_that_cannot_be_had_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    where = {0: "Qwen/SAE-Res-None-W64K-L0_50/layer0.sae.pt"}
    given = plan("9b-local-l0-50", layers=(0,), dictionaries=where)
    with pytest.raises(MissingDictionary, match=r"layer 0 .*layer0\.sae\.pt of Qwen/SAE-Res-None"):
        load_dictionaries(given, lambda _line: None)


def test_one_of_another_width_is_refused(tmp_path: Path) -> None:
    save_autoencoder(replace(tiny_sae(0), layer=0), tmp_path / "layer_0")
    where = {0: str(tmp_path / "layer_0")}
    given = plan("smollm2-cpu", layers=(0,), dictionaries=where)
    with pytest.raises(BadAutoencoder, match="576"):
        load_dictionaries(given, lambda _line: None)
