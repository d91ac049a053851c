"""Which source each position takes: spans, alignment, pairing, and what a run must hold."""

from typing import Any

import pytest

from sonde.backends.base import FromRun
from sonde.backends.spots import terms
from sonde.errors import (
    BadRequest,
    NothingToPatch,
    PositionOutOfRange,
    SpanNotFound,
    StaleSourceRun,
    UnknownSourceRun,
)
from sonde.schema import CLASSIC_HOOKS, Summary
from tests.engine.questions import CLEAN, CORRUPT, SHORT, events_of, from_zeros, request, summary_of
from tests.scripted import Scripted


def stored(**options: Any) -> Scripted:
    """A backend that holds the clean prompt's run."""
    backend = Scripted(**options)
    tokens = backend.tokenize(CLEAN)
    backend.capture("clean", tokens, CLASSIC_HOOKS, [0, 1, 2, 3], range(len(tokens)))
    backend.log.clear()
    return backend


def sources(backend: Scripted) -> dict[int, tuple[int, ...]]:
    """Position -> source positions, of the cells that were scored."""
    out = {}
    for row in backend.scored:
        if row.writes and not row.computed:
            each = [term.source for term in terms(row.writes[0].source)]
            taken = [p for source in each if isinstance(source, FromRun) for p in source.positions]
            out[row.writes[0].site.positions[0]] = tuple(taken)
    return out


@pytest.mark.parametrize(
    ("positions", "expected"),
    [
        ("all_prompt", list(range(9))),
        ([{"span": "big Colosseum"}], [2, 3]),
        ([{"span": " Colosseum"}], [3]),
        ([8, {"span": "big"}, 2, 8], [8, 2]),
        ([3, 3, 2], [3, 3, 2]),
        ([{"span": "i", "occurrence": 1}], [4]),
    ],
)
def test_positions_are_resolved_in_the_corrupt_prompt(positions: Any, expected: list[int]) -> None:
    assert summary_of(Scripted(), request(positions=positions)).positions == expected


@pytest.mark.parametrize(
    ("positions", "error"),
    [
        ([9], PositionOutOfRange),
        ([-1], PositionOutOfRange),
        ([10**9], PositionOutOfRange),
        ([{"span": "Eiffel"}], SpanNotFound),
        ([{"span": "is", "occurrence": 1}], SpanNotFound),
        ([{"span": ""}], SpanNotFound),
    ],
)
@pytest.mark.parametrize("make", [request, from_zeros])
def test_positions_that_do_not_exist_are_refused(
    make: Any, positions: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        events_of(Scripted(), make(positions=positions))


def test_prompts_of_one_length_pair_position_by_position() -> None:
    backend = Scripted()
    summary = summary_of(backend, request(positions="all_prompt"))

    assert sources(backend) == {p: (p,) for p in range(9)}
    assert summary.alignment is not None
    assert (summary.alignment.prefix_len, summary.alignment.suffix_len) == (9, 0)
    assert summary.skipped == []


def test_a_middle_of_other_length_is_left_out_with_a_reason() -> None:
    """`The Eiffel Tower is …` against `The Colosseum is …`."""
    backend = Scripted()
    summary = summary_of(backend, request(prompt=SHORT, positions="all_prompt"))

    assert sources(backend) == {0: (0,), 1: (1,)} | {p: (p + 1,) for p in range(3, 8)}
    assert summary.positions == [0, 1, 3, 4, 5, 6, 7]
    assert [(s.position, s.hook) for s in summary.skipped] == [(2, None)]
    assert "2 clean token(s) against 1" in summary.skipped[0].reason
    assert "1 of 8 positions have no counterpart" in summary.warnings[0]
    assert summary.alignment is not None
    assert summary.alignment.unaligned_positions == [2]


@pytest.mark.parametrize(
    ("pairing", "expected"),
    [("first", (2,)), ("last", (3,)), ("proportional", (3,)), ("mean", (2, 3))],
)
def test_a_pairing_gives_the_middle_its_source(pairing: str, expected: tuple[int, ...]) -> None:
    backend = Scripted()
    summary = summary_of(
        backend, request(prompt=SHORT, positions=[{"span": "Colosseum"}], pairing=pairing)
    )

    assert sources(backend) == {2: expected}
    assert summary.skipped == []
    assert summary.alignment is not None
    assert summary.alignment.paired == [(2, list(expected))]


def test_nothing_left_after_alignment_is_refused_and_the_capture_dropped() -> None:
    backend = Scripted()
    with pytest.raises(NothingToPatch, match="no alignable positions"):
        events_of(backend, request(prompt=SHORT, positions=[2]))

    assert "capture clean" in backend.log
    assert backend.runs == {}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([5, 4, 0], {2: (5,), 3: (4,), 7: (0,)}),
        ([{"span": "Eiffel Tower"}, 0], {2: (2,), 3: (3,), 7: (0,)}),
    ],
)
def test_explicit_sources_replace_alignment(
    given: Any, expected: dict[int, tuple[int, ...]]
) -> None:
    backend = Scripted()
    summary = summary_of(
        backend, request(prompt=SHORT, positions=[2, 3, 7], source_positions=given)
    )

    assert sources(backend) == expected
    assert summary.alignment is not None
    assert summary.alignment.paired == [(p, list(s)) for p, s in expected.items()]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([5, 4], "source_positions resolve to 2 tokens and positions to 3"),
        ([5, 4, 9], "position 9 is out of range.*clean prompt has 9"),
        ([5, -1, 0], "position -1 is out of range"),
        ([{"span": "big"}, 1, 2], "not found"),
    ],
)
def test_explicit_sources_that_do_not_fit_are_refused(given: Any, message: str) -> None:
    backend = Scripted()
    with pytest.raises(BadRequest, match=message):
        events_of(backend, request(source_positions=given))
    assert backend.runs == {}


