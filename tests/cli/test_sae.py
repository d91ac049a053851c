"""`sonde sae`, on a tiny model and on what comes with Sonde."""

import json
from pathlib import Path

import pytest

from sonde.sae.feature_file import FEATURES
from tests.cli.shell import refusal, sonde

TEXT = "When Mary and John went to the store, John gave a drink to Mary. " * 400


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("text") / "story.txt"
    file.write_text(TEXT)
    return file


@pytest.fixture(scope="module")
def trained(tiny: Path, text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("saes")
    result = sonde(
        "sae", "train", "--model", tiny, "--layers", "1", "--text", text, "--context", 24,
        "--features", 48, "--k", 4, "--tokens", 2000, "--batch", 128, "--buffer", 1000,
        "--device", "cpu", "--out", out,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{out / 'layer_1'}\n"
    assert " of 2,000 tokens" in result.stderr
    assert "layer 1 FVU" in result.stderr
    return out / "layer_1"


def test_what_was_trained_is_shown(trained: Path, tiny: Path) -> None:
    text = sonde("sae", "show", trained).stdout
    for part in ("format", "sonde", "post_block", "48", "topk", "fvu"):
        assert part in text
    shown = json.loads(sonde("sae", "show", trained, "--json").stdout)
    assert shown["model"] == str(tiny)
    assert (shown["layer"], shown["width"], shown["features"], shown["k"]) == (1, 16, 48, 4)
    assert shown["evaluation"]["tokens"] > 0


def test_other_ways_to_be_sparse_and_transcoders_are_trained(
    tiny: Path, text: Path, tmp_path: Path
) -> None:
    base = (
        "sae", "train", "--model", tiny, "--layers", "1", "--text", text, "--context", 24,
        "--features", 48, "--k", 4, "--tokens", 2000, "--batch", 128, "--buffer", 1000,
        "--device", "cpu",
    )  # fmt: skip
    one = sonde(*base, "--kind", "batchtopk", "--cap", 0.3, "--nested", "8,24", "--out", tmp_path)
    assert one.exit_code == 0, one.output
    assert "BatchTopK with k = 4" in (tmp_path / "layer_1" / "README.md").read_text()
    out = tmp_path / "transcoder"
    two = sonde(
        *base, "--kind", "jumprelu", "--hook", "mlp_in", "--hook-out", "mlp_out", "--out", out
    )
    assert two.exit_code == 0, two.output
    shown = json.loads(sonde("sae", "show", out / "layer_1", "--json").stdout)
    assert (shown["activation"], shown["hook"], shown["hook_out"]) == (
        "jumprelu", "mlp_in", "mlp_out",
    )  # fmt: skip


def test_a_probe_says_how_well_it_fits_and_warns_where_it_does_not(
    trained: Path, tiny: Path, text: Path
) -> None:
    arguments = ("sae", "show", trained, "--probe", "--model", tiny, "--text", text, "--json")
    fits = sonde(*arguments, "--device", "cpu")
    assert 0 < json.loads(fits.stdout)["probe"]["fvu"] < 1
    assert "warning" not in fits.stderr
    wrong = sonde(*arguments, "--device", "cpu", "--hook", "mlp_out")
    assert json.loads(wrong.stdout)["probe"]["fvu"] > 1
    assert "warning: FVU" in wrong.stderr


def test_what_was_trained_is_judged(trained: Path, tiny: Path, text: Path) -> None:
    arguments = ("sae", "eval", trained, "--model", tiny, "--text", text, "--context", 24)
    result = sonde(*arguments, "--device", "cpu", "--most", 20)
    assert result.exit_code == 0, result.output
    assert result.stdout.split()[:3] == ["1", "features", "48"]
    assert "over 460 tokens; position 0 left out" in result.stdout.splitlines()[-1]
    found = json.loads(sonde(*arguments, "--device", "cpu", "--most", 20, "--json").stdout)
    assert 0 < found["1"]["fvu"] < 1
    assert found["1"]["l0"] <= 4


def test_a_feature_is_shown_with_its_snippets(trained: Path) -> None:
    text = sonde("sae", "feature", trained, 3).stdout
    assert text.startswith("layer_1, feature 3\nactive ")
    assert "promotes" in text
    shown = json.loads(sonde("sae", "feature", trained, 3, "--json").stdout)
    assert shown["feature"] == 3
    assert "out of range [0, 48)" in refusal(sonde("sae", "feature", trained, 48))


def test_a_feature_that_comes_with_sonde_is_found_by_its_layer() -> None:
    text = sonde("sae", "feature", 15, 13533).stdout
    assert text.startswith("smollm2, layer 15, feature 13533\n")
    assert "most active on" in text


def test_training_needs_text_and_layers_that_exist(tiny: Path, text: Path, tmp_path: Path) -> None:
    base = ("sae", "train", "--model", tiny, "--out", tmp_path / "out", "--device", "cpu")
    assert "give --text, or --generate" in refusal(sonde(*base, "--layers", "1"))
    assert "layer 7 is out of range" in refusal(sonde(*base, "--layers", "7", "--text", text))
    assert "absent" in refusal(sonde(*base, "--layers", "1", "--text", tmp_path / "absent"))
    assert not (tmp_path / "out").exists()


def test_an_autoencoder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "no autoencoder for layer 3 of smollm2" in refusal(sonde("sae", "show", "3"))
    line = refusal(sonde("sae", "feature", tmp_path / "absent", "0"))
    assert "expected a path to an autoencoder" in line


def test_a_folder_without_features_is_still_an_autoencoder(trained: Path, tmp_path: Path) -> None:
    for file in trained.iterdir():
        if file.name != FEATURES:
            (tmp_path / file.name).write_bytes(file.read_bytes())
    assert sonde("sae", "show", tmp_path).exit_code == 0
    assert "nobody has described" in refusal(sonde("sae", "feature", tmp_path, 0))


def test_what_files_leave_open_can_be_said(trained: Path) -> None:
    assert "leave factor out" in refusal(sonde("sae", "show", trained, "--factor", 2))
    said = refusal(sonde("sae", "show", trained, "--format", "saelens"))
    assert "lacks some of ['cfg.json', 'sae_weights.safetensors'], which saelens has" in said
    assert sonde("sae", "show", trained, "--format", "sonde", "--k", 3).exit_code == 0
