"""Changed features in a terminal: what each did to the answer, and at which tokens."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

from rich.cells import cell_len

from sonde.results.colors import diverging
from sonde.results.feature import how_sure
from sonde.results.feature_table import FeatureEffect, feature_effects
from sonde.results.feature_verdict import corrected, verdict
from sonde.results.numbers import number, signed
from sonde.results.pen import Pen
from sonde.results.tokens import ELLIPSIS, fit, pad, quoted, token_label, visible
from sonde.schema.feature import Feature
from sonde.schema.table import SweepTable

_NAME = 14
"""Columns of the names on the left."""


def render_ablation(
    found: SweepTable, cards: Mapping[int, Feature], *, pen: Pen, width: int, title: str
) -> str:
    """The whole answer, without a newline at its end. `cards` say what features mean."""
    return "\n".join(_lines(found, cards, pen, width, title))


def _lines(
    found: SweepTable, cards: Mapping[int, Feature], pen: Pen, width: int, title: str
) -> Iterator[str]:
    effects, tokens = feature_effects(found), found.tokens.prompt
    family = corrected(effects)
    yield from (pen.bold(line) for line in wrap(verdict(effects, done_in_words(found)), width))
    yield pen.dim(fit(title, width))
    yield pen.dim(pad("prompt", _NAME)) + _tail(tokens, width - _NAME)
    yield pen.dim(pad("answer", _NAME)) + answer_in_words(found)
    for each in effects:
        yield ""
        card = None if each.feature is None else cards.get(each.feature)
        shown = done_in_words(found), family.get(each.label)
        yield from _feature(tokens, each, card, reach_of(effects), pen, width, *shown)
    yield ""
    chosen = found.notes.get("chosen")
    if chosen is not None:
        yield from _named("chosen", chosen, pen, width)
    silent = found.notes.get("silent")
    if silent is not None:
        yield pen.dim(pad("not active", _NAME)) + fit(silent, width - _NAME)
    yield pen.dim(pad("control", _NAME)) + (
        f"writing back what was read at every position changes it by {number(control_of(found))}"
    )


def _feature(
    tokens: list[str],
    each: FeatureEffect,
    card: Feature | None,
    reach: float,
    pen: Pen,
    width: int,
    done: str,
    family: float | None,
) -> Iterator[str]:
    for n, line in enumerate(wrap(in_words(each, family), max(width - _NAME, 20))):
        yield pen.bold(pad("" if n else each.label, _NAME)) + line
    if card is not None and card.label is not None:
        label = f"{visible(card.label.text)} ({visible(how_sure(card.label))})"
        yield pen.dim(pad("  label", _NAME)) + fit(label, width - _NAME)
    if card is not None and card.promoted:
        promoted = "  ".join(map(token_label, card.promoted))
        yield pen.dim(pad("  promotes", _NAME)) + fit(promoted, width - _NAME)
    yield pen.dim(pad(f"  {done} at", _NAME)) + _marked(tokens, each, reach, pen, width - _NAME)


def comparisons(found: SweepTable) -> list[tuple[str, str]]:
    """Each feature of a sweep over features, beside what was compared with it."""
    if all(table.kind == "cells" for table in found.tables):
        return []
    effects = feature_effects(found)
    family = corrected(effects)
    return [(each.label, in_words(each, family.get(each.label))) for each in effects]


def done_in_words(found: SweepTable) -> str:
    """What was done to the features: removed, patched or clamped."""
    how = found.notes.get("how", "remove").partition(" ")[0]
    return {"patch": "patched", "clamp": "clamped"}.get(how, "removed")


def in_words(each: FeatureEffect, family: float | None = None) -> str:
    """What changing a feature did, and what comparisons of the same length do.

    `family` is its p corrected over all features that were tested.
    """
    if each.everywhere is None or each.p is None:
        return "no finite number: try it in float32, or name other features"
    parts = [f"everywhere {signed(each.everywhere, 2)}"]
    if each.random:
        parts += [f"random directions {_range(each.random)}"]
    alike = [effect for effect in each.alike if effect is not None]
    if alike:
        parts += [f"features alike {_range(alike)}"]
    if each.random:
        parts.append(f"p {number(each.p)}" + _corrected(family))
    return "; ".join(parts)


def _corrected(family: float | None) -> str:
    return "" if family is None else f", corrected {number(family)}"


def _range(effects: Sequence[float | None]) -> str:
    known = [effect for effect in effects if effect is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    return f"{signed(low, 2)} to {signed(high, 2)}"


def _named(name: str, text: str, pen: Pen, width: int) -> Iterator[str]:
    """A fact in as many lines as it takes."""
    for n, line in enumerate(wrap(text, max(width - _NAME, 20))):
        yield pen.dim(pad(name if not n else "", _NAME)) + line


def answer_in_words(found: SweepTable) -> str:
    """The answer, its rival, and how far apart they are with nothing removed."""
    logprob, gap = found.corrupt.get("logprob"), found.corrupt.get("logit_diff")
    likely = "" if logprob is None else f", log-probability {number(logprob)}"
    apart = "" if gap is None else f"; its logit is {signed(gap, 2)} from that of {_rival(found)}"
    answer = found.notes.get("answer")
    return ("the answer" if answer is None else quoted(answer)) + likely + apart


def _rival(found: SweepTable) -> str:
    foil = found.notes.get("foil")
    return "the foil" if foil is None else f"{quoted(foil)}, its strongest rival"


def control_of(found: SweepTable) -> float:
    """The largest change when what was read is written back at every position."""
    return max((c.difference for c in found.controls if c.kind == "self_patch"), default=0.0)


def reach_of(effects: list[FeatureEffect]) -> float:
    """The largest effect everywhere: where colours end."""
    return max((abs(each.everywhere or 0.0) for each in effects), default=0.0)


def _marked(tokens: list[str], each: FeatureEffect, reach: float, pen: Pen, width: int) -> str:
    """The last tokens that fit, those where it was removed on the colour of their effect."""
    parts: list[str] = []
    room = width
    for position, token in reversed(list(enumerate(tokens))):
        label, effect = token_label(token), each.effects.get(position)
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
