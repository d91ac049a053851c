"""Lines as events: whole, numbered, as they were written."""

import json

import pytest

from sonde.runs.lines import BadLine, Lines, WholeBlock, check
from sonde.server.frames import COMMENTS, Events, PlainLines
from tests.server.listening import Event, parsed

BLOCK = b'{"layer_index":0,"n":1}\n{"layer_index":15,"n":2}\n{"n":3}\n{"layer_index":0,"n":4}\n'
LINES = check(BLOCK, 1000)


def events(encoding: Events, lines: Lines = LINES) -> list[Event | str]:
    count, data = encoding.encode(lines, b"a%.", b"~g%d", "live.jsonl")
    found = list(parsed(iter(data.decode().split("\n"))))
    said = [each.data for each in found if isinstance(each, Event)]
    assert count == sum(len(each) if isinstance(each, list) else 1 for each in said)
    return found


def test_each_line_is_an_event_with_the_id_of_the_place_after_it() -> None:
    found = events(Events())
    lines = BLOCK.splitlines(keepends=True)
    ends = [1000 + sum(map(len, lines[: n + 1])) for n in range(4)]
    assert found == [
        Event("message", json.loads(line), f"a%.{end}~g%d")
        for line, end in zip(lines, ends, strict=True)
    ]


def test_a_line_is_not_rewritten() -> None:
    line = b'{"b" :1.50,"a": [ 1e-7 ]}'
    _, data = Events().encode(check(line + b"\n", 0), b"", b"", "")
    assert data == b"id: %d\ndata: %b\n\n" % (len(line) + 1, line)


@pytest.mark.parametrize("start", [0, 9_999, 123_456_789, 10**11, 10**12, 10**14])
@pytest.mark.parametrize("count", [1, 2, 500])
def test_a_long_block_makes_the_same_events_as_its_lines_one_by_one(
    start: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sonde.runs.lines.MANY_BYTES", 0)
    block = b"".join(b'{"n":%d,"x":"%b"}\n' % (n, b"y" * (n * 7 % 300)) for n in range(count))
    whole = check(block, start)
    assert isinstance(whole, WholeBlock)
    for encoding in (Events(), Events("metrics"), Events(batch=7), Events(layers=frozenset({0}))):
        together, apart = (
            [(each.name, each.data, parsed_offset(each)) for each in events(encoding, lines)
             if isinstance(each, Event)]
            for lines in (whole, Lines(whole.lines, whole.ends))
        )  # fmt: skip
        assert together == apart
    assert PlainLines().encode(whole, b"", b"", "") == (count, block)


def parsed_offset(event: Event) -> int:
    """An id's offset as a number: in long blocks it is padded."""
    assert event.id is not None
    return int(event.id.removeprefix("a%.").removesuffix("~g%d"))


def test_only_the_layers_asked_for_with_their_own_places() -> None:
    found = events(Events(layers=frozenset({0})))
    assert [each.data["n"] for each in found if isinstance(each, Event)] == [1, 4]
    everything = events(Events())
    assert [each for each in everything if each in found] == found


@pytest.mark.parametrize("size", [2, 3, 4, 100])
def test_a_batch_is_an_array_with_the_id_of_its_last_record(size: int) -> None:
    single = [each for each in events(Events()) if isinstance(each, Event)]
    found = [each for each in events(Events(batch=size)) if isinstance(each, Event)]
    assert [each for batch in found for each in batch.data] == [each.data for each in single]
    assert [len(batch.data) for batch in found] == [
        min(size, 4 - start) for start in range(0, 4, size)
    ]
    assert found[-1].id == single[-1].id
    assert found[0].id == single[min(size, 4) - 1].id


def test_lines_of_companions_have_a_name() -> None:
    assert all(
        isinstance(each, Event) and each.name == "metrics" for each in events(Events("metrics"))
    )


def test_bad_lines_are_a_comment_with_their_place_and_there_are_not_too_many() -> None:
    lines = check(b'{"a":1}\nnot json\n{"a":2}\n', 0)
    found = events(Events(), lines)
    assert [each for each in found if isinstance(each, str)] == [
        ": bad line at byte 8 of live.jsonl, withheld: not JSON"
    ]
    many = Lines([], [], [BadLine(n, "not JSON") for n in range(1000)])
    comments = events(Events(), many)
    assert len(comments) == COMMENTS + 1
    assert str(comments[-1]) == f": and {1000 - COMMENTS} more bad lines"


def test_characters_at_which_some_clients_break_lines_are_escaped() -> None:
    line = '{"prompt":"a\u2028b\u0085c\u00e9"}'
    _, data = Events().encode(check(f"{line}\n".encode(), 0), b"", b"", "")
    assert len(data.decode().splitlines()) == 3
    [event] = parsed(iter(data.decode().split("\n")))
    assert isinstance(event, Event)
    assert event.data == json.loads(line)


def test_plain_lines_are_the_lines() -> None:
    assert PlainLines().encode(LINES, b"", b"", "") == (4, BLOCK)
    count, data = PlainLines(frozenset({15})).encode(LINES, b"", b"", "")
    assert (count, json.loads(data)["n"]) == (1, 2)
    assert PlainLines(frozenset({9})).encode(LINES, b"", b"", "") == (0, b"")
