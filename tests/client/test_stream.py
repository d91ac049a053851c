"""Reading server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.client.stream import Message, SweepFailed, messages
from sonde.schema import Cell, Failed


def heard(*chunks: bytes) -> list[Message]:
    async def feed() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def collect() -> list[Message]:
        return [message async for message in messages(feed())]

    return asyncio.run(collect())


def test_events_come_with_their_numbers_and_stop_at_done() -> None:
    stream = (
        b': hello\n\ndata: {"a": 1}\n\nid: 7\ndata: {"a": 2}\n\ndata: [DONE]\n\ndata: {"a": 3}\n\n'
    )
    assert heard(stream) == [Message({"a": 1}), Message({"a": 2}, "7")]


def test_blanks_carriage_returns_and_several_lines_are_read_as_the_standard_says() -> None:
    stream = b'data:{"a":\r\ndata: 1}\r\n\r\nevent: x\nretry: 5\ndata: {"b": 2}\n\n\n\n'
    assert heard(stream) == [Message({"a": 1}), Message({"b": 2})]


def test_what_is_cut_off_before_its_blank_line_is_no_event() -> None:
    assert heard(b'data: {"a": 1}\n\ndata: {"a": 2}\n') == [Message({"a": 1})]
    assert heard(b'data: {"a": 1}\n\ndata: {"a"') == [Message({"a": 1})]


@given(
    st.lists(st.text(), min_size=1, max_size=4),
    st.lists(st.integers(0, 400), max_size=6),
)
def test_events_are_the_same_however_the_bytes_arrive(
    texts: list[str], cuts: Sequence[int]
) -> None:
    """Text of every kind, U+2028 included, which is a line break to `str.splitlines`."""
    texts.append("\u2028\u2029\x85")
    stream = "".join(
        f"data: {json.dumps({'t': t}, ensure_ascii=False)}\n\n" for t in texts
    ).encode()
    places = sorted({0, *(cut % len(stream) for cut in cuts), len(stream)})
    pieces = [stream[a:b] for a, b in zip(places, places[1:], strict=False)]
    assert [message.body["t"] for message in heard(*pieces)] == texts


@pytest.mark.parametrize("text", ["{", "[1]", "null", "NaN"])
def test_an_event_that_is_no_json_object_is_an_error(text: str) -> None:
    with pytest.raises(SweepFailed, match="not a JSON object"):
        heard(f"data: {text}\n\n".encode())


def test_events_become_types_and_what_is_newer_is_passed_over() -> None:
    cell: dict[str, Any] = {
        "type": "cell",
        "hook": "mlp_in",
        "layer": 1,
        "position": 2,
        "value": None,
    }
    assert Message({**cell, "since": "later"}).event() == Cell(
        hook="mlp_in", layer=1, position=2, value=None
    )
    assert Message({"type": "error", "error": "no"}).event() == Failed(error="no")
    assert Message({"type": "progress", "share": 0.5}).event() is None
    assert Message({}).event() is None
