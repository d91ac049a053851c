"""Llama Scope: `hyperparams.json` and `checkpoints/final.safetensors`.

JumpReLU with one threshold for all features. Activations were scaled to an average norm of √width;
the average is in the configuration, and the threshold is given before that scale.
"""

from pathlib import Path
from typing import Final

import torch

from sonde.errors import BadWeights
from sonde.sae.activations import JumpRelu
from sonde.sae.autoencoder import Autoencoder, Origin
from sonde.sae.build import FileFacts, checked, linear_core
from sonde.sae.files.config import flag, read_config, real, section, word
from sonde.sae.files.digest import sha256
from sonde.sae.files.tensors import read_tensors
from sonde.sae.folding import fold_factor
from sonde.sae.sites import lens_site

CONFIG: Final = "hyperparams.json"
WEIGHTS: Final = "checkpoints/final.safetensors"


def load(folder: Path, given: FileFacts) -> Autoencoder:
    """The dictionary in a Llama Scope folder."""
    source, where = folder / WEIGHTS, folder / CONFIG
    config = read_config(where)
    average = real(section(config, "dataset_average_activation_norm", where), "in", where)
    threshold = real(config, "jump_relu_threshold", where)
    if not average or threshold is None or config.get("act_fn", "jumprelu") != "jumprelu":
        raise BadWeights(
            f"{where}: act_fn {config.get('act_fn')!r}, jump_relu_threshold {threshold}, average "
            f"norm {average}; expected a jumprelu with both"
        )
    held = linear_core(read_tensors(source), source)
    factor = held.W_enc.shape[0] ** 0.5 / average
    read, written = (word(config, f"hook_point_{end}", where) or "" for end in ("in", "out"))
    hook, layer = lens_site(read)
    draft = Autoencoder(
        *held,
        activation=JumpRelu(torch.full(held.b_enc.shape, threshold * factor)),
        subtract_b_dec=flag(config, "apply_decoder_bias_to_pre_encoder", where, default=False),
        hook=hook or None,
        hook_out=lens_site(written)[0] if written and written != read else None,
        layer=layer,
        origin=Origin("llama_scope", source.name, sha256(source)),
    )
    return fold_factor(checked(draft, source, given), factor)
