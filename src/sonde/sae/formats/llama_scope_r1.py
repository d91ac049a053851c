"""Llama Scope R1: `config.json` and `sae_weights.safetensors`, two `nn.Linear` and a JumpReLU.

The logarithm of each feature's threshold is stored. Activations were scaled to one average norm,
and the scale is not in the files.
"""

from pathlib import Path
from typing import Final

from sonde.errors import NotSaid
from sonde.sae.activations import JumpRelu
from sonde.sae.autoencoder import Autoencoder, Origin
from sonde.sae.build import FileFacts, checked, linear_core, take
from sonde.sae.files.config import read_config, word
from sonde.sae.files.digest import sha256
from sonde.sae.files.tensors import read_tensors
from sonde.sae.folding import fold_factor
from sonde.sae.sites import lens_site

CONFIG: Final = "config.json"
WEIGHTS: Final = "sae_weights.safetensors"


def load(folder: Path, given: FileFacts) -> Autoencoder:
    """The dictionary in a Llama Scope R1 folder."""
    source, where = folder / WEIGHTS, folder / CONFIG
    tensors = read_tensors(source)
    held = linear_core(tensors, source)
    (logarithms,) = take(tensors, source, "log_jumprelu_threshold")
    if given.factor is None:
        raise NotSaid(
            f"{where}: activations were scaled to one average norm, and the scale is not in "
            "the file; pass factor=, the root of the width over their average norm"
        )
    hook, layer = lens_site(word(read_config(where), "hook_point_in", where) or "")
    draft = Autoencoder(
        *held,
        activation=JumpRelu(logarithms.float().exp()),
        hook=hook or None,
        layer=layer,
        origin=Origin("llama_scope_r1", WEIGHTS, sha256(source)),
    )
    return fold_factor(checked(draft, source, given), given.factor)
