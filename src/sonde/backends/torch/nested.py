"""Every tensor in a nest of tuples, lists, dicts and dataclasses, found and exchanged.

Layers are called with nests of tensors, and a trace is one. Two tensors that lie in the same place
in memory count as one, so what was shared stays shared.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")
TensorKey = tuple[int, torch.Size, tuple[int, ...], torch.dtype]
"""Where a tensor lies in memory, and how."""


def place_of(tensor: Tensor) -> TensorKey:
    """Two tensors with the same place are one."""
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def mapped(nest: T, change: Callable[[Tensor], object]) -> T:
    """The same nest with every tensor in it changed."""
    value: Any = nest
    out: Any = value
    if isinstance(value, Tensor):
        out = change(value)
    elif isinstance(value, tuple | list):
        parts = [mapped(part, change) for part in value]
        out = type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    elif isinstance(value, dict):
        out = {name: mapped(part, change) for name, part in value.items()}
    elif is_dataclass(value) and not isinstance(value, type):
        named = {f.name: mapped(getattr(value, f.name), change) for f in fields(value) if f.init}
        out = replace(value, **named)
    result: T = out
    return result


def tensors_in(nest: object) -> dict[TensorKey, Tensor]:
    """Every tensor in a nest, once, in the order in which it is met."""
    found: dict[TensorKey, Tensor] = {}
    _collect(nest, found)
    return found


def _collect(value: object, found: dict[TensorKey, Tensor]) -> None:
    parts: Iterable[object] = ()
    if isinstance(value, Tensor):
        found.setdefault(place_of(value), value)
    elif isinstance(value, tuple | list):
        parts = value
    elif isinstance(value, dict):
        parts = value.values()
    elif is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, field.name) for field in fields(value)]
    for part in parts:
        _collect(part, found)


def with_tensors(nest: T, other: Mapping[TensorKey, Tensor]) -> T:
    """The same nest with other tensors in the places of its own."""
    return mapped(nest, lambda tensor: other[place_of(tensor)])
