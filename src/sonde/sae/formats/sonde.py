"""Sonde's own: `autoencoder.safetensors`, and `autoencoder.json` that says everything else.

Written half precision by default, because that is half the bytes and the difference is far below
what a dictionary leaves unexplained. With 8 bits or fewer each feature has a scale for its column
of the encoder and one for its row of the decoder: a weight is a whole number times the scale, and
what is encoded with is exactly that. Each takes a byte in the file; fewer bits are fewer bytes
where the file is packed, as in a wheel. The JSON carries the sha256 of the weights, so that a pair
of files that do not belong together is noticed.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import torch
from pydantic import ValidationError
from safetensors.torch import save
from torch import Tensor

from sonde.errors import BadRequest, BadWeights, DamagedFile, UnsafeFile
from sonde.runs.atomic import replace, write_json
from sonde.sae.activations import (
    Activation,
    BatchTopK,
    Gated,
    GroupMax,
    JumpRelu,
    Relu,
    TopK,
)
from sonde.sae.autoencoder import Autoencoder, Origin
from sonde.sae.build import FileFacts, checked, core
from sonde.sae.files.config import read_config
from sonde.sae.files.digest import sha256
from sonde.sae.files.tensors import read_tensors
from sonde.schema.autoencoder import CONFIG, AutoencoderFile

WEIGHTS: Final = "autoencoder.safetensors"
MATRICES: Final = {"W_enc": 0, "W_dec": 1}
"""What may be written in 8 bits or fewer, and the axis along which a feature's numbers lie."""
SCALE: Final = ".scale"
BITS: Final = range(4, 9)


class Bits(NamedTuple):
    """Of the whole numbers that weights are rounded to."""

    encoder: int
    decoder: int


def load(folder: Path, given: FileFacts) -> Autoencoder:
    """The dictionary in a folder that `save` wrote."""
    config = _config(folder / CONFIG)
    if not re.fullmatch(r"\w[\w.-]*", config.weights):
        raise UnsafeFile(
            f"{folder / CONFIG}: weights {config.weights!r} must be a file's name in {folder}"
        )
    weights = folder / config.weights
    if not weights.is_file():
        raise DamagedFile(f"{weights} is missing; {CONFIG} says that it holds the weights")
    tensors = widened(read_tensors(weights), weights)
    if (found := sha256(weights)) != config.sha256:
        raise DamagedFile(
            f"{weights} has sha256 {found[:16]}…, and {CONFIG} names {config.sha256[:16]}…; "
            "the two do not belong together"
        )
    draft = Autoencoder(
        *core(tensors, weights),
        W_skip=tensors.get("W_skip"),
        activation=_activation(weights, config, tensors, given),
        subtract_b_dec=config.subtract_b_dec,
        norm_in=config.norm_in,
        hook=config.hook,
        hook_out=config.hook_out,
        layer=config.layer,
        origin=Origin("sonde", weights.name, found, config.model, config.notes),
    )
    built = checked(draft, weights, given)
    shape = [built.d_in, built.d_sae, built.d_out]
    if shape != [config.d_in, config.d_sae, config.d_out]:
        raise DamagedFile(f"{weights} is {shape} (in, features, out), unlike {CONFIG} says")
    return built


