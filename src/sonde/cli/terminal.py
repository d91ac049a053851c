"""What is known of the terminal, asked in one place: every command draws with the same pen.

A terminal says little of itself, and some of what it says is wrong. So this is about those that are
known to differ, and all others are taken for what most are: dark, with all colours.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sonde.results.pen import Pen


def terminal_pen(*, color: bool = True, light: bool = False) -> Pen:
    """What to draw on stdout with; `color` and `light` are what somebody said with a flag."""
    from sonde.results.pen import Pen, wants_color

    theme = "light" if light else background()
    return Pen(color and wants_color(sys.stdout), theme, knows_all_colors())


def background() -> Literal["light", "dark"]:
    """The terminal's background, as far as it tells: `COLORFGBG=0;15` is black on white."""
    return "light" if os.environ.get("COLORFGBG", "").endswith((";7", ";15")) else "dark"


def knows_all_colors() -> bool:
    """Whether the terminal has more than 256 colours: nearly all have, few say so."""
    if os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return True
    in_screen, console = "STY" in os.environ, os.environ.get("TERM") == "linux"
    return not (in_screen or console or os.environ.get("TERM_PROGRAM") == "Apple_Terminal")
