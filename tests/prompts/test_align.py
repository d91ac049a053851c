"""Alignment: which clean token each corrupt token is patched from."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.errors import BadRequest, PositionOutOfRange
from sonde.prompts import Matching, align, pair_explicitly
from sonde.schema import Pairing

PAIRINGS: tuple[Pairing, ...] = get_args(Pairing)
CLEAN_LONGER = ([1, 2, 30, 31, 32, 4, 5], [1, 2, 90, 91, 4, 5])
CORRUPT_LONGER = ([1, 2, 30, 31, 4, 5], [1, 2, 90, 91, 92, 93, 94, 4, 5])


def single(pairs: Matching) -> dict[int, int]:
    """Position -> its one clean position."""
    return {position: source for position, (source,) in pairs.sources.items()}


def middle(pairs: Matching) -> dict[int, tuple[int, ...]]:
    return {position: tuple(sources) for position, sources in pairs.alignment.paired}


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_prompts_of_one_length_pair_position_by_position(pairing: Pairing) -> None:
    pairs = align([1, 2, 3], [1, 9, 3], pairing=pairing)
    assert single(pairs) == {0: 0, 1: 1, 2: 2}
    assert pairs.reasons == {}
    assert pairs.alignment.model_dump() == {
        "n_clean": 3,
        "n_corrupt": 3,
        "prefix_len": 3,
        "suffix_len": 0,
        "unaligned_positions": [],
        "pairing": pairing,
        "paired": [],
    }


@pytest.mark.parametrize(
    ("clean", "corrupt", "prefix", "suffix", "sources", "unaligned"),
    [
        pytest.param(
            [1, 2, 30, 31, 4, 5],
            [1, 2, 90, 4, 5],
            2,
            2,
            {0: 0, 1: 1, 3: 4, 4: 5},
            [2],
            id="the suffix is shifted",
        ),
        pytest.param(
            [1, 5, 5, 5, 9],
            [1, 5, 5, 9],
            3,
            1,
            {0: 0, 1: 1, 2: 2, 3: 4},
            [],
            id="the prefix takes a repeated token first",
        ),
        pytest.param([1], [1, 1], 1, 0, {0: 0}, [1], id="the suffix never reaches into the prefix"),
        pytest.param([1, 2], [7, 8, 9], 0, 0, {}, [0, 1, 2], id="nothing shared"),
        pytest.param([], [7], 0, 0, {}, [0], id="an empty clean prompt"),
    ],
)
def test_prompts_of_different_length_pair_at_both_ends(
    clean: list[int],
    corrupt: list[int],
    prefix: int,
    suffix: int,
    sources: dict[int, int],
    unaligned: list[int],
) -> None:
    pairs = align(clean, corrupt)
    assert single(pairs) == sources
    assert list(pairs.reasons) == pairs.alignment.unaligned_positions == unaligned
    assert (pairs.alignment.prefix_len, pairs.alignment.suffix_len) == (prefix, suffix)
    assert (pairs.alignment.n_clean, pairs.alignment.n_corrupt) == (len(clean), len(corrupt))
    assert pairs.alignment.paired == []


@pytest.mark.parametrize(
    ("pairing", "expected"),
    [
        ("strict", {}),
        ("first", {2: (2,), 3: (3,)}),
        ("last", {2: (3,), 3: (4,)}),
        ("proportional", {2: (2,), 3: (4,)}),
        ("mean", {2: (2, 3, 4), 3: (2, 3, 4)}),
    ],
)
def test_a_longer_clean_middle_is_paired_as_asked(
    pairing: Pairing, expected: dict[int, tuple[int, ...]]
) -> None:
    pairs = align(*CLEAN_LONGER, pairing=pairing)
    assert middle(pairs) == expected
    assert {p: s for p, s in pairs.sources.items() if p in {2, 3}} == expected
    assert pairs.alignment.pairing == pairing


@pytest.mark.parametrize(
    ("pairing", "expected", "unaligned"),
    [
        ("strict", {}, [2, 3, 4, 5, 6]),
        ("first", {2: (2,), 3: (3,)}, [4, 5, 6]),
        ("last", {5: (2,), 6: (3,)}, [2, 3, 4]),
        ("proportional", {2: (2,), 3: (2,), 4: (3,), 5: (3,), 6: (3,)}, []),
        ("mean", dict.fromkeys(range(2, 7), (2, 3)), []),
    ],
)
def test_a_longer_corrupt_middle_leaves_a_surplus_only_when_counted_off(
    pairing: Pairing, expected: dict[int, tuple[int, ...]], unaligned: list[int]
) -> None:
    pairs = align(*CORRUPT_LONGER, pairing=pairing)
    assert middle(pairs) == expected
    assert pairs.alignment.unaligned_positions == unaligned


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_an_empty_clean_middle_leaves_the_corrupt_one_unaligned(pairing: Pairing) -> None:
    pairs = align([1, 4], [1, 90, 91, 4], pairing=pairing)
    assert single(pairs) == {0: 0, 3: 1}
    assert list(pairs.reasons) == [1, 2]
    assert "0 clean token(s) against 2" in pairs.reasons[1]
    assert "source_positions" in pairs.reasons[1]


def test_a_reason_says_what_would_give_the_token_a_source() -> None:
    strict = align(*CORRUPT_LONGER).reasons[2]
    assert "2 clean token(s) against 5" in strict
    assert "`pairing` (first, last, proportional, mean) or `source_positions`" in strict
    first = align(*CORRUPT_LONGER, pairing="first").reasons[4]
    assert "under pairing 'first'" in first
    assert "'proportional' and 'mean' leave none out" in first


# --- what holds for any two prompts -----------------------------------------------------------

tokens = st.lists(st.integers(0, 3), max_size=12)
pairings = st.sampled_from(PAIRINGS)


@given(clean=tokens, corrupt=tokens, pairing=pairings)
def test_every_corrupt_position_has_sources_in_range_or_a_reason(
    clean: list[int], corrupt: list[int], pairing: Pairing
) -> None:
    pairs = align(clean, corrupt, pairing=pairing)
    assert sorted([*pairs.sources, *pairs.reasons]) == list(range(len(corrupt)))
    assert all(sources for sources in pairs.sources.values())
    assert all(0 <= s < len(clean) for sources in pairs.sources.values() for s in sources)
    assert pairs.alignment.unaligned_positions == list(pairs.reasons)


@given(clean=tokens, corrupt=tokens)
def test_strict_pairs_equal_tokens_in_order(clean: list[int], corrupt: list[int]) -> None:
    pairs = single(align(clean, corrupt))
    chosen = [pairs[position] for position in sorted(pairs)]
    assert all(a < b for a, b in zip(chosen, chosen[1:], strict=False))
    if len(clean) != len(corrupt):
        assert all(corrupt[position] == clean[source] for position, source in pairs.items())


@given(clean=tokens, corrupt=tokens)
def test_prefix_and_suffix_could_not_be_longer(clean: list[int], corrupt: list[int]) -> None:
    alignment = align(clean, corrupt).alignment
    prefix, suffix = alignment.prefix_len, alignment.suffix_len
    shorter = min(len(clean), len(corrupt))
    assert prefix + suffix <= shorter
    if prefix + suffix < shorter:
        assert clean[prefix] != corrupt[prefix]
        assert clean[-1 - suffix] != corrupt[-1 - suffix]


@given(clean=tokens, corrupt=tokens, pairing=pairings)
def test_a_pairing_changes_the_middle_only_and_stays_inside_the_clean_one(
    clean: list[int], corrupt: list[int], pairing: Pairing
) -> None:
    strict, pairs = align(clean, corrupt), align(clean, corrupt, pairing=pairing)
    paired = middle(pairs)
    assert {p: s for p, s in pairs.sources.items() if p not in paired} == strict.sources
    assert paired.keys() <= strict.reasons.keys()
    first, last = pairs.alignment.prefix_len, len(clean) - pairs.alignment.suffix_len
    assert all(first <= s < last for sources in paired.values() for s in sources)


@given(clean=tokens, corrupt=tokens, pairing=st.sampled_from(["proportional", "mean"]))
def test_spread_pairings_leave_nothing_out_while_there_is_a_clean_middle(
    clean: list[int], corrupt: list[int], pairing: Pairing
) -> None:
    pairs = align(clean, corrupt, pairing=pairing)
    shared = pairs.alignment.prefix_len + pairs.alignment.suffix_len
    assert not pairs.reasons or len(clean) == shared


@given(clean=tokens, corrupt=tokens)
def test_counting_from_the_last_is_counting_from_the_first_in_reverse(
    clean: list[int], corrupt: list[int]
) -> None:
    """Where prefix and suffix swap under reversal, which repeated tokens can prevent."""
    last = align(clean, corrupt, pairing="last")
    mirrored = align(clean[::-1], corrupt[::-1], pairing="first")
    if last.alignment.prefix_len == mirrored.alignment.suffix_len:
        assert middle(last) == {
            len(corrupt) - 1 - p: (len(clean) - 1 - s,) for p, (s,) in middle(mirrored).items()
        }


# --- explicit source positions ----------------------------------------------------------------


def test_explicit_pairs_are_taken_as_given() -> None:
    pairs = pair_explicitly([4, 2, 4], [0, 5, 0], n_clean=6, n_corrupt=5)
    assert pairs.sources == {4: (0,), 2: (5,)}
    assert pairs.reasons == {}
    assert pairs.alignment.paired == [(2, [5]), (4, [0])]
    assert (pairs.alignment.n_clean, pairs.alignment.n_corrupt) == (6, 5)
    assert (pairs.alignment.prefix_len, pairs.alignment.suffix_len) == (0, 0)
    assert pairs.alignment.unaligned_positions == []


def test_one_clean_token_may_serve_several_positions() -> None:
    assert single(pair_explicitly([0, 1], [3, 3], n_clean=4, n_corrupt=2)) == {0: 3, 1: 3}


def test_a_wrong_number_of_source_positions_names_both_counts() -> None:
    with pytest.raises(BadRequest, match="source_positions resolve to 2 .* positions to 3"):
        pair_explicitly([0, 1, 2], [0, 1], n_clean=4, n_corrupt=4)


@pytest.mark.parametrize("source", [-1, 4])
def test_a_source_position_outside_the_clean_prompt_is_refused(source: int) -> None:
    with pytest.raises(PositionOutOfRange, match=f"position {source} .* clean prompt has 4 tokens"):
        pair_explicitly([0, 1], [0, source], n_clean=4, n_corrupt=9)


def test_a_position_outside_the_corrupt_prompt_is_refused() -> None:
    with pytest.raises(PositionOutOfRange, match="the prompt has 2 tokens"):
        pair_explicitly([2], [3], n_clean=4, n_corrupt=2)


def test_one_position_cannot_have_two_different_sources() -> None:
    with pytest.raises(BadRequest, match="position 1 is given two clean positions, 2 and 3"):
        pair_explicitly([1, 1], [2, 3], n_clean=4, n_corrupt=2)
