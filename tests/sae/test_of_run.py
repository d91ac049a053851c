"""Which dictionary a run was read with."""

import json
from pathlib import Path

import pytest

from sonde.runs.layout import RunLayout
from sonde.sae import shipped
from sonde.sae.feature_file import FEATURES
from sonde.sae.of_run import dictionary_of
from tests.runs.analytics.made import made_run


@pytest.fixture
def layout(tmp_path: Path) -> RunLayout:
    return made_run(tmp_path / "run", steps=1).layout


def read_with(layout: RunLayout, path: str, sha256: str) -> None:
    """Say in run.json that layer 15 was read with this file."""
    file = layout.directory / "run.json"
    info = json.loads(file.read_text())
    info["saes"] = [{"layer_index": 15, "path": path, "sha256": sha256}]
    file.write_text(json.dumps(info))


def test_a_shipped_one_is_known_by_its_hash(layout: RunLayout) -> None:
    folder = shipped.layers()[15]
    digest = json.loads((folder / "autoencoder.json").read_text())["sha256"]
    read_with(layout, "autoencoder.safetensors", digest)
    assert dictionary_of(layout, 15) == (folder, None)


def test_another_of_the_same_layer_is_not_taken_for_it(layout: RunLayout) -> None:
    read_with(layout, "other.safetensors", "0" * 64)
    found, reason = dictionary_of(layout, 15)
    assert found is None
    assert reason is not None
    assert "nobody has described" in reason


def test_one_with_descriptions_beside_it_is_found_by_its_path(
    layout: RunLayout, tmp_path: Path
) -> None:
    (tmp_path / FEATURES).write_bytes(b"")
    read_with(layout, str(tmp_path / "sae.safetensors"), "")
    assert dictionary_of(layout, 15) == (tmp_path, None)


def test_one_that_was_trained_again_since_is_not_taken_for_it(
    layout: RunLayout, tmp_path: Path
) -> None:
    (tmp_path / FEATURES).write_bytes(b"")
    (tmp_path / "autoencoder.json").write_text(json.dumps({"sha256": "a" * 64}))
    read_with(layout, str(tmp_path / "autoencoder.safetensors"), "a" * 64)
    assert dictionary_of(layout, 15) == (tmp_path, None)
    read_with(layout, str(tmp_path / "autoencoder.safetensors"), "b" * 64)
    found, reason = dictionary_of(layout, 15)
    assert found is None
    assert reason == "autoencoder.safetensors has changed since the run was read with it"


def test_a_name_without_a_folder_is_not_looked_for_in_the_working_directory(
    layout: RunLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / FEATURES).write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    read_with(layout, "sae.safetensors", "")
    assert dictionary_of(layout, 15)[0] is None


def test_a_layer_without_one_and_a_run_without_a_word_of_it_say_so(
    layout: RunLayout, tmp_path: Path
) -> None:
    read_with(layout, "other.safetensors", "")
    assert "layer 3" in (dictionary_of(layout, 3)[1] or "")
    assert "no run.json" in (dictionary_of(RunLayout(tmp_path / "none"), 15)[1] or "")
