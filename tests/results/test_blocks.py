"""The heatmap in character cells."""

import pytest

from sonde.results import Sweep
from sonde.results.blocks import Blocks, Layout, layout
from sonde.results.pen import Pen
from sonde.schema import Grid
from tests.results.summaries import sweep, three_hooks, with_tokens

PLAIN = Pen(color=False)


def blocks_of(result: Sweep, pen: Pen, width: int) -> Blocks:
    return Blocks(result, tuple(range(len(result.views))), pen, width)


@pytest.mark.parametrize(
    ("hooks", "columns", "width", "expected"),
    [
        (1, 9, 80, Layout(cell=8, beside=1, columns=9)),
        (3, 9, 80, Layout(cell=2, beside=3, columns=9)),
        (3, 9, 140, Layout(cell=4, beside=3, columns=9)),
        (3, 16, 80, Layout(cell=2, beside=2, columns=16)),
        (1, 60, 80, Layout(cell=2, beside=1, columns=30)),
        (1, 300, 80, Layout(cell=1, beside=1, columns=75)),
        (1, 1, 4, Layout(cell=1, beside=1, columns=1)),
    ],
)
def test_hooks_stand_side_by_side_while_columns_stay_square(
    hooks: int, columns: int, width: int, expected: Layout
) -> None:
    assert layout(hooks=hooks, columns=columns, margin=3, width=width, narrowest=2) == expected


def test_the_last_layer_is_on_top_and_tokens_are_below() -> None:
    lines = list(blocks_of(sweep(), PLAIN, 80).lines())
    assert [line.split() for line in lines] == [
        ["post_block"],
        ["1", "●−1.00", "−5.50", "−5.00"],
        ["0", "−5.00", "−4.00", "×"],
        ["<s>", "The", "·Colos"],
        [],
    ]


def test_columns_without_room_for_numbers_hold_ninths_of_the_reach() -> None:
    grid: Grid = [[-5.0, -1.0, -9.0, -4.5, -3.0, None]]
    blocks = blocks_of(sweep({"mlp_out": grid}), PLAIN, 3 * 6 + 2)
    assert not blocks.has_numbers
    assert list(blocks.lines())[1].split() == ["0", "·", "●9", "−9", "1", "4", "×"]


def test_cells_within_the_noise_floor_say_so_instead_of_a_digit() -> None:
    blocks = blocks_of(sweep({"mlp_out": [[-5.1, -1.0]]}, noise_floor=0.2), PLAIN, 8)
    assert list(blocks.lines())[1].split() == ["0", "~", "●9"]


def test_narrow_columns_have_their_tokens_written_downwards() -> None:
    lines = list(blocks_of(with_tokens("abc", "d"), PLAIN, 8).lines())
    assert [line.split() for line in lines[3:]] == [["a", "d"], ["b"], ["c"], []]


def test_long_labels_are_cut_and_wide_glyphs_boxed() -> None:
    grid: Grid = [[-5.0 + column for column in range(300)]]
    blocks = blocks_of(sweep({"mlp_out": grid}), Pen(color=True), 80)
    assert blocks.layout.cell == 1
    wide = with_tokens(*["日" + "x" * 20] * 300)
    lines = list(blocks_of(wide, Pen(color=True), 80).lines())
    stack = [line.strip()[:1] for line in lines[3:13]]
    assert stack == ["▯", *"x" * 8, "…"]


def test_long_prompts_leave_out_the_columns_where_nothing_changed() -> None:
    grid: Grid = [[*[-5.0] * 50, *[-4.0] * 10]]
    blocks = blocks_of(sweep({"mlp_out": grid}), PLAIN, 80)
    assert blocks.columns == list(range(50, 60))
    assert blocks.left_out == "50 positions, 0–49"


def test_prompts_that_fit_leave_nothing_out() -> None:
    assert blocks_of(sweep({"mlp_out": [[-5.0, -5.0, -4.0]]}), PLAIN, 80).left_out == ""


def test_a_grid_where_nothing_changed_at_all_is_drawn_whole() -> None:
    grid: Grid = [[-5.0] * 60]
    blocks = blocks_of(sweep({"mlp_out": grid}), PLAIN, 80)
    assert len(blocks.columns) == 60


def test_every_column_is_drawn_once_in_every_hook() -> None:
    blocks = blocks_of(three_hooks(1, 120), PLAIN, 80)
    drawn = [line.split()[1:] for line in blocks.lines() if line.startswith("0 ")]
    assert sum(map(len, drawn)) == 3 * 120