def test_spans_in_the_clean_prompt_need_the_clean_prompt() -> None:
    asked = request(clean_prompt=..., source_positions=[{"span": "Eiffel"}, 1, 2])
    with pytest.raises(BadRequest, match="source_positions given as spans need clean_prompt"):
        events_of(stored(), asked)


def test_numbers_for_sources_do_not() -> None:
    backend = stored()
    summary = summary_of(
        backend, request(clean_prompt=..., prompt=SHORT, positions=[2, 3], source_positions=[3, 5])
    )

    assert sources(backend) == {2: (3,), 3: (5,)}
    assert summary.alignment is None


def test_a_stored_run_needs_no_clean_prompt_when_lengths_agree() -> None:
    backend = stored()
    summary = summary_of(backend, request(clean_prompt=...))

    assert sources(backend) == {2: (2,), 3: (3,), 8: (8,)}
    assert (summary.alignment, summary.clean) == (None, None)


def test_a_stored_run_of_another_length_asks_for_the_clean_prompt() -> None:
    with pytest.raises(
        BadRequest, match="captured from a 9-token prompt but this prompt has 8; pass clean_prompt"
    ):
        events_of(stored(), request(clean_prompt=..., prompt=SHORT, positions=[1]))


def test_a_stored_run_that_cannot_be_of_the_clean_prompt_is_refused() -> None:
    """Two sweeps may use one name for different prompts; their rows must never mix."""
    asked = request(clean_prompt="The Great Wall is big", positions=[1])
    with pytest.raises(
        BadRequest, match="'clean' was captured from a 9-token prompt that is not this"
    ):
        events_of(stored(), asked)


def test_a_missing_run_without_a_clean_prompt_is_not_found() -> None:
    with pytest.raises(UnknownSourceRun, match="patch source not found: no run 'clean'"):
        events_of(Scripted(), request(clean_prompt=...))


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ((["mlp_in"], [0, 2], range(9)), "site=hook post_block; it holds hooks"),
        ((CLASSIC_HOOKS, [0, 1], range(9)), "site=layer 2; it holds layers"),
        ((CLASSIC_HOOKS, [0, 2], [2, 8]), "site=position 3; it holds positions"),
    ],
)
def test_a_run_without_a_site_is_refused_by_that_site(held: Any, message: str) -> None:
    backend = Scripted()
    backend.capture("clean", backend.tokenize(CLEAN), *held)

    with pytest.raises(UnknownSourceRun, match=f"patch source not found: run='clean' {message}"):
        events_of(backend, request())
    assert "clean" in backend.runs
    assert backend.leases == set()


def test_a_run_captured_under_other_weights_is_refused_by_name() -> None:
    backend = stored()
    backend.weights = "w2"

    with pytest.raises(StaleSourceRun, match="'clean' was captured under weights w1, but w2"):
        events_of(backend, request())


def test_every_cell_names_the_very_run_that_was_checked() -> None:
    backend = stored()
    summary = summary_of(backend, request())

    assert isinstance(summary, Summary)
    for row in backend.scored:
        for patch in row.writes:
            if isinstance(patch.source, FromRun) and patch.source.run == "clean":
                assert patch.source.generation == 1


def test_the_unpatched_prompt_is_too_long_or_empty() -> None:
    for text in ("", CORRUPT + " x" * 9):
        with pytest.raises(Exception, match="baseline generation failed"):
            events_of(Scripted(), request(prompt=text))
