"""Which lines pass, and that the quick way and the careful way agree."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sonde.runs import lines as module
from sonde.runs.lines import LINE_BYTES, WholeBlock, check, fault_of, layer_of

BAD = [
    b"not json",
    b'{"a":NaN}',
    b'{"a":[Infinity]}',
    b'{"a":-Infinity}',
    b'{"a":1',
    b'{"a":1}{"b":2}',
    b'{"a":1} {"b":2}',
    b"[1]",
    b"1",
    b"null",
    b'"x"',
    b'{"a":01}',
    b'{"a":1.}',
    b'{"a":.5}',
    b'{"a":+1}',
    b'{"a":1,}',
    b"{a:1}",
    b'{"a":"\x01"}',
    b'{"a":"\\q"}',
    b'{"a":"\xff"}',
    b"\x00{}",
    b"\xef\xbb\xbf{}",
    b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
]


@pytest.fixture(params=[0, 10**9], ids=["as one", "one by one"], autouse=True)
def many_bytes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Blocks of any size are treated as long ones, or as short ones."""
    before, module.MANY_BYTES = module.MANY_BYTES, request.param
    yield
    module.MANY_BYTES = before


@pytest.mark.parametrize("line", BAD, ids=lambda line: repr(line[:20]))
def test_a_bad_line_is_withheld_and_its_neighbours_are_not(line: bytes) -> None:
    before, after = b'{"step":1}', b'{"step":2}'
    block = b"%b\n%b\n%b\n" % (before, line, after)
    found = check(block, 100)
    assert found.lines == [before, after]
    assert found.ends == [111, 100 + len(block)]
    assert [bad.offset for bad in found.bad] == [111]


def test_the_reason_is_said() -> None:
    assert fault_of(b"[1]") == "not one object"
    assert fault_of(b"{") == "not JSON"
    assert fault_of(b'{"a":"\xff"}') == "not UTF-8"
    assert fault_of(b"{" + b" " * LINE_BYTES + b"}") == "too long"
    assert fault_of(b'{"a":1e999,"b":null}') is None


def test_blank_lines_are_ignored_and_not_bad() -> None:
    found = check(b'\n{"a":1}\n  \t\n\r\n{"a":2}\n', 0)
    assert found.lines == [b'{"a":1}', b'{"a":2}']
    assert found.ends == [9, 23]
    assert found.bad == []


def test_carriage_returns_cannot_break_an_event() -> None:
    found = check(b'{"a":1}\r\n{"a":\r2}\n', 0)
    assert [json.loads(line) for line in found.lines] == [{"a": 1}, {"a": 2}]
    assert not any(b"\r" in line for line in found.lines)
    assert found.ends == [9, 18]


def test_a_good_line_goes_out_as_it_was_written() -> None:
    line = '{"b" : 1.50, "a":"é\\u00e9", "c":[1e-7,null]}'.encode()
    assert check(line + b"\n", 0).lines == [line]


def test_a_value_over_two_lines_beside_two_on_one_line_is_not_taken_for_two() -> None:
    found = check(b'{"a":\n1}\n{"b":2}{"c":3}\n{"d":4}\n', 0)
    assert found.lines == [b'{"d":4}']
    assert len(found.bad) == 3


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(), values, max_size=4)
lines = st.one_of(
    objects.map(lambda value: json.dumps(value).encode()),
    values.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=20).map(lambda data: data.replace(b"\n", b"")),
    st.sampled_from(BAD[:-1]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(lines, max_size=8), st.integers(0, 1000))
def test_the_quick_way_and_the_careful_way_agree_with_json(some: list[bytes], start: int) -> None:
    found = check(b"".join(line + b"\n" for line in some) or b"\n", start)
    offsets = [start + sum(len(line) + 1 for line in some[:n]) for n in range(len(some) + 1)]
    expected = [
        (line.rstrip(b"\r").replace(b"\r", b" "), offsets[n + 1])
        for n, line in enumerate(some)
        if line.strip() and fault_of(line) is None
    ]
    assert list(zip(found.lines, found.ends, strict=True)) == expected
    for line in found.lines:
        assert isinstance(json.loads(line, parse_constant=pytest.fail), dict)


def test_the_layer_of_a_line_is_read_from_its_own_key() -> None:
    assert layer_of(b'{"x":{"layer_index":3},"layer_index":15}') == 15
    assert layer_of(b'{"layer_index":"15"}') is None
    assert layer_of(b"{}") is None


def test_a_long_block_of_good_lines_is_left_whole() -> None:
    block = b'{"a":1}\n{"b":{"c":[{}]}}\n{}\n'
    module.MANY_BYTES = 0
    found = check(block, 50)
    assert isinstance(found, WholeBlock)
    assert (len(found), found.block) == (3, block)
    assert found.lines == block.splitlines()
    assert found.ends == [58, 75, 78]
