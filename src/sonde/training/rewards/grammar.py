"""Compositions as text: `made_of(spoon, wood)`, and compositions inside compositions.

    composition = name "(" filler { "," filler } ")"
    filler      = name | composition

Says what a text is made of, and nothing about whether a catalog knows it.
"""

import re
from dataclasses import dataclass
from typing import Final

MAX_DEPTH: Final = 8
_PIECE: Final = re.compile(r"\s*([a-z][a-z_]*|[(),])")


@dataclass(frozen=True)
class Composition:
    """A template's name and what fills its slots, in order."""

    name: str
    fillers: "tuple[str | Composition, ...]"

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.fillers))})"


class NotAComposition(ValueError):
    """Text that does not parse; says where."""


def parse(text: str) -> Composition:
    """The composition that a text is, whole: what follows it is an error."""
    pieces = _pieces(text)
    found, rest = _composition(pieces, 0, text)
    if rest != len(pieces):
        raise NotAComposition(f"something follows the composition in {text!r}")
    return found


def _pieces(text: str) -> list[str]:
    found, place, text = [], 0, text.rstrip()
    while place < len(text):
        piece = _PIECE.match(text, place)
        if piece is None:
            raise NotAComposition(f"{text[place : place + 10]!r} cannot be part of a composition")
        found.append(piece[1])
        place = piece.end()
    return found


def _composition(
    pieces: list[str], place: int, text: str, depth: int = 0
) -> tuple[Composition, int]:
    if depth > MAX_DEPTH:
        raise NotAComposition(f"{text!r} is nested more than {MAX_DEPTH} deep")
    name = _word(pieces, place, text)
    if _at(pieces, place + 1) != "(":
        raise NotAComposition(f"{name!r} is not followed by its slots in {text!r}")
    fillers: list[str | Composition] = []
    place += 1
    while True:
        filler, place = _filler(pieces, place + 1, text, depth)
        fillers.append(filler)
        if _at(pieces, place) == ")":
            return Composition(name, tuple(fillers)), place + 1
        if _at(pieces, place) != ",":
            raise NotAComposition(f"{text!r} ends inside a composition, or lacks a comma")


def _filler(pieces: list[str], place: int, text: str, depth: int) -> tuple[str | Composition, int]:
    word = _word(pieces, place, text)
    if _at(pieces, place + 1) == "(":
        return _composition(pieces, place, text, depth + 1)
    return word, place + 1


def _word(pieces: list[str], place: int, text: str) -> str:
    piece = _at(pieces, place)
    if piece in ("", "(", ")", ","):
        raise NotAComposition(f"a name is missing in {text!r}")
    return piece


def _at(pieces: list[str], place: int) -> str:
    return pieces[place] if place < len(pieces) else ""
