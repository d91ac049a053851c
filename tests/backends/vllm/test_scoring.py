"""Rows become requests, and answers of several prompts become scores of each."""

from types import SimpleNamespace
from typing import Any

from sonde.backends.base import Column, FromVector, Readout, Row, Site, Work, Write, logprobs_of
from sonde.backends.vllm.scoring import Ticket, scores_of, tickets
from tests.backends.torch.tiny import vector

LAYERS, TOKENS = 3, (5, 6, 7, 8)


def row(layer: int, *positions: int) -> Row:
    return Row((Write(Site("post_block", layer, positions), FromVector(vector(2))),))


def asked(*rows: Row, readout: Readout | None = None) -> list[Ticket]:
    return list(tickets(4, Work(TOKENS, rows, readout or logprobs_of([1, 2])), LAYERS))


def output(*values: float) -> Any:
    found = {i: SimpleNamespace(logprob=value) for i, value in enumerate(values, 1)}
    return SimpleNamespace(outputs=[SimpleNamespace(logprobs=[found])])


def test_rows_that_nothing_can_change_share_one_unpatched_request() -> None:
    unreached = row(LAYERS - 1, 0, 2)
    made = asked(row(0, 1), Row(), unreached, Row(computed=True))
    assert [(ticket.rows, ticket.computed) for ticket in made] == [
        ((1, 2), False),
        ((0,), True),
        ((3,), True),
    ]
    assert made[0].row.writes == ()
    assert asked() == []


def test_a_request_computes_from_its_lowest_written_position_on() -> None:
    written, plain = asked(row(0, 3, 1), Row(computed=True))
    assert written.first() == 1
    assert plain.first() == 3, "the cache may hold all that is before the last"
    forced = Readout((Column("logprob", 7, 1), Column("logprob", 1)))
    assert [ticket.first() for ticket in asked(row(0, 3), readout=forced)] == [0]


def test_what_is_read_earlier_can_be_changed_earlier() -> None:
    forced = Readout((Column("logprob", 7, 1),))
    late, early = row(0, 2, 3), row(LAYERS - 1, 1)
    assert [ticket.rows for ticket in asked(late, early, readout=forced)] == [(0,), (1,)]


def test_scores_are_of_one_prompt_each_and_idle_rows_are_not_counted() -> None:
    work = Work(TOKENS, [Row(), row(0, 1), Row()], logprobs_of([1, 2]))
    other = Work(TOKENS, [row(0, 1)], logprobs_of([2]))
    answered = [
        (Ticket(1, other, (0,), other.rows[0], True), output(-9.0, -4.0)),
        (Ticket(0, work, (1,), work.rows[1], True), output(-1.0, -2.0)),
        (Ticket(0, work, (0, 2), Row(), False), output(-5.0, -6.0)),
    ]
    idle, busy, second = scores_of(answered)
    assert (idle.work, idle.rows, idle.computed) == (0, (0, 2), 0)
    assert idle.values.tolist() == [[-5.0, -6.0]] * 2
    assert (busy.work, busy.rows, busy.computed, busy.values.tolist()) == (0, (1,), 1, [[-1, -2]])
    assert (second.work, second.rows, second.values.tolist()) == (1, (0,), [[-4.0]])
