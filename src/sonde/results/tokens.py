r"""How a token looks when a person reads it.

One rule for every surface: a space is a middle dot, because `Paris` and `·Paris` are different
tokens; whatever cannot be seen (control characters, escape sequences, bidirectional overrides,
zero-width joiners, lone surrogates) is written as Python would write it, `\n`, `\x1b`, `\u202e`.
Prompts are other people's text, and a terminal obeys the bytes it is sent: no text reaches a screen
except through `visible` or `token_label`. Not meant to be reversed: `to_json` has the raw text.
"""

import unicodedata
from collections.abc import Iterator

SPACE = "\N{MIDDLE DOT}"
EMPTY = "\N{EMPTY SET}"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
_DOTTED_CIRCLE = "\N{DOTTED CIRCLE}"

_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
"""Unicode categories without a mark of their own; the plain space is the one exception."""

_VARIATION_SELECTORS = range(0xFE00, 0xFE10)


def visible(text: str) -> str:
    """The text with everything that cannot be seen, or that a terminal would obey, spelled out."""
    shown = "".join(map(_spelled, text))
    return _DOTTED_CIRCLE + shown if _combines(shown[:1]) else shown


def token_label(text: str) -> str:
    r"""A token as a label: `·Paris`, `\n`, `∅` for the empty text of a special token."""
    return visible(text).replace(" ", SPACE) or EMPTY


def quoted(text: str) -> str:
    """A token inside a sentence."""
    return f"“{token_label(text)}”"


def fit(text: str, width: int) -> str:
    """At most `width` terminal columns of a label, the cut shown by an ellipsis."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    if width < 1:
        return ""
    return set_cell_size(text, width - 1).rstrip() + ELLIPSIS


def fit_middle(text: str, width: int) -> str:
    """As `fit`, but cut in the middle: prompts differ there, and are known by their two ends."""
    from rich.cells import cell_len

    if cell_len(text) <= width or width < 3:
        return fit(text, width)
    glyphs = list(clusters(text))
    left, right = glyphs[: len(glyphs) // 2], glyphs[len(glyphs) // 2 :]
    while cell_len("".join(left + right)) > width - 1:
        _ = left.pop() if len(left) > len(right) else right.pop(0)
    return "".join(left) + ELLIPSIS + "".join(right)


def pad(text: str, width: int) -> str:
    """Exactly `width` terminal columns: cut or filled with spaces on the right."""
    from rich.cells import cell_len

    short = fit(text, width)
    return short + " " * (width - cell_len(short))


def clusters(text: str) -> Iterator[str]:
    """The glyphs of a label: each base character with the marks that combine with it."""
    glyph = ""
    for character in text:
        if glyph and not _combines(character):
            yield glyph
            glyph = ""
        glyph += character
    if glyph:
        yield glyph


def _combines(character: str) -> bool:
    return character != "" and unicodedata.category(character) in {"Mn", "Me"}


def _spelled(character: str) -> str:
    if character == " ":
        return character
    unseen = unicodedata.category(character) in _UNSEEN or ord(character) in _VARIATION_SELECTORS
    return character.encode("unicode_escape").decode("ascii") if unseen else character
