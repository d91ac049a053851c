"""When a patched run joins the batch, and when it need not run at all."""

import itertools

import pytest
import torch

from sonde.backends.base import FromVector, write_at
from sonde.backends.torch.packed.cells import PackedCell, PlacedWrite, Sources, place, plan_cell
from sonde.schema import LAYER_HOOKS, Hook
from tests.backends.torch.tiny import vector

LAYERS, TOKENS = 4, 5
LAST = TOKENS - 1


def placed(hook: Hook, layer: int, position: int) -> PlacedWrite:
    return place([write_at(hook, layer, position, FromVector(vector(4)))])[0]


def plan(*patches: PlacedWrite, local: bool = True) -> PackedCell | None:
    return plan_cell(7, patches, LAYERS, [TOKENS - 1], local=local)


def test_what_leaves_a_layer_is_what_enters_the_next() -> None:
    assert placed("post_block", 1, 3) == placed("pre_attn", 2, 3)
    assert placed("pre_attn", 1, 3).inside is None


@pytest.mark.parametrize("hook", ["post_attn", "mlp_in", "mlp_out"])
def test_the_other_hooks_act_inside_their_layer(hook: Hook) -> None:
    assert placed(hook, 1, 3) == PlacedWrite(1, hook, (3,), 0)


def test_a_cell_joins_at_its_layer_with_its_suffix() -> None:
    assert plan(placed("pre_attn", 1, 3)) == PackedCell(7, (placed("pre_attn", 1, 3),), 3, 1, ())


def test_a_patch_inside_a_layer_is_computed_alone_there_and_joins_one_layer_up() -> None:
    cell = plan(placed("mlp_in", 1, 3))

    assert cell is not None
    assert (cell.first, cell.joins, cell.alone) == (3, 2, (3,))


def test_of_several_patches_the_lowest_layer_and_the_first_position_count() -> None:
    cell = plan(placed("mlp_in", 2, 1), placed("pre_attn", 1, 3), placed("mlp_out", 1, 2))

    assert cell is not None
    assert (cell.first, cell.joins, cell.alone) == (1, 1, ())


def test_several_patches_inside_the_lowest_layer_are_each_computed_alone() -> None:
    cell = plan(placed("mlp_in", 1, 3), placed("mlp_out", 1, 3), placed("post_attn", 1, 2))

    assert cell is not None
    assert (cell.first, cell.joins, cell.alone) == (2, 2, (2, 3))


def test_a_patch_that_the_last_position_cannot_see_needs_no_work() -> None:
    """Brute force: from the last layer's attention on, positions do not see one another."""
    for hook, layer, position in itertools.product(LAYER_HOOKS, range(LAYERS), range(TOKENS)):
        seen = position == LAST or layer < LAYERS - 1 or hook == "pre_attn"
        assert (plan(placed(hook, layer, position)) is not None) == seen


def test_patches_without_effect_are_left_out_of_a_cell() -> None:
    cell = plan(placed("post_block", 3, 0), placed("pre_attn", 2, 3))

    assert cell is not None
    assert cell.patches == (placed("pre_attn", 2, 3),)
    assert cell.first == 3


def test_where_mlps_mix_positions_only_the_end_of_the_last_layer_is_out_of_sight() -> None:
    assert plan(placed("mlp_in", 3, 0), local=False) is not None
    assert plan(placed("post_block", 3, 0), local=False) is None


def test_the_work_of_a_cell_is_its_suffix_times_the_layers_above() -> None:
    def work(*patches: PlacedWrite) -> int:
        cell = plan(*patches)
        assert cell is not None
        return cell.token_layers(LAYERS, TOKENS)

    assert work(placed("pre_attn", 0, 0)) == LAYERS * TOKENS
    assert work(placed("pre_attn", 1, 3)) == 3 * 2
    assert work(placed("mlp_in", 1, 3)) == 2 * 2 + 1
    assert work(placed("post_block", 3, LAST)) == 0


def test_sources_are_picked_for_their_rows() -> None:
    values = torch.arange(6.0).view(3, 2)
    sources = Sources(values, torch.tensor([[0.1], [0.2], [0.3]]))

    writes = sources.writes([10, 20], [2, 0])

    assert writes.rows.tolist() == [10, 20]
    assert writes.values.equal(values[[2, 0]])
    assert writes.weight is not None
    assert writes.weight.flatten().tolist() == pytest.approx([0.3, 0.1])
