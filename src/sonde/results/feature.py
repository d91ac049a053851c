"""A feature of an autoencoder in a terminal: where it is active, and what it promotes."""

from collections.abc import Iterator, Sequence

from sonde.results.colors import sequential
from sonde.results.numbers import number
from sonde.results.pen import Pen
from sonde.results.tokens import fit, pad, token_label
from sonde.schema.feature import Feature, Snippet

_NAME = 12
"""Columns of the names on the left."""


def render_feature(feature: Feature, *, title: str, pen: Pen, width: int) -> str:
    """The whole description, without a newline at its end."""
    return "\n".join(_lines(feature, title, pen, width))


def _lines(feature: Feature, title: str, pen: Pen, width: int) -> Iterator[str]:
    yield pen.bold(fit(f"{title}, feature {feature.feature}", width))
    yield pen.dim(pad("active", _NAME)) + how_often(feature)
    yield pen.dim(pad("promotes", _NAME)) + _tokens(feature.promoted, width - _NAME)
    yield pen.dim(pad("suppresses", _NAME)) + _tokens(feature.suppressed, width - _NAME)
    if feature.snippets:
        yield ""
        yield pen.bold("most active on")
    for snippet in feature.snippets:
        shown = _snippet(snippet, pen, width - _NAME)
        yield pen.dim(pad(number(snippet.value).rjust(_NAME - 2), _NAME)) + shown


def how_often(feature: Feature) -> str:
    """In words: never, or on how many tokens."""
    if feature.rate == 0:
        return "on no token of the text it was described on: it is dead"
    return f"on {number(100 * feature.rate)} % of tokens"


def _tokens(tokens: Sequence[str], width: int) -> str:
    return fit("  ".join(map(token_label, tokens)), width)


def _snippet(snippet: Snippet, pen: Pen, width: int) -> str:
    """The tokens on the colour of their heat; without colour, the peak in brackets."""
    peak = snippet.heat.index("9") if "9" in snippet.heat else 0
    labels = [token_label(token) for token in snippet.tokens]
    if not pen.color:
        labels[peak] = f"[{labels[peak]}]"
    first = 0
    while first < peak and sum(map(len, labels[first : peak + 1])) > width:
        first += 1
    room, out = width, []
    for label, digit in zip(labels[first:], snippet.heat[first:], strict=True):
        short = fit(label, room)
        room -= len(short)
        hot = pen.color and digit != "0"
        out.append(pen.on(short, sequential(int(digit) / 9, pen.theme)) if hot else short)
        if room <= 0:
            break
    return "".join(out)
