"""The last step of every loader: a draft with tensors as its file has them, checked and made ours.

Every format is held to the same. Shapes agree with each other and with what was asked for, every
number is finite, k is possible. Tensors become float32 in memory of our own, so that a file that
changes under a running program cannot change the program.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from sonde.errors import BadRequest, BadWeights, NotSaid
from sonde.sae.activations import Activation, GroupMax
from sonde.sae.autoencoder import Autoencoder


class Core(NamedTuple):
    """The four tensors that every dictionary has; the first fields of an `Autoencoder`."""

    W_enc: Tensor
    b_enc: Tensor
    W_dec: Tensor
    b_dec: Tensor

    def transposed(self) -> "Core":
        """With both matrices the other way round, as `nn.Linear` keeps them."""
        return self._replace(W_enc=flipped(self.W_enc), W_dec=flipped(self.W_dec))


@dataclass(frozen=True)
class FileFacts:
    """What the caller says about a file. It settles what the file leaves open."""

    k: int | None = None
    """How many features of each token a TopK dictionary keeps."""
    d_in: int | None = None
    """How wide the activations are."""
    hook: str | None = None
    layer: int | None = None
    factor: float | None = None
    """What activations are multiplied by first, where the file only says that they are."""


def checked(draft: Autoencoder, source: Path, given: FileFacts) -> Autoencoder:
    """The draft as a dictionary to use, or an error that names file, tensor and numbers."""
    d_in, d_sae, d_out = _sizes(draft, source, given.d_in)
    held = draft.tensors()
    wanted: dict[str, tuple[int, ...]] = dict.fromkeys(held, (d_sae,))
    wanted |= {"W_enc": (d_in, d_sae), "W_dec": (d_sae, d_out), "W_skip": (d_in, d_out)}
    wanted |= {"b_dec": (d_out,)}
    ours = {name: _ours(source, name, held[name], wanted[name]) for name in held}
    if draft.subtract_b_dec and d_in != d_out:
        raise BadWeights(
            f"{source}: b_dec [{d_out}] is to be subtracted from activations that are {d_in} wide"
        )
    _check_k(source, draft.activation, d_sae, given.k)
    return replace(
        draft.with_tensors(ours),
        hook=given.hook or draft.hook,
        layer=draft.layer if given.layer is None else given.layer,
    )


def core(
    held: Mapping[str, object],
    source: Path,
    *,
    W_enc: str = "W_enc",
    b_enc: str = "b_enc",
    W_dec: str = "W_dec",
    b_dec: str = "b_dec",
) -> Core:
    """The four tensors, from the names a file gives them."""
    return Core(*take(held, source, W_enc, b_enc, W_dec, b_dec))


def linear_core(
    held: Mapping[str, object], source: Path, *, ending: str = "", b_dec: str | None = None
) -> Core:
    """The four tensors of two `nn.Linear`, whose matrices are the other way round.

    `ending` is what follows `encoder` and `decoder` in their names.
    """
    named = {
        "W_enc": f"encoder{ending}.weight",
        "b_enc": f"encoder{ending}.bias",
        "W_dec": f"decoder{ending}.weight",
        "b_dec": b_dec or f"decoder{ending}.bias",
    }
    return core(held, source, **named).transposed()


def take(held: Mapping[str, object], source: Path, *names: str) -> list[Tensor]:
    """Matrices and vectors by the names a file gives them, or an error that lists what it has."""
    found = [held.get(name) for name in names]
    tensors = [tensor for tensor in found if isinstance(tensor, Tensor) and tensor.dim()]
    if len(tensors) == len(names):
        return tensors
    raise BadWeights(f"{source}: expected tensors {[*names]}, found {_list(held)}")


def flipped(matrix: Tensor) -> Tensor:
    """A matrix the other way round. What is no matrix stays as it is, for `checked` to refuse."""
    return matrix.mT if matrix.dim() > 1 else matrix


def said_k(k: int | None, given: FileFacts, source: Path, why: str) -> int:
    """K as the caller or the file says it; never a guess."""
    if given.k is not None:
        return given.k
    if k is None:
        raise NotSaid(f"{source}: {why}; pass k=, the number of features kept for each token")
    return k


def _list(tensors: Mapping[str, object]) -> list[str]:
    shapes = {name: getattr(value, "shape", None) for name, value in tensors.items()}
    return [name if shape is None else f"{name} {[*shape]}" for name, shape in shapes.items()][:20]


def _sizes(draft: Autoencoder, source: Path, d_in: int | None) -> tuple[int, int, int]:
    for name in ("W_enc", "W_dec"):
        shape = getattr(draft, name).shape
        if len(shape) != 2 or 0 in shape:
            raise BadWeights(f"{source}: {name} has shape {[*shape]}, expected a matrix")
    if d_in is not None and draft.d_in != d_in:
        raise BadWeights(
            f"{source}: W_enc is [d_in {draft.d_in}, d_sae {draft.d_sae}], expected d_in {d_in}: "
            "it belongs to another model or site, or is transposed. Without d_in= it loads as it is"
        )
    return draft.d_in, draft.d_sae, draft.d_out


def _ours(source: Path, name: str, tensor: Tensor, wanted: tuple[int, ...]) -> Tensor:
    """A finite float32 copy of the wanted shape."""
    if tuple(tensor.shape) != wanted:
        raise BadWeights(
            f"{source}: {name} has shape {[*tensor.shape]}, expected {[*wanted]} for an encoder of "
            "[d_in, d_sae] and a decoder of [d_sae, d_out]; it is transposed, or of another file"
        )
    if not tensor.dtype.is_floating_point:
        raise BadWeights(
            f"{source}: {name} is {str(tensor.dtype).removeprefix('torch.')}, expected float16, "
            "bfloat16, float32 or float64; undo its quantisation before loading"
        )
    gathered = name == "W_dec"  # by rows, so these lie together whatever the file does
    empty = torch.empty(wanted) if gathered else torch.empty_like(tensor, dtype=torch.float32)
    copy = empty.copy_(tensor)
    if bad := copy.numel() - int(copy.isfinite().sum()):
        raise BadWeights(
            f"{source}: {name} has {bad:,} of {copy.numel():,} values that are NaN or infinite in "
            "float32, and so would be what comes of them; fetch or make the file again"
        )
    return copy


def _check_k(source: Path, activation: Activation, d_sae: int, given: int | None) -> None:
    k = getattr(activation, "k", None)
    if given is not None and k is None:
        raise BadRequest(f"{source} is a {activation.kind} dictionary, which has no k; leave k out")
    if k is not None and not 1 <= k <= d_sae:
        raise BadWeights(
            f"{source}: k is {k}, expected 1 to {d_sae}, the number of features; pass k="
        )
    if isinstance(activation, GroupMax) and d_sae % activation.k:
        raise BadWeights(f"{source}: {d_sae} features do not make {activation.k} equal groups")
