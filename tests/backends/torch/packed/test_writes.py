"""A write changes exactly its rows and dimensions, and one that did not happen is an error."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sonde.backends.torch.hooking import Tap
from sonde.backends.torch.layout import LayerSites, bare_layer
from sonde.backends.torch.packed.writes import Writes, applied, due, ports, write_entering
from sonde.errors import HookNeverFired
from sonde.schema import Hook

ROWS, WIDTH = 6, 4


class Block(nn.Module):
    """Residual, norm, MLP; `skip` leaves the MLP out."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.mlp = nn.Identity(), nn.Identity()
        self.skip = False
        self.seen: dict[str, Tensor] = {}

    def forward(self, hidden_states: Tensor) -> Tensor:
        middle = hidden_states + 0.0
        given = self.norm(middle) * 2
        if self.skip:
            return middle
        branch = self.mlp(given)
        self.seen = {"middle": middle.clone(), "given": given.clone(), "branch": branch.clone()}
        return middle + branch


def sites_of(block: Block) -> LayerSites:
    inside: dict[Hook, Tap] = {
        "post_attn": Tap(block.norm, "receives", is_stream=True),
        "mlp_in": Tap(block.mlp, "receives"),
        "mlp_out": Tap(block.mlp, "returns"),
    }
    return LayerSites(block, {**bare_layer(block).taps, **inside})


def rows_of_ones() -> Tensor:
    return torch.ones(1, ROWS, WIDTH)


def write(rows: list[int], value: float, weight: Tensor | None = None) -> Writes:
    return Writes(torch.tensor(rows), torch.full((len(rows), WIDTH), value), weight)


def test_replacing_touches_the_named_rows_only() -> None:
    target = torch.zeros(ROWS, WIDTH)

    written = write([4, 1], 7.0).apply(target)

    assert written == 2
    assert target[[1, 4]].eq(7).all()
    assert target[[0, 2, 3, 5]].eq(0).all()


def test_a_mask_zeroes_exactly_its_dimensions() -> None:
    target = torch.rand(ROWS, WIDTH) + 1
    before = target.clone()
    mask = torch.tensor([[0.0, 1.0, 0.0, 1.0]])

    write([2], 0.0, mask).apply(target)

    assert target[2, [1, 3]].eq(0).all()
    assert target[2, [0, 2]].equal(before[2, [0, 2]])
    assert target[[0, 1, 3, 4, 5]].equal(before[[0, 1, 3, 4, 5]])


@pytest.mark.parametrize("hook", ["post_attn", "mlp_in", "mlp_out"])
def test_a_write_inside_a_layer_acts_at_its_hook_and_on_what_follows(hook: Hook) -> None:
    block = Block()

    with applied(sites_of(block), {hook: write([3], 5.0)}):
        out = block(rows_of_ones())

    touched = {
        "post_attn": {"middle": 5.0, "given": 10.0, "branch": 10.0},
        "mlp_in": {"middle": 1.0, "given": 2.0, "branch": 5.0},  # `given` itself is not touched
        "mlp_out": {"middle": 1.0, "given": 5.0, "branch": 5.0},  # Identity returns its input
    }[hook]
    assert {name: float(seen[0, 3, 0]) for name, seen in block.seen.items()} == touched
    assert out[0, 3].eq(touched["middle"] + touched["branch"]).all()
    assert out[0, [0, 1, 2, 4, 5]].eq(3).all()


def test_hooks_are_gone_after_the_block() -> None:
    block = Block()
    with applied(sites_of(block), {"mlp_out": write([3], 5.0)}):
        block(rows_of_ones())

    assert block(rows_of_ones()).eq(3).all()


def test_hooks_are_gone_after_an_error() -> None:
    block = Block()
    with (
        pytest.raises(ZeroDivisionError),
        applied(sites_of(block), {"mlp_in": write([3], 5.0)}),
    ):
        raise ZeroDivisionError

    assert block(rows_of_ones()).eq(3).all()


@pytest.mark.parametrize("hook", ["mlp_in", "mlp_out"])
def test_a_module_that_did_not_run_is_an_error(hook: Hook) -> None:
    block = Block()
    block.skip = True

    with (
        pytest.raises(HookNeverFired, match=f"0 of 2 patches at {hook} were applied"),
        applied(sites_of(block), {hook: write([0, 3], 5.0)}),
    ):
        block(rows_of_ones())


def test_a_hook_the_layer_does_not_have_is_an_error() -> None:
    block = Block()
    bare = bare_layer(block)

    with (
        pytest.raises(HookNeverFired, match="this model has no post_attn"),
        applied(bare, {"post_attn": write([0], 5.0)}),
    ):
        block(rows_of_ones())


def test_a_layer_that_ran_twice_is_an_error() -> None:
    twice = nn.Sequential(block := Block(), block)

    with (
        pytest.raises(HookNeverFired, match="2 of 1 patches"),
        applied(sites_of(block), {"mlp_in": write([0], 5.0)}),
    ):
        twice(rows_of_ones())


def test_two_threads_write_through_the_same_ports_each_its_own() -> None:
    """Both are inside their block before either calls the layer."""
    block = Block()
    sites, both = sites_of(block), Barrier(2)

    def made(value: float) -> Tensor:
        with due(sites, {"mlp_out": write([3], value)}):
            both.wait(timeout=10)
            out: Tensor = block(rows_of_ones())
            return out

    with ports([sites], ["mlp_out"]), ThreadPoolExecutor(2) as pool:
        first, second = pool.map(made, [5.0, 7.0])
        untouched = block(rows_of_ones())

    assert first[0, 3].tolist() == [6.0] * WIDTH
    assert second[0, 3].tolist() == [8.0] * WIDTH
    assert untouched[0, 3].tolist() == [3.0] * WIDTH


def test_a_layer_without_ports_does_not_pass_for_written() -> None:
    block = Block()

    with (
        pytest.raises(HookNeverFired, match="0 of 1 patches at mlp_in"),
        due(sites_of(block), {"mlp_in": write([0], 5.0)}),
    ):
        block(rows_of_ones())


def test_writes_to_several_layers_can_be_due_at_once() -> None:
    """As in a completion, whose patches lie in any layers."""
    below, above = Block(), Block()

    with (
        applied(sites_of(below), {"mlp_out": write([3], 5.0)}),
        applied(sites_of(above), {"mlp_out": write([3], 1.0)}),
    ):
        out = above(below(rows_of_ones()))

    assert out[0, 3].tolist() == [7.0] * WIDTH


@pytest.mark.parametrize("by_name", [False, True])
def test_what_enters_a_layer_is_written_however_it_is_passed(by_name: bool) -> None:
    block, rows = Block(), rows_of_ones()
    given: Any = {"hidden_states": rows}

    with write_entering(bare_layer(block), write([2], 9.0)):
        out = block(**given) if by_name else block(rows)

    assert out[0, 2].eq(27).all()
    assert out[0, [0, 1, 3, 4, 5]].eq(3).all()


def test_a_layer_that_was_never_entered_is_an_error() -> None:
    with (
        pytest.raises(HookNeverFired, match="0 of 1 patches entering a layer"),
        write_entering(bare_layer(Block()), write([2], 9.0)),
    ):
        pass
