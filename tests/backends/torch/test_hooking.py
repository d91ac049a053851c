"""What passes a tap can be seen and changed, on either side of a module, and nothing is left."""

import pytest
import torch
from torch import Tensor, nn

from sonde.backends.torch.hooking import (
    Tap,
    edge_tap,
    first_tensor,
    received_tensor,
    watch_both,
    watch_call,
)


class Pair(nn.Module):
    """Returns a tuple, as some decoder layers do, and adds its input as a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.twice = nn.Linear(2, 2, bias=False)
        self.twice.weight.data = 2 * torch.eye(2)
        self.requires_grad_(False)

    def forward(self, hidden_states: Tensor) -> tuple[Tensor, None]:
        return hidden_states + self.twice(hidden_states), None


def test_a_watch_sees_both_sides_and_changes_nothing() -> None:
    layer, seen = Pair(), list[Tensor]()
    handles = [edge_tap(layer, hook).watch(seen.append) for hook in ("pre_attn", "post_block")]

    out, _ = layer(hidden_states=torch.ones(1, 2))

    assert [float(each[0, 0]) for each in seen] == [1.0, 3.0]
    assert out.tolist() == [[3.0, 3.0]]
    for handle in handles:
        handle.remove()
    assert not layer._forward_hooks
    assert not layer._forward_pre_hooks


def test_a_changed_input_that_is_the_stream_is_what_the_residual_add_reads() -> None:
    layer = Pair()
    stream = Tap(layer.twice, "receives", is_stream=True)
    handle = stream.rewrite(lambda given: given + 1)

    assert layer(torch.ones(1, 2))[0].tolist() == [[6.0, 6.0]]
    handle.remove()
    Tap(layer.twice, "receives").rewrite(lambda given: given + 1)

    assert layer(torch.ones(1, 2))[0].tolist() == [[5.0, 5.0]]


def test_a_changed_output_replaces_the_first_of_a_tuple() -> None:
    layer = Pair()
    edge_tap(layer, "post_block").rewrite(lambda given: given * 10)

    out, rest = layer(torch.ones(1, 2))

    assert out.tolist() == [[30.0, 30.0]]
    assert rest is None


@pytest.mark.parametrize("side", ["receives", "returns"])
def test_no_change_leaves_the_very_tensor(side: str) -> None:
    layer, given = Pair(), torch.ones(1, 2)
    Tap(layer, "receives" if side == "receives" else "returns").rewrite(lambda _: None)

    assert layer(given)[0].tolist() == [[3.0, 3.0]]


def test_only_what_is_the_modules_own_may_be_written_to() -> None:
    module = nn.Identity()

    assert Tap(module, "returns").may_write
    assert Tap(module, "receives", is_stream=True).may_write
    assert not Tap(module, "receives").may_write


def test_calls_are_seen_with_their_arguments_and_what_came_of_them() -> None:
    layer, calls = Pair(), list[object]()
    watch_call(layer, lambda args, kwargs: calls.append((len(args), sorted(kwargs))))
    watch_both(layer, lambda args, kwargs, out: calls.append(type(out).__name__))

    layer(hidden_states=torch.ones(1, 2))

    assert calls == [(0, ["hidden_states"]), "tuple"]


def test_tensors_are_found_however_modules_pass_them() -> None:
    tensor = torch.ones(1)
    found: list[Tensor | None] = [
        first_tensor(tensor),
        first_tensor((tensor, None)),
        received_tensor((tensor,), {}),
        received_tensor((), {"hidden_states": tensor}),
    ]

    assert all(each is tensor for each in found)
    assert first_tensor((None, tensor)) is None
    assert received_tensor((), {}) is None
