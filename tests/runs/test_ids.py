"""Event ids: written one way, read back the same, and nothing else is taken for one."""

import pytest

from sonde.errors import BadRequest
from sonde.runs.ids import (
    NOWHERE,
    FileOffset,
    StreamPosition,
    companion_text,
    key_text,
    parse_id,
    parse_key,
    run_digest,
)


def test_an_id_is_read_back() -> None:
    text = "0badc0de.100-2.5e884898da28.527000" + companion_text("metrics", FileOffset("a" * 12, 7))
    place = FileOffset("5e884898da28", 527000)
    metrics = FileOffset("a" * 12, 7)
    assert parse_id(text) == StreamPosition("0badc0de", (100, 2), place, {"metrics": metrics})
    assert parse_id(text).text == "0badc0de.100-2.5e884898da28.527000"
    assert parse_id("-..5e884898da28.0") == StreamPosition("-", None, FileOffset("5e884898da28", 0))
    assert parse_id(NOWHERE) == StreamPosition()
    assert parse_id(f"{NOWHERE}~g{'b' * 12}.3").companions == {
        "generation": FileOffset("b" * 12, 3)
    }


@pytest.mark.parametrize("key", [None, (0, 0), (50, 0), (50, 3)])
def test_a_segment_is_read_back(key: tuple[int, int] | None) -> None:
    assert parse_key(key_text(key)) == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "-..5e884898da28.-1",
        "-..5e884898da28.٣",
        "../../etc/passwd",
        "-..5e884898da28.1~x5e884898da28.1",
        "-..5e884898da28.1~",
        "-..5e884898da28.1\n",
        "x" * 10_000,
        "-..5e884898da28." + "9" * 30,
    ],
)
def test_what_is_no_id_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadRequest, match="not the id of an event"):
        parse_id(text)


def test_runs_are_told_apart() -> None:
    assert run_digest("a") != run_digest("b")
    assert len(run_digest("a")) == 8
    assert run_digest(None) == "-"
