"""Tensors are found and exchanged wherever they are in a nest, and sharing is kept."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sonde.backends.torch.nested import mapped, tensors_in, with_tensors


class Pair(NamedTuple):
    one: Tensor
    other: int


@dataclass(frozen=True)
class Nest:
    tensor: Tensor
    parts: dict[str, Any]
    number: int = 3


def nest() -> Nest:
    shared = torch.arange(6.0).view(2, 3)
    deep = [(shared, None), Pair(torch.ones(2), 7)]
    return Nest(shared, {"deep": deep, "name": "x", "row": shared[1]})


def test_every_tensor_is_found_once() -> None:
    found = list(tensors_in(nest()).values())
    assert [tuple(tensor.shape) for tensor in found] == [(2, 3), (2,), (3,)]


def test_a_changed_nest_has_the_same_form() -> None:
    made = mapped(nest(), lambda tensor: tensor + 1)

    assert isinstance(made, Nest)
    assert (made.number, made.parts["name"]) == (3, "x")
    assert isinstance(made.parts["deep"][1], Pair)
    assert made.parts["deep"][1].other == 7
    assert made.tensor.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    assert made.parts["row"].tolist() == [4.0, 5.0, 6.0]


def test_what_was_shared_stays_shared() -> None:
    given = nest()
    copies = {place: tensor.clone() for place, tensor in tensors_in(given).items()}

    made = with_tensors(given, copies)

    assert made.parts["deep"][0][0] is made.tensor
    assert made.tensor is not given.tensor
    assert torch.equal(made.tensor, given.tensor)
