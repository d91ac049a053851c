"""Colour in a terminal, or its absence."""

import io

import pytest

from sonde.results.pen import Pen, wants_color


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "wanted"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colour_is_for_terminals_and_for_nobody_who_said_no(
    monkeypatch: pytest.MonkeyPatch,
    stream: io.StringIO,
    environment: dict[str, str],
    wanted: bool,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_color(stream) is wanted


def test_without_colour_text_is_only_text() -> None:
    pen = Pen(color=False)
    assert [pen.on("a", (1, 2, 3)), pen.bold("b"), pen.dim("c")] == ["a", "b", "c"]


def test_a_block_has_its_exact_colour_and_is_closed() -> None:
    block = Pen(color=True).on("  ", (12, 34, 56))
    assert "48;2;12;34;56" in block
    assert block.endswith("  \x1b[0m")


def test_terminals_with_256_colours_get_no_true_colour() -> None:
    block = Pen(color=True, truecolor=False).on("  ", (12, 34, 56))
    assert "48;5;" in block
    assert ";2;" not in block
