"""The indices of packed suffixes name the rows they should."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from sonde.backends.torch.packed.plan import Queries, QueryBlock
from sonde.backends.torch.packed.segments import Segments, whole_prompts

CPU = torch.device("cpu")
BLOCK = 4
starts_and_length = st.integers(1, 11).flatmap(
    lambda n: st.tuples(st.lists(st.integers(0, n - 1), min_size=1, max_size=6), st.just(n))
)


def packed(starts: list[int], n_tokens: int) -> list[tuple[int, int]]:
    """(cell, position) of every packed row."""
    return [(c, p) for c, start in enumerate(starts) for p in range(start, n_tokens)]


def near(queries: list[Queries]) -> list[QueryBlock]:
    """All of them, in prompts as short as these."""
    blocks = [each for each in queries if isinstance(each, QueryBlock)]
    assert len(blocks) == len(queries)
    return blocks


def rows_of(block: QueryBlock, heads: int = 1) -> np.ndarray:
    return block.queries(heads).view(block.n_cells, heads, block.size).numpy()


@given(starts_and_length)
def test_rows_are_the_suffixes_end_to_end(given_: tuple[list[int], int]) -> None:
    starts, n = given_
    segments = Segments(starts, [n] * len(starts), block=BLOCK, device=CPU)
    expected = packed(starts, n)

    assert segments.n_rows == len(expected)
    assert segments.trace_rows.tolist() == [p for _, p in expected]
    assert [segments.row(c, p) for c, p in expected] == list(range(len(expected)))
    assert segments.last_rows(len(starts)) == [i for i, (_, p) in enumerate(expected) if p == n - 1]


@given(starts_and_length)
def test_every_query_is_computed_once_with_the_keys_of_its_own_run(
    given_: tuple[list[int], int],
) -> None:
    """A key before the suffix is the unpatched run's; from its start on, the cell's own."""
    starts, n = given_
    segments = Segments(starts, [n] * len(starts), block=BLOCK, device=CPU)
    cell_of = packed(starts, n)
    seen: list[int] = []
    for block in near(segments.blocks(len(starts))):
        keys = block.keys(1).view(block.n_cells, block.n_keys)
        places = block.outputs(1).view(-1)
        rows = torch.arange(len(places)) if block.rows is None else block.rows
        for row, place in zip(rows.tolist(), places.tolist(), strict=True):
            cell, position = cell_of[row]
            in_block, slot = divmod(place, block.size)
            assert rows_of(block)[in_block, 0, slot] == row
            assert position == block.first + slot
            for key in range(position + 1):
                own = key >= starts[cell]
                wanted = n + segments.row(cell, key) if own else key
                assert int(keys[in_block, key]) == wanted
            seen.append(row)
    assert sorted(seen) == list(range(len(cell_of)))


@given(starts_and_length, st.integers(1, 6))
def test_the_first_cells_are_a_prefix_of_the_packing(
    given_: tuple[list[int], int], n_cells: int
) -> None:
    starts, n = given_
    n_cells = min(n_cells, len(starts))
    some = Segments(starts, [n] * len(starts), block=BLOCK, device=CPU)
    few = Segments(starts[:n_cells], [n] * n_cells, block=BLOCK, device=CPU)

    assert some.rows_of(n_cells) == few.n_rows
    for one, other in zip(near(some.blocks(n_cells)), near(few.blocks(n_cells)), strict=True):
        assert (one.first, one.n_cells, one.n_keys) == (other.first, other.n_cells, other.n_keys)
        for heads in (1, 3):
            assert one.queries(heads).equal(other.queries(heads))
            assert one.outputs(heads).equal(other.outputs(heads))


@given(starts_and_length)
def test_the_last_block_has_one_query_per_cell_at_the_last_position(
    given_: tuple[list[int], int],
) -> None:
    starts, n = given_
    segments = Segments(starts, [n] * len(starts), block=BLOCK, device=CPU)
    [block] = near(segments.last_blocks(len(starts)))
    slot = n - 1 - block.first

    assert rows_of(block)[:, 0, slot].tolist() == list(range(len(starts)))
    assert block.outputs(1).tolist() == [c * BLOCK + slot for c in range(len(starts))]


def test_heads_are_interleaved_within_a_row() -> None:
    block = near(Segments([1, 0], [3, 3], block=BLOCK, device=CPU).blocks(2))[0]

    one, two = rows_of(block), rows_of(block, 2)

    for head in range(2):
        assert (two[:, head] == one[:, 0] * 2 + head).all()


def test_no_cells_make_no_blocks() -> None:
    segments = Segments([], [], block=BLOCK, device=CPU)

    assert segments.n_rows == 0
    assert segments.blocks(0) == []


@given(st.lists(st.integers(0, 8), min_size=1, max_size=6))
def test_cells_share_a_block_with_those_that_have_about_as_many_queries(starts: list[int]) -> None:
    """Nine tokens in a block of sixteen: suffixes of up to 4, up to 8, and 9 rows."""
    segments = Segments(starts, [9] * len(starts), block=16, device=CPU)
    blocks = near(segments.blocks(len(starts)))

    lengths = [9 - start for start in starts]
    expected = {4 if n <= 4 else 8 if n <= 8 else 16 for n in lengths}
    assert {block.size for block in blocks} == expected
    assert all(block.n_keys == 16 for block in blocks)
    assert sum(len(block.outputs(1)) for block in blocks) == segments.n_rows


def test_in_long_prompts_blocks_are_whole() -> None:
    blocks = Segments([30, 47], [48, 48], block=16, device=CPU).blocks(2)
    assert {block.size for block in near(blocks)} == {16}


def test_prompts_side_by_side_see_only_themselves() -> None:
    first, second = near(whole_prompts([4, 8], [BLOCK, BLOCK], CPU))

    assert first.keys(1).tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert first.queries(1).tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert (first.n_cells, first.first, first.n_keys) == (2, 0, 4)
    assert second.keys(1).tolist() == [4, 5, 6, 7, 8, 9, 10, 11]
    assert second.queries(1).tolist() == [8, 9, 10, 11]
    assert (second.n_cells, second.first, second.n_keys) == (1, 4, 8)


def test_a_prompt_may_end_within_a_block() -> None:
    """What lies beyond its end is never read, whichever row is named there."""
    (block,) = near(whole_prompts([3, 2], [BLOCK, BLOCK], CPU))

    assert block.rows is not None
    assert block.rows.tolist() == [0, 1, 2, 3, 4]
    assert block.outputs(1).tolist() == [0, 1, 2, 4, 5]
    assert block.queries(1).view(2, 4)[:, :2].tolist() == [[0, 1], [3, 4]]
    assert block.keys(1).view(2, 4)[:, :2].tolist() == [[0, 1], [3, 4]]