def save_autoencoder(
    autoencoder: Autoencoder,
    folder: Path,
    *,
    dtype: torch.dtype = torch.float16,
    bits: Bits | None = None,
) -> Path:
    """Write both files into a folder, each whole or not at all. -> the folder

    With `bits` both matrices are rounded, and the rest is float32; without, all is `dtype`.
    """
    if not dtype.is_floating_point:  # a cast would drop what is behind the point; bits round
        raise BadRequest(f"weights of {dtype} are whole numbers: give `bits`, not `dtype`")
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: tensor.cpu() for name, tensor in autoencoder.tensors().items()}
    if bits is not None:
        small = rounded(tensors, bits)
    else:
        small = {name: tensor.to(dtype).contiguous() for name, tensor in tensors.items()}
    for name, tensor in small.items():
        if not tensor.isfinite().all():
            raise BadWeights(f"{name} has values that {dtype} cannot hold; save with a wider dtype")
    replace(folder / WEIGHTS, save(small))
    activation = autoencoder.activation
    config = AutoencoderFile(
        weights=WEIGHTS,
        sha256=sha256(folder / WEIGHTS),
        d_in=autoencoder.d_in,
        d_sae=autoencoder.d_sae,
        d_out=autoencoder.d_out,
        activation=activation.kind,
        k=getattr(activation, "k", None),
        relu=getattr(activation, "relu", True),
        threshold=activation.threshold if isinstance(activation, BatchTopK) else None,
        subtract_b_dec=autoencoder.subtract_b_dec,
        norm_in=autoencoder.norm_in,
        hook=autoencoder.hook,
        hook_out=autoencoder.hook_out,
        layer=autoencoder.layer,
        model=autoencoder.origin.model,
        notes=dict(autoencoder.origin.notes),
    )
    write_json(folder / CONFIG, config.model_dump(exclude_none=True))
    return folder


def add_notes(folder: Path, more: Mapping[str, Any]) -> None:
    """Add to what the file beside the weights says of them; those stay as they are."""
    config = _config(folder / CONFIG)
    known = config.model_copy(update={"notes": {**config.notes, **more}})
    write_json(folder / CONFIG, known.model_dump(exclude_none=True))


def rounded(tensors: Mapping[str, Tensor], bits: Bits) -> dict[str, Tensor]:
    """Both matrices as int8, with a float32 scale for each feature; the rest as float32."""
    small = {name: tensor.float().contiguous() for name, tensor in tensors.items()}
    for (name, axis), of in zip(MATRICES.items(), bits, strict=True):
        if of not in BITS:
            raise BadRequest(f"weights of {of} bits are not written; choose 4 to 8, or 16")
        held, largest = small[name], 2 ** (of - 1) - 1
        scale = held.abs().amax(axis).clamp_min(torch.finfo(torch.float32).tiny) / largest
        steps = held / scale.unsqueeze(axis)
        small[name] = steps.round().clamp(-largest, largest).to(torch.int8).contiguous()
        small[f"{name}{SCALE}"] = scale
    return small


def widened(tensors: Mapping[str, Tensor], source: Path) -> dict[str, Tensor]:
    """What `rounded` made as float32 again: each number times its feature's scale."""
    wide = {name: held for name, held in tensors.items() if not name.endswith(SCALE)}
    for name, axis in MATRICES.items():
        scale, held = tensors.get(f"{name}{SCALE}"), tensors.get(name)
        if held is None or (held.dtype != torch.int8 and scale is None):
            continue
        if held.dtype != torch.int8 or scale is None or held.dim() != 2:
            raise BadWeights(f"{source}: {name} as int8 has a scale, and nothing else does")
        if scale.shape != held.amax(axis).shape:
            raise BadWeights(
                f"{source}: {name} is {[*held.shape]} and its scale {[*scale.shape]}; expected one "
                "number a feature"
            )
        wide[name] = held.float() * scale.float().unsqueeze(axis)
    return wide


def _config(path: Path) -> AutoencoderFile:
    try:
        return AutoencoderFile.model_validate(read_config(path))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise DamagedFile(f"{path}: {key}: {first['msg']}; found {first['input']!r}") from error


def _activation(
    source: Path, config: AutoencoderFile, tensors: dict[str, Tensor], given: FileFacts
) -> Activation:
    k = given.k or config.k
    try:
        match config.activation:
            case "relu":
                return Relu()
            case "jumprelu":
                return JumpRelu(tensors["threshold"])
            case "gated":
                return Gated(*(tensors[name] for name in ("b_gate", "b_mag", "r_mag")))
    except KeyError as error:
        raise BadWeights(f"{source} lacks {error}, which a {config.activation} has") from error
    if k is None or (config.activation == "batchtopk" and config.threshold is None):
        raise DamagedFile(f"{source}: {CONFIG} has no k or threshold for {config.activation}")
    if config.activation == "batchtopk":
        return BatchTopK(k, config.threshold or 0.0)
    return TopK(k, relu=config.relu) if config.activation == "topk" else GroupMax(k)
