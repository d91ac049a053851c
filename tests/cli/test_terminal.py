"""One pen for every command, by what the terminal says of itself."""

import pytest

from sonde.cli.terminal import background, knows_all_colors, terminal_pen
from sonde.results.pen import Pen


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, True),
        ({"TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"TERM_PROGRAM": "Apple_Terminal", "COLORTERM": "truecolor"}, True),
        ({"TERM": "linux"}, False),
        ({"STY": "1.tty"}, False),
    ],
)
def test_terminals_known_to_have_few_colors_get_few(
    environment: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("COLORTERM", "TERM_PROGRAM", "TERM", "STY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert knows_all_colors() is expected


@pytest.mark.parametrize(
    ("colors", "expected"),
    [("0;15", "light"), ("15;0", "dark"), ("0;default;7", "light"), ("", "dark")],
)
def test_the_background_is_what_the_terminal_says(
    colors: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLORFGBG", colors)
    assert background() == expected


def test_a_flag_wins_over_what_the_terminal_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("COLORFGBG", "15;0")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert terminal_pen() == Pen(True, "dark", True)
    assert terminal_pen(light=True) == Pen(True, "light", True)
    assert terminal_pen(color=False) == Pen(False, "dark", True)
