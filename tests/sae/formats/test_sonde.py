"""Our own format: what is saved comes back; two files that are no pair are noticed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sonde.errors import BadWeights, DamagedFile, UnsafeFile
from sonde.sae.activations import Activation, BatchTopK, Gated, GroupMax, JumpRelu, Relu, TopK
from sonde.sae.autoencoder import Origin
from sonde.sae.formats.sonde import WEIGHTS, save_autoencoder
from sonde.sae.load import load_autoencoder
from sonde.schema.autoencoder import CONFIG
from tests.sae.formulas import D_IN, D_SAE, K, activations, dictionary

X = torch.from_numpy(activations())


def some(*n: int) -> torch.Tensor:
    return torch.rand(*n, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize(
    "activation",
    [
        Relu(),
        TopK(K),
        TopK(K, relu=False),
        BatchTopK(K, 0.25),
        JumpRelu(some(D_SAE)),
        Gated(*some(3, D_SAE)),
        GroupMax(8),
    ],
    ids=lambda activation: activation.kind,
)
def test_what_is_saved_in_full_precision_comes_back_bit_for_bit(
    tmp_path: Path, activation: Activation
) -> None:
    origin = Origin(model="smollm2", notes={"fvu": 0.1})
    saved = replace(
        dictionary(activation), subtract_b_dec=True, hook="post_block", layer=15, origin=origin
    )

    loaded = load_autoencoder(save_autoencoder(saved, tmp_path / "sae", dtype=torch.float32))

    assert {**loaded.tensors()}.keys() == saved.tensors().keys()
    assert all(loaded.tensors()[name].equal(each) for name, each in saved.tensors().items())
    assert (loaded.activation.kind, loaded.k) == (activation.kind, saved.k)
    before, after = saved.encode(X), loaded.encode(X)
    assert after.values.equal(before.values)
    assert after.indices.equal(before.indices)
    assert loaded.reconstruct(X).equal(saved.reconstruct(X))
    assert (loaded.hook, loaded.layer, loaded.subtract_b_dec) == ("post_block", 15, True)
    assert (loaded.origin.format, loaded.origin.model) == ("sonde", "smollm2")
    assert loaded.origin.notes == {"fvu": 0.1}


def test_half_precision_is_the_default_and_half_the_bytes(tmp_path: Path) -> None:
    saved = dictionary()
    save_autoencoder(saved, tmp_path)

    loaded = load_autoencoder(tmp_path)

    assert loaded.W_enc.dtype == torch.float32
    assert loaded.W_enc.equal(saved.W_enc.half().float())
    assert (tmp_path / WEIGHTS).stat().st_size < 2 * sum(
        t.numel() for t in saved.tensors().values()
    ) + 600


def test_skip_path_norm_and_output_hook_come_back(tmp_path: Path) -> None:
    saved = replace(
        dictionary(),
        W_skip=some(D_IN, D_IN),
        norm_in="layer_norm",
        hook="mlp_in",
        hook_out="mlp_out",
    )

    loaded = load_autoencoder(save_autoencoder(saved, tmp_path, dtype=torch.float32))

    assert loaded.reconstruct(X).equal(saved.reconstruct(X))
    assert (loaded.hook, loaded.hook_out) == ("mlp_in", "mlp_out")


def test_saving_again_replaces_both_files_and_leaves_no_other(tmp_path: Path) -> None:
    save_autoencoder(dictionary(), tmp_path)
    save_autoencoder(replace(dictionary(), layer=3), tmp_path)

    assert sorted(file.name for file in tmp_path.iterdir()) == [CONFIG, WEIGHTS]
    assert load_autoencoder(tmp_path).layer == 3


def test_values_that_the_precision_cannot_hold_are_not_written(tmp_path: Path) -> None:
    large = replace(dictionary(), b_dec=torch.full((D_IN,), 1e6))

    with pytest.raises(BadWeights, match=r"b_dec.*float16"):
        save_autoencoder(large, tmp_path / "sae")
    assert not (tmp_path / "sae" / WEIGHTS).exists()
    assert load_autoencoder(save_autoencoder(large, tmp_path, dtype=torch.bfloat16)).d_in == D_IN


def edited(folder: Path, **changes: object) -> Path:
    config = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps(config | changes))
    return folder


def test_weights_of_another_configuration_are_refused(tmp_path: Path) -> None:
    folder = save_autoencoder(dictionary(), tmp_path)

    with pytest.raises(DamagedFile, match="do not belong together"):
        load_autoencoder(edited(folder, sha256="0" * 64))


@pytest.mark.parametrize("name", ["../secret.safetensors", "/etc/passwd", "a/b", "..", ""])
def test_a_name_outside_the_folder_is_not_opened(tmp_path: Path, name: str) -> None:
    folder = save_autoencoder(dictionary(), tmp_path / "sae")
    (tmp_path / "secret.safetensors").write_bytes((folder / WEIGHTS).read_bytes())

    with pytest.raises(UnsafeFile, match="must be a file's name in"):
        load_autoencoder(edited(folder, weights=name))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "version"),
        ({"kk": 3}, "kk"),
        ({"k": True}, "k: "),
        ({"d_sae": 41}, "unlike"),
        ({"k": None}, "no k"),
        ({"activation": "softmax"}, "activation"),
        ({"weights": "gone.safetensors"}, "is missing"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(DamagedFile, match=message):
        load_autoencoder(edited(save_autoencoder(dictionary(), tmp_path), **changes))


def test_a_tensor_that_the_activation_needs_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(BadWeights, match="threshold"):
        load_autoencoder(edited(save_autoencoder(dictionary(), tmp_path), activation="jumprelu"))
