"""What is written for SAELens comes back the same through Sonde's own reader of that format."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sonde.errors import BadRequest
from sonde.sae.activations import BatchTopK, Gated, GroupMax, JumpRelu, TopK
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.formats.saelens_export import save_saelens
from sonde.sae.load import load_autoencoder
from tests.sae.reading import WIDTH, mirror

PER_FEATURE = torch.linspace(0.1, 1.0, 2 * WIDTH)
FORMS = {
    "relu": mirror(3),
    "topk": replace(mirror(3), activation=TopK(4), subtract_b_dec=True),
    "batchtopk": replace(mirror(3), activation=BatchTopK(4, 0.3)),
    "jumprelu": replace(mirror(3), activation=JumpRelu(PER_FEATURE)),
    "gated": replace(mirror(3), activation=Gated(PER_FEATURE - 0.5, -PER_FEATURE, PER_FEATURE)),
    "layer_norm": replace(mirror(3), norm_in="layer_norm"),
    "transcoder": replace(mirror(3), hook="mlp_in", hook_out="mlp_out"),
    "skips": replace(
        mirror(3), hook="mlp_in", hook_out="mlp_out", W_skip=torch.randn(WIDTH, WIDTH)
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_comes_back(name: str, tmp_path: Path) -> None:
    held = FORMS[name]
    back = load_autoencoder(save_saelens(held, tmp_path / "out"))
    assert back.origin.format == "saelens"
    assert (back.hook, back.hook_out, back.layer) == (held.hook, held.hook_out, 3)
    x = torch.randn(50, WIDTH, generator=torch.Generator().manual_seed(0))
    ours, theirs = held.encode(x), back.encode(x)
    assert torch.equal(ours.dense(held.d_sae), theirs.dense(held.d_sae))
    assert torch.equal(held.decode(ours, x), back.decode(theirs, x))


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (replace(mirror(3), activation=GroupMax(4)), "SAELens has no form for"),
        (replace(mirror(3), activation=TopK(4, relu=False)), "SAELens has no form for"),
        (replace(FORMS["transcoder"], activation=TopK(4)), "no transcoder that is topk"),
        (replace(FORMS["transcoder"], norm_in="layer_norm"), "normalises or centres"),
        (replace(mirror(3), layer=None), "--hook and --layer"),
    ],
)
def test_what_it_has_no_form_for_is_refused(held: Autoencoder, said: str, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match=said):
        save_saelens(held, tmp_path / "out")
