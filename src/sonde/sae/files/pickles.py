"""A torch pickle, opened in the one way that runs nothing: `weights_only`, and mapped.

Not every pickle that torch can write is accepted. What asks for more than tensors and plain values
is refused with the name of what it asked for, and a tensor may not claim more than its file holds.
"""

import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from sonde.errors import BadWeights, DamagedFile, UnsafeFile

SAFE: Final = "safetensors.torch.save_file(tensors, 'weights.safetensors')"


def read_pickle(path: Path) -> dict[str, Any]:
    """The dict in a `.pt` file: tensors, mapped and not copied, and plain values."""
    if not zipfile.is_zipfile(path):
        raise UnsafeFile(
            f"{path} is not a torch zip archive: it is damaged, or a bare pickle, which is not "
            f"opened because it can run code. If you trust it, have it saved again: {SAFE}"
        )
    try:
        found = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except pickle.UnpicklingError as error:
        raise UnsafeFile(
            f"{path} is a torch pickle that asks for more than tensors ({_first_line(error)}); "
            f"nothing of it was run. If you trust its maker, have it saved as safetensors: {SAFE}"
        ) from error
    except (RuntimeError, ValueError, KeyError, EOFError, OSError, AssertionError) as error:
        raise DamagedFile(
            f"{path} is not a whole torch file ({_first_line(error)}); fetch it again"
        ) from error
    if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
        raise BadWeights(
            f"{path} holds a {type(found).__name__}, expected a dict of tensors by name"
        )
    for name, value in found.items():
        if isinstance(value, Tensor):
            _check_storage(path, name, value)
    return dict(found)


def _check_storage(path: Path, name: str, tensor: Tensor) -> None:
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.device.type != "cpu":
        raise BadWeights(
            f"{path}: {name} is {tensor.layout} on {tensor.device}, expected plain values"
        )
    size = tensor.numel() * tensor.element_size()
    if size > path.stat().st_size:
        raise DamagedFile(
            f"{path}: {name} claims {size:,} bytes, and the file has {path.stat().st_size:,}"
        )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    reasons = [line.strip() for line in lines if "Unsupported" in line or "GLOBAL" in line]
    return (reasons or [lines[0].strip()])[0][:200]
