"""SAELens, the real package, loads what Sonde writes and writes what Sonde loads.

It lives in an environment of its own: `make .venv-saelens/.installed`. Without that these are
skipped: SAELens is no requirement of Sonde's, and what its files hold is tested without it.
"""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from sonde.sae.activations import BatchTopK, JumpRelu, Relu, TopK
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.formats.saelens_export import save_saelens
from sonde.sae.load import load_autoencoder
from tests.sae.formulas import D_SAE, TOKENS, dictionary

ROOT = Path(__file__).parents[3]
PYTHON = ROOT / ".venv-saelens" / "bin" / "python"
PEER = Path(__file__).with_name("saelens_peer.py")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PYTHON.exists(), reason="needs SAELens: `make .venv-saelens/.installed` installs it"
    ),
]


def peer(*arguments: str | Path) -> None:
    done = subprocess.run(
        [PYTHON, PEER, *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


def written() -> dict[str, Autoencoder]:
    topk = replace(dictionary(TopK(5)), hook="post_block", layer=7)
    square = replace(topk, W_dec=topk.W_enc.T.contiguous(), b_dec=torch.full((topk.d_in,), 0.2))
    threshold = torch.rand(D_SAE, generator=torch.Generator().manual_seed(0))
    return {
        "relu": replace(square, activation=Relu(), subtract_b_dec=False),
        "topk": replace(square, subtract_b_dec=True),
        "batchtopk": replace(square, activation=BatchTopK(5, 0.4)),
        "jumprelu": replace(square, activation=JumpRelu(threshold)),
        "layer_norm": replace(square, activation=Relu(), norm_in="layer_norm"),
        "transcoder": replace(
            square, activation=Relu(), subtract_b_dec=False, hook="mlp_in", hook_out="mlp_out"
        ),
    }


def test_saelens_loads_what_sonde_writes(tmp_path: Path) -> None:
    held = written()
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(TOKENS, held["topk"].d_in, generator=draw)
    for name, each in held.items():
        folder = save_saelens(each, tmp_path / name)
        save_file({"x": x}, folder / "asked.safetensors")
    peer("read", *(tmp_path / name for name in held))
    for name, each in held.items():
        said = load_file(tmp_path / name / "said.safetensors")
        ours = each.encode(x)
        assert said["features"].ne(0).any(), name
        torch.testing.assert_close(said["features"], ours.dense(each.d_sae), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(said["rebuilt"], each.decode(ours, x), rtol=1e-5, atol=1e-5)


def test_sonde_loads_what_saelens_trains(tmp_path: Path) -> None:
    peer("train", tmp_path)
    for name in ("topk", "batchtopk", "matryoshka"):
        said = load_file(tmp_path / name / "said.safetensors")
        held = load_autoencoder(tmp_path / name)
        assert (held.hook, held.layer, held.origin.model) == ("post_block", 3, "tiny")
        active = held.encode(said["x"])
        assert 0 < float(active.n_active.float().mean()) < 15, name
        features = active.dense(held.d_sae)
        torch.testing.assert_close(held.decode(active), said["rebuilt"], rtol=1e-4, atol=1e-4)
        same = ((features > 0) == (said["features"] > 0)).float().mean()
        assert same > 0.999, name
