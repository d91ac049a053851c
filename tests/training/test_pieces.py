from dataclasses import replace

import torch
from hypothesis import given
from hypothesis import strategies as st

from sonde.training.pieces import PassSlice, Sample, evenly, places, recorded, spans, thin


def sample(index: int) -> Sample:
    return Sample(0, index, index // 2, "prompt", "completion", 3, 4, truncated=False)


def piece(lengths: list[int], every: int = 2, first: int = 0) -> PassSlice:
    counts = [recorded(length, every) for length in lengths]
    rows = [float(first + place) for place, count in enumerate(counts) for _ in range(count)]
    read = {layer: torch.tensor(rows).view(-1, 1) for layer in (0, 3)}
    samples = tuple(sample(first + place) for place in range(len(lengths)))
    return PassSlice(samples, tuple(lengths), every, read)


def test_tokens_are_thinned_for_each_completion_alone() -> None:
    tokens = places([range(10, 15), range(10, 11), range(10, 10)], every=4)
    assert tokens.rows.tolist() == [0, 0, 1]
    assert tokens.positions.tolist() == [10, 14, 10]
    assert recorded(5, 4) == 2
    assert recorded(0, 4) == 0


def test_a_piece_knows_how_many_tokens_it_holds() -> None:
    held = piece([5, 1, 0, 2])
    assert held.counts == (3, 1, 0, 1)
    assert held.weight == 2 * 5 * 4


def test_the_last_token_of_a_prompt_comes_after_its_completion() -> None:
    """Not where nothing was learnt of the completion, nor of a prompt that is one sink."""
    short = replace(sample(3), prompt_tokens=1)
    held = replace(piece([5, 1, 0, 2]), prompts=True)
    held = replace(held, samples=(*held.samples[:3], short))
    assert held.counts == (4, 2, 0, 1)


def test_completions_are_left_out_whole() -> None:
    held = piece([5, 1, 4]).only(frozenset({0, 2}))
    assert held.counts == (3, 0, 2)
    assert held.read[3][:, 0].tolist() == [0, 0, 0, 2, 2]
    assert len(held.samples) == 3


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(0, 400))
def test_what_is_kept_fits_and_the_rest_is_counted(lengths: list[int], room: int) -> None:
    pieces = [piece(lengths[:4]), piece(lengths[4:], first=4)]
    kept, left_out = thin(pieces, room)
    if sum(each.weight for each in pieces) <= room:
        assert left_out == 0
    else:
        there = sum(len(each.kept or ()) for each in kept)
        assert there + left_out == len(lengths)
    for each in kept:
        assert sum(each.counts) == len(each.read[0])
        rows = [
            each.samples[0].index + place for place, n in enumerate(each.counts) for _ in range(n)
        ]
        assert each.read[0][:, 0].tolist() == rows


def test_places_are_spread_evenly() -> None:
    assert evenly(8, 1.0) == frozenset(range(8))
    assert evenly(8, 0.5) == {0, 2, 4, 6}
    assert evenly(8, 0.0) == frozenset()
    assert evenly(0, 1.0) == frozenset()
    assert spans([2, 0, 3]) == [(0, 2), (2, 2), (2, 5)]
