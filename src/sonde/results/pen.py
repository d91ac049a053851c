"""Colour in a terminal, or its absence, decided once."""

import os
from dataclasses import dataclass
from typing import TextIO

from rich.color import Color, ColorSystem

from sonde.results.colors import Rgb, Theme, mix, text_on


def wants_color(stream: TextIO) -> bool:
    """Whether to colour what goes to this stream: a terminal, and nobody said NO_COLOR."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (
        stream.isatty() and os.environ.get("TERM") != "dumb"
    )


@dataclass(frozen=True)
class Pen:
    """Writes text with escape sequences, or plain.

    It trusts the text it is given: labels have been through `sonde.results.tokens` by then.
    """

    color: bool
    theme: Theme = "dark"
    truecolor: bool = True
    """False for terminals that know 256 colours only, such as macOS Terminal before version 26."""

    def on(self, text: str, background: Rgb, *, faint: bool = False) -> str:
        """Text on a coloured block, legible or, when faint, there for who looks for it."""
        ink = text_on(background)
        if faint:
            ink = mix(background, ink, 0.4)
        front, back = self._codes(ink, foreground=True), self._codes(background, foreground=False)
        return self._styled(text, f"{front};{back}")

    def bold(self, text: str) -> str:
        return self._styled(text, "1")

    def dim(self, text: str) -> str:
        return self._styled(text, "2")

    def _styled(self, text: str, codes: str) -> str:
        return f"\x1b[{codes}m{text}\x1b[0m" if self.color and text else text

    def _codes(self, color: Rgb, *, foreground: bool) -> str:
        exact = Color.from_rgb(*color)
        used = exact if self.truecolor else exact.downgrade(ColorSystem.EIGHT_BIT)
        return ";".join(used.get_ansi_codes(foreground))
