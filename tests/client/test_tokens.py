"""Positions and answers, by the server's tokenizer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from sonde import Span
from sonde.client import PatchStudy
from sonde.client.http import Address, Connection
from sonde.client.tokens import Tokenizer, wire_positions
from sonde.schema import SpanPosition
from tests.client.canned import Canned, said
from tests.client.conftest import CORRUPT

T = TypeVar("T")


def ask(url: str, question: Callable[[Tokenizer], Awaitable[T]]) -> T:
    async def work() -> T:
        async with Connection(Address(f"{url}/v1")) as connection:
            return await question(Tokenizer(connection, "tiny"))

    return asyncio.run(work())


@pytest.mark.parametrize(
    ("span", "occurrence", "expected"),
    [
        ("Colosseum", 0, [1]),
        (" Colosseum", 0, [1]),
        ("losse", 0, [1]),
        ("m is i", 0, [1, 2, 3]),
        ("The", 0, [0]),
        ("i", 0, [2]),
        ("i", 2, [5]),
        ("in the city", 0, [3, 4, 5]),
    ],
)
def test_a_span_is_the_tokens_it_touches(
    study: PatchStudy, span: str, occurrence: int, expected: list[int]
) -> None:
    found = asyncio.run(study.positions_for(CORRUPT, span, occurrence=occurrence))
    assert found == expected


def test_characters_of_several_tokens_are_found_by_decoding(study: PatchStudy) -> None:
    """The tiny tokenizer has one token a byte for what it has not seen."""
    assert asyncio.run(study.positions_for("in é of", "é")) == [2, 3]
    assert asyncio.run(study.positions_for("in 漢字 of", "字")) == [5, 6, 7]


@pytest.mark.parametrize(
    ("span", "occurrence", "expected"),
    [
        ("Louvre", 0, "not found"),
        ("", 0, "non-empty"),
        ("in", 1, r"out of range \[0, 1\)"),
        ("colosseum", 0, "did you mean 'Colosseum'"),
    ],
)
def test_a_span_that_is_not_there_is_a_value_error(
    study: PatchStudy, span: str, occurrence: int, expected: str
) -> None:
    with pytest.raises(ValueError, match=expected):
        asyncio.run(study.positions_for(CORRUPT, span, occurrence=occurrence))


def test_numbers_and_spans_mix_as_they_do_on_the_server(url: str) -> None:
    mixed = wire_positions([6, Span("city"), 5, Span("of")])
    assert ask(url, lambda t: t.positions(CORRUPT, mixed)) == [6, 5]
    assert ask(url, lambda t: t.positions(CORRUPT, [3, 3])) == [3, 3]
    assert ask(url, lambda t: t.positions(CORRUPT, "all_prompt")) == list(range(7))
    with pytest.raises(ValueError, match=r"position 7 is out of range \[0, 7\)"):
        ask(url, lambda t: t.positions(CORRUPT, [7]))


def test_positions_go_out_as_the_wire_has_them() -> None:
    assert wire_positions("all_prompt") == "all_prompt"
    assert wire_positions(range(2)) == [0, 1]
    again = SpanPosition(span="b")
    assert wire_positions([Span("a", 1), again, "c", 3]) == [
        SpanPosition(span="a", occurrence=1),
        again,
        SpanPosition(span="c", occurrence=0),
        3,
    ]
    with pytest.raises(ValueError, match=r"positions 'city': write 'all_prompt', or a list"):
        wire_positions("city")


def test_an_answer_is_exactly_one_token(url: str) -> None:
    assert ask(url, lambda t: t.text([])) == ""
    paris = ask(url, lambda t: t.one_token("answer_token", " Paris"))
    assert ask(url, lambda t: t.text([paris])) == " Paris"
    with pytest.raises(ValueError, match=r"answer_token 'Atlantis' tokenizes to \d+ tokens"):
        ask(url, lambda t: t.one_token("answer_token", "Atlantis"))
    with pytest.raises(ValueError, match="foil_token '' tokenizes to 0 tokens"):
        ask(url, lambda t: t.one_token("foil_token", ""))


def test_a_text_is_sent_once(canned: Canned) -> None:
    canned.answers["/tokenize"] = lambda _: said({"tokens": [1], "count": 1})

    async def twice(tokenizer: Tokenizer) -> list[int]:
        await tokenizer.tokens("a")
        return await tokenizer.tokens("a")

    assert ask(canned.url, twice) == [1]
    assert canned.bodies("/tokenize") == [
        {"model": "tiny", "prompt": "a", "add_special_tokens": True}
    ]


@pytest.mark.parametrize(
    ("status", "body"),
    [(404, {"error": {"message": "unknown model"}}), (401, {}), (200, {"no": 1})],
)
def test_when_tokenize_fails_nothing_is_guessed(canned: Canned, status: int, body: object) -> None:
    canned.answers["/tokenize"] = lambda _: said(body, status)
    with pytest.raises(RuntimeError, match="/tokenize failed, and without it neither spans nor"):
        ask(canned.url, lambda t: t.tokens("a"))


def test_when_nobody_answers_that_is_said_too() -> None:
    with pytest.raises(RuntimeError, match=r"/tokenize failed.*http://127\.0\.0\.1:1/tokenize"):
        ask("http://127.0.0.1:1", lambda t: t.tokens("a"))
