"""Which writes can change what is read."""

import pytest

from sonde.backends.base import Column, FromVector, Readout, Site, Write, logprobs_of
from sonde.backends.reach import positions_read, reaches, seen_from
from sonde.backends.spots import spots
from sonde.schema import HOOK_TABLE, LAYER_HOOKS, Hook
from tests.backends.torch.tiny import vector

LAYERS, TOKENS = 4, 6


def reached(hook: Hook, layer: int, *positions: int, reads: tuple[int, ...] = (5,)) -> bool:
    write = Write(Site(hook, layer, positions), FromVector(vector(2)))
    return reaches(spots([write]), reads, LAYERS)


@pytest.mark.parametrize("hook", LAYER_HOOKS)
def test_a_write_at_a_position_that_is_read_always_counts(hook: Hook) -> None:
    assert all(reached(hook, layer, 5) for layer in range(LAYERS))


@pytest.mark.parametrize("hook", LAYER_HOOKS)
def test_a_write_elsewhere_counts_while_attention_comes_after_it(hook: Hook) -> None:
    """Before the last layer always; in it, only what its attention still takes in."""
    assert all(reached(hook, layer, 2) for layer in range(LAYERS - 1))
    assert reached(hook, LAYERS - 1, 2) == (HOOK_TABLE[hook].enters == 0)


def test_what_comes_after_the_last_read_is_never_seen() -> None:
    assert not reached("pre_attn", 0, 4, 5, reads=(1, 3))
    assert reached("pre_attn", 0, 2, reads=(1, 3))
    assert reached("post_block", LAYERS - 1, 1, reads=(1, 3))
    assert not reached("post_block", LAYERS - 1, 2, reads=(1, 3))


def test_one_position_that_counts_is_enough() -> None:
    assert not reached("post_block", LAYERS - 1, 0, 1)
    assert reached("post_block", LAYERS - 1, 0, 1, 5)
    assert not reaches([], (5,), LAYERS)


def test_what_leaves_a_layer_is_seen_by_the_next_and_branches_too() -> None:
    assert seen_from("pre_attn", 2) == seen_from("post_block", 1) == seen_from("mlp_out", 1) == 2
    assert seen_from(None, 2) == 2  # what enters it
    assert seen_from("mlp_in", 1, local=False) == 1


def test_positions_are_read_lowest_first_and_once() -> None:
    assert positions_read(logprobs_of([1, 2]), TOKENS) == (5,)
    columns = (Column("logprob", 1, 5), Column("logprob", 1, 2), Column("logprob", 3, -1))
    assert positions_read(Readout(columns), TOKENS) == (2, 5)


def test_the_mlp_is_the_second_half_of_a_layer_and_all_else_that_it_reads_the_first() -> None:
    second = {hook for hook in HOOK_TABLE if HOOK_TABLE[hook].half}
    assert second == {"mlp_in", "mlp_out"}
