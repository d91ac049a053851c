"""Weights that two loaded models have in common are held once.

An adapter is merged into its base, and changes some of the base's matrices: the others are the same
numbers, of the base and of every other checkpoint of the run. Compared bit for bit, so nothing that
is computed changes. Nobody may train a model whose weights are shared.
"""

import json
import re
import struct
from collections.abc import Iterable
from itertools import chain
from math import prod
from pathlib import Path
from typing import Final

import torch
from torch import Tensor, nn

from sonde.backends.torch.cpu import products
from sonde.backends.torch.loading.fingerprint import bits_of

BYTES: Final = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2}
"""Of a number in a safetensors file; others have one."""

HEADER_BYTES: Final = 2**26

_IN_A_LAYER = re.compile(r"\.\d+\.")


def share(model: nn.Module, others: Iterable[nn.Module]) -> None:
    """Put the tensors of other models in the place of those that are the same."""
    held = [dict(other.named_parameters(remove_duplicate=False)) for other in others]
    for path, module in model.named_modules():
        for name, weight in module._parameters.items():
            whole = f"{path}.{name}" if path else name
            twins = (twin for other in held if (twin := other.get(whole)) is not None)
            module._parameters[name] = next(
                (twin for twin in twins if weight is not None and _same(twin, weight)), weight
            )


def share_laid_out(model: nn.Module, others: Iterable[nn.Module]) -> None:
    """The same for the second copies in the kernel's order, once both models have theirs."""
    for other in others:
        products.share(model, other)


def held_bytes(models: Iterable[nn.Module]) -> int:
    """What the weights of some models take together, shared ones once."""
    sizes: dict[int, int] = {}
    for model in models:
        for tensor in chain(model.parameters(), model.buffers()):
            storage = tensor.untyped_storage()
            sizes[storage._cdata] = storage.nbytes()
        sizes |= products.laid_out_bytes(model)
    return sum(sizes.values())


def bytes_to_load(directory: Path, dtype: torch.dtype | None, device: torch.device) -> int:
    """What the model in a directory will take, by the heads of its files. Reads no weight."""
    weights = second = 0
    for file in sorted(directory.glob("*.safetensors")):
        for name, (stored, shape) in _head(file).items():
            size = prod(shape) * (BYTES.get(stored, 1) if dtype is None else dtype.itemsize)
            weights += size
            second += size if len(shape) == 2 and _IN_A_LAYER.search(name) else 0
    laid_out = device.type == "cpu" and dtype == torch.float32 and weights <= products.LARGEST
    return weights + second * (laid_out and products.available())


def _head(file: Path) -> dict[str, tuple[str, list[int]]]:
    """Types and shapes of a safetensors file; nothing where it is none, which loading refuses."""
    try:
        with file.open("rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            head = json.loads(opened.read(min(length, HEADER_BYTES)))
        return {
            name: (str(each["dtype"]), [int(n) for n in each["shape"]])
            for name, each in head.items()
            if name != "__metadata__"
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error):
        return {}


def _same(one: Tensor, other: Tensor) -> bool:
    """Whether two weights have the same bits, in the same kind of memory."""
    alike = one.shape == other.shape and one.dtype == other.dtype and one.device == other.device
    return alike and torch.equal(bits_of(one.detach()), bits_of(other.detach()))
