"""Weights of 8 bits and fewer: what encodes is what is stored, to the bit, and near what was."""

import zlib
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from sonde.errors import BadRequest, BadWeights
from sonde.runs.atomic import write_json
from sonde.runs.reader import read_object
from sonde.sae.activations import JumpRelu
from sonde.sae.files.digest import sha256
from sonde.sae.formats.sonde import WEIGHTS, Bits, add_notes, rounded, save_autoencoder
from sonde.sae.load import load_autoencoder
from sonde.schema.autoencoder import CONFIG
from tests.sae.formulas import dictionary

DRAW = torch.Generator().manual_seed(0)
HELD = replace(dictionary(JumpRelu(torch.rand(40, generator=DRAW))), hook="post_block", layer=1)


def test_weights_are_whole_numbers_times_the_scale_of_their_feature(tmp_path: Path) -> None:
    stored = load_file(save_autoencoder(HELD, tmp_path, bits=Bits(8, 6)) / WEIGHTS)
    back = load_autoencoder(tmp_path)
    assert stored["W_enc"].dtype == stored["W_dec"].dtype == torch.int8
    assert torch.equal(back.W_enc, stored["W_enc"].float() * stored["W_enc.scale"])
    assert torch.equal(back.W_dec, stored["W_dec"].float() * stored["W_dec.scale"][:, None])
    assert stored["W_enc"].abs().amax(0).eq(127).all(), "every feature uses the whole range"
    assert stored["W_dec"].abs().amax(1).eq(31).all(), "of the bits that were asked for"
    assert torch.equal(back.b_enc, HELD.b_enc)
    assert isinstance(back.activation, JumpRelu)
    assert isinstance(HELD.activation, JumpRelu)
    assert torch.equal(back.activation.threshold, HELD.activation.threshold)


def test_encoding_is_exact_to_what_is_stored(tmp_path: Path) -> None:
    back = load_autoencoder(save_autoencoder(HELD, tmp_path, bits=Bits(8, 8)))
    stored = load_file(tmp_path / WEIGHTS)
    wide = {name: tensor.double() for name, tensor in stored.items()}
    x = torch.randn(64, HELD.d_in, generator=torch.Generator().manual_seed(1))
    y = x.double() - wide["b_dec"] if HELD.subtract_b_dec else x.double()
    pre = y @ (wide["W_enc"] * wide["W_enc.scale"]) + wide["b_enc"]
    wanted = pre.where(pre > wide["threshold"], 0.0)
    found = back.encode(x).dense(HELD.d_sae)
    assert (found.double() - wanted).abs().max() < 1e-5
    assert torch.equal(found > 0, wanted > 0)


@pytest.mark.parametrize("bits", [Bits(8, 8), Bits(7, 6), Bits(4, 4)])
def test_nothing_is_off_by_more_than_half_a_step(bits: Bits) -> None:
    small = rounded(HELD.tensors(), bits)
    for name, axis in (("W_enc", 0), ("W_dec", 1)):
        scale = small[f"{name}.scale"].unsqueeze(axis)
        off = (small[name].float() * scale - HELD.tensors()[name]).abs()
        assert (off <= 0.5001 * scale).all()
    zeros = rounded({"W_enc": torch.zeros(3, 4), "W_dec": torch.zeros(4, 3)}, bits)
    assert zeros["W_enc"].eq(0).all(), "a feature of zeros stays one"


def test_fewer_bits_are_fewer_bytes_where_they_are_packed() -> None:
    sizes = [
        len(zlib.compress(rounded(HELD.tensors(), Bits(n, n))["W_enc"].numpy().tobytes()))
        for n in range(4, 9)
    ]
    assert sizes == sorted(set(sizes))


def test_bits_that_are_not_written_are_refused() -> None:
    with pytest.raises(BadRequest, match="choose 4 to 8"):
        rounded(HELD.tensors(), Bits(8, 12))


@pytest.mark.parametrize("change", ["no scale", "wrong shape", "not whole"])
def test_what_does_not_fit_together_is_refused(tmp_path: Path, change: str) -> None:
    save_autoencoder(HELD, tmp_path, bits=Bits(8, 8))
    tensors = load_file(tmp_path / WEIGHTS)
    if change == "no scale":
        del tensors["W_enc.scale"]
    elif change == "wrong shape":
        tensors["W_enc.scale"] = tensors["W_enc.scale"][:-1].clone()
    else:
        tensors["W_enc"] = tensors["W_enc"].float()
    save_file(tensors, tmp_path / WEIGHTS)
    config = read_object(tmp_path / CONFIG) or {}
    write_json(tmp_path / CONFIG, {**config, "sha256": sha256(tmp_path / WEIGHTS)})
    with pytest.raises(BadWeights, match="scale"):
        load_autoencoder(tmp_path)


def test_notes_are_added_and_weights_stay_as_they_are(tmp_path: Path) -> None:
    save_autoencoder(HELD, tmp_path, bits=Bits(8, 8))
    before = (tmp_path / WEIGHTS).read_bytes()
    add_notes(tmp_path, {"evaluation": {"fvu": 0.1}})
    add_notes(tmp_path, {"unrounded": {"bits": 8}})
    assert (tmp_path / WEIGHTS).read_bytes() == before
    assert load_autoencoder(tmp_path).origin.notes == {
        "evaluation": {"fvu": 0.1}, "unrounded": {"bits": 8},
    }  # fmt: skip


def test_a_cast_to_whole_numbers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="give `bits`, not `dtype`"):
        save_autoencoder(HELD, tmp_path / "cast", dtype=torch.int8)
    assert not (tmp_path / "cast").exists()
