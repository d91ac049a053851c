"""Gemma Scope 2: `resid_post_all/layer_9_width_16k_l0_small/params.safetensors`, and `config.json`.

JumpReLU in lower-case names. The configuration says the module that is read; where there is none,
the names of the folders do. Cross-layer transcoders write to many layers at once and are refused.
"""

import re
from pathlib import Path
from typing import Any, Final

from sonde.errors import BadWeights
from sonde.sae.activations import JumpRelu
from sonde.sae.autoencoder import Autoencoder, Origin
from sonde.sae.build import FileFacts, checked, core, take
from sonde.sae.files.config import read_config, word
from sonde.sae.files.digest import sha256
from sonde.sae.files.tensors import read_tensors
from sonde.sae.sites import module_site

CONFIG: Final = "config.json"
WEIGHTS: Final = "params.safetensors"
_FOLDERS: Final = {
    "resid_post": ("post_block", None),
    "attn_out": ("attn_z", None),
    "mlp_out": ("mlp_out", None),
    "transcoder": ("mlp_in", "mlp_out"),
}


def load(folder: Path, given: FileFacts) -> Autoencoder:
    """The dictionary in a folder with `params.safetensors`."""
    source, where = folder / WEIGHTS, folder / CONFIG
    config = read_config(where) if where.is_file() else {}
    if (architecture := config.get("architecture", "jump_relu")) != "jump_relu":
        raise BadWeights(f"{where}: architecture {architecture!r}, expected 'jump_relu'")
    tensors = read_tensors(source)
    held = core(tensors, source, W_enc="w_enc", W_dec="w_dec")
    if held.W_dec.dim() == 3:
        raise BadWeights(
            f"{source}: w_dec {[*held.W_dec.shape]} writes to several layers; a cross-layer "
            "transcoder is not one dictionary. Load one of a single layer"
        )
    hook, hook_out, layer = _where(config, where)
    draft = Autoencoder(
        *held,
        activation=JumpRelu(*take(tensors, source, "threshold")),
        W_skip=tensors.get("affine_skip_connection"),
        hook=hook,
        hook_out=hook_out,
        layer=layer,
        origin=Origin("gemma_scope_2", WEIGHTS, sha256(source), word(config, "model_name", where)),
    )
    return checked(draft, source, given)


def _where(config: dict[str, Any], where: Path) -> tuple[str | None, str | None, int | None]:
    """Hook, output hook of a transcoder, and layer."""
    read, written = (word(config, f"hf_hook_point_{end}", where) for end in ("in", "out"))
    names = where.absolute().parent.parts[-2:]
    if read is None:
        found = [hooks for name, hooks in _FOLDERS.items() if any(name in part for part in names)]
        layer = re.search(r"layer_(\d+)", names[-1])
        hook, hook_out = found[0] if found else (None, None)
        return hook, hook_out, int(layer.group(1)) if layer else None
    hook, number = module_site(read)
    out = module_site(written)[0] if written else None
    return hook, out if out != hook else None, number
