"""Write a dictionary as SAELens reads it: `cfg.json` and `sae_weights.safetensors`, of version 6.

Float32, as SAELens computes. BatchTopK is written as it writes its own: JumpReLU with one threshold
for all. What it has no form for is refused: one of another form would be another dictionary.
"""

from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import save
from torch import Tensor

from sonde.errors import BadRequest
from sonde.runs.atomic import replace, write_json
from sonde.sae.activations import BatchTopK, Gated, JumpRelu, Relu, TopK
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.formats.saelens import CONFIG, WEIGHTS
from sonde.sae.norms import Norm
from sonde.sae.sites import lens_name

NORMS: Final[dict[Norm, str]] = {
    "none": "none",
    "layer_norm": "layer_norm",
    "unit_norm": "constant_norm_rescale",
}


def save_saelens(autoencoder: Autoencoder, folder: Path) -> Path:
    """Write both files into a folder, each whole or not at all. -> the folder"""
    architecture, tensors, more = _form(autoencoder)
    if autoencoder.hook is None or autoencoder.layer is None:
        raise BadRequest(
            f"{autoencoder!r} does not say where it reads, and SAELens wants to know; say it with "
            "--hook and --layer"
        )
    core = {name: getattr(autoencoder, name) for name in ("W_enc", "W_dec", "b_dec")}
    if architecture != "gated":
        core["b_enc"] = autoencoder.b_enc
    if autoencoder.W_skip is not None:
        core["W_skip"] = autoencoder.W_skip.T
    held = {name: t.detach().float().cpu().contiguous() for name, t in (core | tensors).items()}
    where = lens_name(autoencoder.hook, autoencoder.layer)
    about = {
        "model_name": autoencoder.origin.model,
        "hook_name": where,
        "hook_layer": autoencoder.layer,
        "prepend_bos": False,
        "context_size": autoencoder.origin.notes.get("text", {}).get("context"),
        "sonde_sha256": autoencoder.origin.sha256,
    }
    if autoencoder.is_transcoder:
        out = lens_name(autoencoder.hook_out or autoencoder.hook, autoencoder.layer)
        about |= {"hook_name_out": out}
        more |= {"d_out": autoencoder.d_out}
    folder.mkdir(parents=True, exist_ok=True)
    replace(folder / WEIGHTS, save(held))
    config = {
        "architecture": architecture,
        "d_in": autoencoder.d_in,
        "d_sae": autoencoder.d_sae,
        "dtype": "float32",
        "device": "cpu",
        "apply_b_dec_to_input": autoencoder.subtract_b_dec,
        "normalize_activations": NORMS[autoencoder.norm_in],
        "reshape_activations": "none",
        **more,
        "metadata": {key: value for key, value in about.items() if value is not None},
    }
    write_json(folder / CONFIG, config)
    return folder


def _form(autoencoder: Autoencoder) -> tuple[str, dict[str, Tensor], dict[str, Any]]:
    """Its architecture there, the tensors of its activation, and what its configuration adds."""
    form = _simple(autoencoder)
    if not autoencoder.is_transcoder:
        return form
    architecture, tensors, more = form
    skips = "skip_" if autoencoder.W_skip is not None else ""
    named = {"standard": f"{skips}transcoder", "jumprelu": f"jumprelu_{skips}transcoder"}
    if architecture not in named:
        raise BadRequest(f"SAELens has no transcoder that is {autoencoder.activation.kind}")
    if autoencoder.norm_in != "none" or autoencoder.subtract_b_dec:
        raise BadRequest("SAELens has no transcoder that normalises or centres what it reads")
    return named[architecture], tensors, more


def _simple(autoencoder: Autoencoder) -> tuple[str, dict[str, Tensor], dict[str, Any]]:
    match autoencoder.activation:
        case Relu():
            return "standard", {}, {}
        case TopK(k=k, relu=True):
            return "topk", {}, {"k": k, "rescale_acts_by_decoder_norm": False}
        case BatchTopK(threshold=threshold):
            same = torch.full((autoencoder.d_sae,), threshold)
            return "jumprelu", {"threshold": same}, {}
        case JumpRelu(threshold=own):
            return "jumprelu", {"threshold": own}, {}
        case Gated():
            if bool(autoencoder.b_enc.any()):
                raise BadRequest("a gated dictionary of SAELens has no bias beside its own two")
            return "gated", autoencoder.activation.tensors(), {}
    raise BadRequest(
        f"SAELens has no form for {autoencoder.activation!r}; it has standard, topk, jumprelu and "
        "gated"
    )
