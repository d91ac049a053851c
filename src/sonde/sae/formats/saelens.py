"""SAELens: `cfg.json` and `sae_weights.safetensors`, of version 6 and of those before.

Older configurations are flat, spell some keys otherwise and leave more to defaults; `_modern` makes
one of the other. Training-time architectures that need more than one product to encode are refused.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from sonde.errors import BadRequest, BadWeights, NotSaid
from sonde.sae.activations import Activation, Gated, JumpRelu, Relu, TopK
from sonde.sae.autoencoder import Autoencoder, Origin
from sonde.sae.build import Core, FileFacts, checked, core, flipped, said_k, take
from sonde.sae.files.config import flag, read_config, section, whole, word
from sonde.sae.files.digest import sha256
from sonde.sae.files.tensors import read_tensors
from sonde.sae.folding import fold_decoder_norms, fold_factor
from sonde.sae.norms import Norm
from sonde.sae.sites import lens_site

CONFIG: Final = "cfg.json"
WEIGHTS: Final = "sae_weights.safetensors"

_KINDS: Final = {
    "standard": "relu",
    "transcoder": "relu",
    "skip_transcoder": "relu",
    "topk": "topk",
    "jumprelu": "jumprelu",
    "jumprelu_transcoder": "jumprelu",
    "jumprelu_skip_transcoder": "jumprelu",
    "gated": "gated",
}
_NORMS: Final[dict[str, Norm]] = {
    "none": "none",
    "expected_average_only_in": "none",
    "layer_norm": "layer_norm",
    "constant_norm_rescale": "unit_norm",
}
_OLD_NAMES: Final = {"hook_point": "hook_name", "activation_fn_str": "activation_fn"}


def load(folder: Path, given: FileFacts) -> Autoencoder:
    """The dictionary in a folder that SAELens saved."""
    source, where = folder / WEIGHTS, folder / CONFIG
    config = _modern(read_config(where), where)
    tensors = read_tensors(source)
    architecture = word(config, "architecture", where) or "standard"
    kind = _KINDS.get(architecture)
    if kind is None:
        raise BadWeights(
            f"{where}: architecture {architecture!r}, expected one of {sorted(_KINDS)}"
        )
    transcodes = "transcoder" in architecture
    norm = word(config, "normalize_activations", where) or "none"
    if norm not in _NORMS or (transcodes and norm != "none"):
        raise BadWeights(
            f"{where}: normalize_activations {norm!r} of a {architecture} is not supported"
        )
    about = section(config, "metadata", where)
    finetuned = flag(config, "finetuning_scaling_factor", where, default=False)
    hook, layer = lens_site(word(about, "hook_name", where) or "")
    out = word(about, "hook_name_out", where)
    draft = Autoencoder(
        *_core(tensors, kind, source, finetuned=finetuned),
        W_skip=flipped(tensors["W_skip"]) if "W_skip" in tensors else None,
        activation=_activation(kind, config, tensors, given, where),
        subtract_b_dec=not transcodes and flag(config, "apply_b_dec_to_input", where, default=True),
        norm_in=_NORMS[norm],
        hook=hook or None,
        hook_out=lens_site(out)[0] if out else None,
        layer=layer,
        origin=Origin(
            "saelens", WEIGHTS, sha256(source), word(about, "model_name", where), _notes(about)
        ),
    )
    built = _check_config(checked(draft, source, given), config, where)
    if (factor := _factor(norm, given, where)) is not None:
        built = fold_factor(built, factor)
    if flag(config, "rescale_acts_by_decoder_norm", where, default=False):
        built = fold_decoder_norms(built)
    return built


def _modern(config: Mapping[str, Any], where: Path) -> dict[str, Any]:
    """A configuration in the words of version 6, whatever version wrote it."""
    if "metadata" in config:
        return dict(config)
    new = {_OLD_NAMES.get(key, key): value for key, value in config.items()}
    k = whole(section(new, "activation_fn_kwargs", where), "k", where)
    if new.get("activation_fn") == "topk":
        new |= {"architecture": "topk", "k": k}
    if isinstance(normalised := new.get("normalize_activations"), bool):
        new["normalize_activations"] = "expected_average_only_in" if normalised else "none"
    return new | {"metadata": dict(new)}


def _core(tensors: dict[str, Tensor], kind: str, source: Path, *, finetuned: bool) -> Core:
    """The four canonical tensors; a gated dictionary has its biases in the activation."""
    if kind == "gated" and "W_enc" in tensors:
        tensors = {**tensors, "b_enc": torch.zeros(tensors["W_enc"].shape[-1])}
    held = core(tensors, source)
    scale = tensors.get("scaling_factor", tensors.get("finetuning_scaling_factor"))
    if scale is None or bool((scale == 1).all()):
        return held
    if scale.shape != held.b_enc.shape or not finetuned:
        raise BadWeights(
            f"{source}: scaling_factor {[*scale.shape]} and finetuning_scaling_factor {finetuned}, "
            f"expected [{held.b_enc.numel()}] with true, or all ones"
        )
    return held._replace(W_dec=held.W_dec.float() * scale.float()[:, None])


def _activation(
    kind: str, config: Mapping[str, Any], tensors: dict[str, Tensor], given: FileFacts, where: Path
) -> Activation:
    source = where.with_name(WEIGHTS)
    if kind == "topk":
        return TopK(said_k(whole(config, "k", where), given, where, "a topk dictionary without k"))
    if kind == "gated":
        return Gated(*take(tensors, source, "b_gate", "b_mag", "r_mag"))
    return JumpRelu(*take(tensors, source, "threshold")) if kind == "jumprelu" else Relu()


def _factor(norm: str, given: FileFacts, where: Path) -> float | None:
    if norm != "expected_average_only_in":
        if given.factor is not None:
            raise BadRequest(f"{where}: activations are not scaled ({norm}); leave factor out")
        return None
    if given.factor is None:
        raise NotSaid(
            f"{where}: activations were scaled to one average norm (expected_average_only_in), "
            "and the scale is not in the file; pass factor=, or factor=1 where it is folded in"
        )
    return given.factor


def _check_config(built: Autoencoder, config: Mapping[str, Any], where: Path) -> Autoencoder:
    for name in ("d_in", "d_sae", "d_out"):
        said = whole(config, name, where)
        if said is not None and said != getattr(built, name):
            raise BadWeights(
                f"{where}: {name} is {said}, and the weights have {getattr(built, name)}"
            )
    return built


def _notes(about: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("context_size", "prepend_bos", "neuronpedia_id", "dataset_path", "sae_lens_version")
    return {key: about[key] for key in kept if about.get(key) is not None}
