"""Removed features in a terminal: what each did to the answer, and at which tokens."""

from collections.abc import Iterator, Mapping

from rich.cells import cell_len

from sonde.results.colors import diverging
from sonde.results.numbers import number, signed
from sonde.results.pen import Pen
from sonde.results.tokens import ELLIPSIS, fit, pad, quoted, token_label
from sonde.schema.ablation import Ablation, FeatureEffect
from sonde.schema.feature import Feature

_NAME = 14
"""Columns of the names on the left."""


def render_ablation(
    found: Ablation, cards: Mapping[int, Feature], *, pen: Pen, width: int, title: str
) -> str:
    """The whole answer, without a newline at its end. `cards` say what features mean."""
    return "\n".join(_lines(found, cards, pen, width, title))


def _lines(
    found: Ablation, cards: Mapping[int, Feature], pen: Pen, width: int, title: str
) -> Iterator[str]:
    yield pen.bold(fit(title, width))
    yield pen.dim(pad("prompt", _NAME)) + _tail(found.tokens, width - _NAME)
    yield pen.dim(pad("answer", _NAME)) + answer_in_words(found)
    reach = max((abs(each.everywhere) for each in found.features), default=0.0)
    for each in found.features:
        yield ""
        yield from _feature(found, each, cards.get(each.feature), reach, pen, width)
    yield ""
    if found.silent:
        yield pen.dim(pad("not active", _NAME)) + fit(
            ", ".join(map(str, found.silent)), width - _NAME
        )
    yield pen.dim(pad("control", _NAME)) + (
        f"writing back what was read at every position changes it by {number(found.control)}"
    )


def _feature(
    found: Ablation, each: FeatureEffect, card: Feature | None, reach: float, pen: Pen, width: int
) -> Iterator[str]:
    verdict = in_words(each)
    yield pen.bold(pad(f"{found.layer}:{each.feature}", _NAME)) + fit(verdict, width - _NAME)
    if card is not None and card.promoted:
        promoted = "  ".join(map(token_label, card.promoted))
        yield pen.dim(pad("  promotes", _NAME)) + fit(promoted, width - _NAME)
    yield pen.dim(pad("  removed at", _NAME)) + _marked(found, each, reach, pen, width - _NAME)


def in_words(each: FeatureEffect) -> str:
    """What removing a feature did, and what a random direction of the same length does."""
    low, high = min(each.random, default=0.0), max(each.random, default=0.0)
    random = f"random directions {signed(low, 2)} to {signed(high, 2)}"
    return f"everywhere {signed(each.everywhere, 2)}; {random}; p {number(each.p)}"


def answer_in_words(found: Ablation) -> str:
    """The answer, its rival, and how far apart they are with nothing removed."""
    return (
        f"{quoted(found.answer)}, log-probability {number(found.logprob)}; its logit is "
        f"{signed(found.baseline, 2)} from that of {quoted(found.foil)}, its strongest rival"
    )


def _marked(found: Ablation, each: FeatureEffect, reach: float, pen: Pen, width: int) -> str:
    """The last tokens that fit, those where it was removed on the colour of their effect."""
    parts: list[str] = []
    room = width
    for token, effect in zip(reversed(found.tokens), reversed(each.effects), strict=True):
        label = token_label(token)
        if effect is not None and not pen.color:
            label = f"[{label} {signed(effect, 2)}]"
        if cell_len(label) > room - 1:
            parts.append(ELLIPSIS)
            break
        room -= cell_len(label)
        if effect is not None and pen.color:
            label = pen.on(label, diverging(effect / reach if reach else 0.0, pen.theme))
        parts.append(label)
    return "".join(reversed(parts))


def _tail(tokens: list[str], width: int) -> str:
    """The end of the prompt: what the answer follows."""
    text = "".join(map(token_label, tokens))
    while cell_len(text) > width:
        text = ELLIPSIS + text[2:]
    return text
