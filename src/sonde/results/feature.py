"""A feature of an autoencoder in a terminal: where it is active, and what it promotes."""

from collections.abc import Iterator, Sequence

from sonde.results.colors import sequential
from sonde.results.numbers import fixed, number
from sonde.results.pen import Pen
from sonde.results.tokens import fit, pad, token_label, visible
from sonde.schema.feature import Feature, Label, Snippet

_NAME = 12
"""Columns of the names on the left."""
PARTS = {
    "top": "most active on",
    "middle": "also active on",
    "low": "barely active on",
}
"""What stands over the snippets of each part of a feature's range."""


def render_feature(feature: Feature, *, title: str, pen: Pen, width: int) -> str:
    """The whole description, without a newline at its end."""
    return "\n".join(_lines(feature, title, pen, width))


def _lines(feature: Feature, title: str, pen: Pen, width: int) -> Iterator[str]:
    yield pen.bold(fit(f"{title}, feature {feature.feature}", width))
    if feature.label is not None:
        yield pen.dim(pad("label", _NAME)) + fit(visible(feature.label.text), width - _NAME)
        yield " " * _NAME + fit(visible(how_sure(feature.label)), width - _NAME)
    for name, text in _facts(feature):
        yield pen.dim(pad(name, _NAME)) + fit(text, width - _NAME)
    for part, heading in PARTS.items():
        snippets = [each for each in feature.snippets if each.part == part]
        if snippets:
            yield ""
            yield pen.bold(heading)
        for snippet in snippets:
            shown = _snippet(snippet, pen, width - _NAME)
            yield pen.dim(pad(number(snippet.value).rjust(_NAME - 2), _NAME)) + shown


def _facts(feature: Feature) -> Iterator[tuple[str, str]]:
    """What is known beside the snippets; what nobody counted is left out."""
    yield "active", how_often(feature)
    if feature.kinds:
        most = sorted(feature.kinds.items(), key=lambda each: -each[1])
        yield "by kind", "  ".join(f"{token_label(k)} {number(100 * v)} %" for k, v in most)
    yield "promotes", _moved(feature.promoted, feature.promoted_by)
    yield "suppresses", _moved(feature.suppressed, feature.suppressed_by)
    for name, tokens in (("on", feature.on), ("after", feature.after), ("before", feature.before)):
        if tokens:
            yield name, "  ".join(f"{token_label(t.token)} {100 * t.share:.0f} %" for t in tokens)
    if feature.neighbours:
        near = (f"{each.feature} ({fixed(each.cosine, 2)})" for each in feature.neighbours)
        yield "neighbours", "  ".join(near)


def how_sure(label: Label) -> str:
    """Who said it, and how far it was found to be so."""
    if label.score is None:
        return f"not scored: {label.reason} · {label.source}"
    over = f" on {label.examples} snippets" if label.examples else ""
    by = f" by {label.scorer}" if label.scorer else ""
    return f"{label.measure} {fixed(label.score, 2)}{over}{by} · {label.source}"


def how_often(feature: Feature) -> str:
    """In words: never, or on how many tokens."""
    if feature.rate == 0:
        return "on no token of the text it was described on: it is dead"
    return f"on {number(100 * feature.rate)} % of tokens"


def _moved(tokens: Sequence[str], by: Sequence[float]) -> str:
    """Tokens and by how many standard deviations they are moved, as far as that was kept."""
    if not tokens:
        return "nothing more than random directions do"
    if len(by) != len(tokens):
        return "  ".join(map(token_label, tokens))
    both = zip(tokens, by, strict=True)
    return "  ".join(f"{token_label(token)} {fixed(value, 1)}" for token, value in both)


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
