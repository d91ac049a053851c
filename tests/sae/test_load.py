"""Detection by evidence: what is in a path decides, and what is in doubt is asked."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from sonde.errors import BadRequest, NotSaid, UnknownFormat
from sonde.sae.formats.sonde import save_autoencoder
from sonde.sae.load import FORMATS, detect, load_autoencoder
from tests.sae.formulas import D_IN, D_SAE, dictionary, drawn, saved, saved_safely

SPARSIFY = {
    "encoder.weight": (D_SAE, D_IN),
    "encoder.bias": (D_SAE,),
    "W_dec": (D_SAE, D_IN),
    "b_dec": (D_IN,),
}
LENS = {"W_enc": (D_IN, D_SAE), "b_enc": (D_SAE,), "W_dec": (D_SAE, D_IN), "b_dec": (D_IN,)}


@pytest.mark.parametrize("name", [name for name, format in FORMATS.items() if format.files])
def test_a_folder_is_known_by_its_files(tmp_path: Path, name: str) -> None:
    for file in FORMATS[name].files:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()

    assert detect(tmp_path) == (name, tmp_path)


@pytest.mark.parametrize("name", [name for name, format in FORMATS.items() if format.tensors])
def test_a_torch_file_is_known_by_its_tensors_whatever_it_is_called(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "anything.pt"
    torch.save(dict.fromkeys(FORMATS[name].tensors, torch.ones(2)), path)

    assert detect(path) == (name, path)


def sparsify(path: Path) -> Path:
    saved_safely(drawn(1, **SPARSIFY), path / "sae.safetensors")
    (path / "cfg.json").write_text(json.dumps({"d_in": D_IN, "k": 3, "num_latents": D_SAE}))
    return path


def test_two_formats_in_one_folder_are_told_apart_by_the_caller(tmp_path: Path) -> None:
    path = sparsify(tmp_path)
    saved_safely(drawn(1, **LENS), path / "sae_weights.safetensors")

    with pytest.raises(NotSaid, match=r"\['saelens', 'sparsify'\]; say which with format="):
        load_autoencoder(path)
    assert load_autoencoder(path, format="sparsify").origin.format == "sparsify"
    found = load_autoencoder(path / "sae.safetensors").origin
    assert (found.format, found.folder) == ("sparsify", str(path))


def test_a_folder_of_dictionaries_lists_them(tmp_path: Path) -> None:
    for name in ("layers.0", "layers.1"):
        sparsify(tmp_path / name)

    with pytest.raises(
        UnknownFormat, match=r"holds 2 dictionaries; give one of them: \['layers.0'"
    ):
        load_autoencoder(tmp_path)


def test_what_is_not_there_or_not_known_says_what_was_found(tmp_path: Path) -> None:
    with pytest.raises(UnknownFormat, match="does not exist"):
        load_autoencoder(tmp_path / "gone")
    (tmp_path / "README.md").touch()
    with pytest.raises(UnknownFormat, match=r"has \['README.md'\], and no format"):
        load_autoencoder(tmp_path)
    with pytest.raises(UnknownFormat, match="alone does not say what it is"):
        load_autoencoder(tmp_path / "README.md")
    lonely = saved_safely(drawn(1, **LENS), tmp_path / "weights.safetensors")
    with pytest.raises(UnknownFormat, match=r"it has \['W_dec', 'W_enc', 'b_dec', 'b_enc'\]"):
        load_autoencoder(lonely)
    other = saved(drawn(1, weight=(2, 2)), tmp_path / "model.pt")
    with pytest.raises(UnknownFormat, match=r"has \['weight'\], expected the tensors of one of"):
        load_autoencoder(other)


def test_a_format_can_be_named_but_not_forced(tmp_path: Path) -> None:
    path = sparsify(tmp_path)

    with pytest.raises(BadRequest, match="format 'sparse' is not known; expected one of"):
        load_autoencoder(path, format="sparse")
    with pytest.raises(UnknownFormat, match="which saelens has"):
        load_autoencoder(path, format="saelens")
    with pytest.raises(UnknownFormat, match="qwen_scope is a single torch file"):
        load_autoencoder(path, format="qwen_scope")


def test_a_factor_that_has_no_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="is sparsify, whose scale is in its files; leave factor"):
        load_autoencoder(sparsify(tmp_path / "layers.0"), factor=2.0)
    saved_safely(drawn(1, **LENS), tmp_path / "sae_weights.safetensors")
    (tmp_path / "cfg.json").write_text("{}")
    with pytest.raises(BadRequest, match=r"not scaled \(none\); leave factor out"):
        load_autoencoder(tmp_path, factor=2.0)
    for factor in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(BadRequest, match="expected more than 0"):
            load_autoencoder(tmp_path, factor=factor)


def test_our_own_files_move_and_load_from_a_string(tmp_path: Path) -> None:
    save_autoencoder(dictionary(hook="post_block", layer=2), tmp_path / "a")
    shutil.move(tmp_path / "a", tmp_path / "b")

    assert load_autoencoder(str(tmp_path / "b"), d_in=D_IN).layer == 2
