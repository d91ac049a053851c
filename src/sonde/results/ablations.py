"""Features changed in several prompts at once, in a terminal: what each does on the whole.

The prompts are moments of a run, so their columns are not shown: one line a feature, with where its
effect lies over the prompts, whether that is chance, and random directions beside it.
"""

from collections.abc import Iterator, Mapping
from textwrap import wrap

from sonde.results.feature_table import FeatureEffect, feature_effects
from sonde.results.feature_verdict import corrected, verdict
from sonde.results.numbers import count, number, signed
from sonde.results.pairs import PairSweep
from sonde.results.pen import Pen
from sonde.results.tokens import fit, pad, token_label
from sonde.schema.feature import Feature

_NAME = 14


def render_ablations(
    found: PairSweep, cards: Mapping[int, Feature], *, pen: Pen, width: int, title: str
) -> str:
    """The whole answer, without a newline at its end."""
    return "\n".join(_lines(found, cards, pen, width, title))


def _lines(
    found: PairSweep, cards: Mapping[int, Feature], pen: Pen, width: int, title: str
) -> Iterator[str]:
    effects = feature_effects(found.table)
    family = corrected(effects)
    yield from (pen.bold(line) for line in wrap(verdict(effects), width))
    yield pen.dim(fit(title, width))
    for each in effects:
        yield ""
        text = over_prompts(found, each)
        yield pen.bold(pad(each.label, _NAME)) + fit(text, width - _NAME)
        if each.random:
            yield pen.dim(pad("  beside", _NAME)) + fit(_beside(each, family), width - _NAME)
        card = None if each.feature is None else cards.get(each.feature)
        if card is not None and card.promoted:
            promoted = "  ".join(map(token_label, card.promoted))
            yield pen.dim(pad("  promotes", _NAME)) + fit(promoted, width - _NAME)
    yield ""
    chosen = found.table.notes.get("chosen")
    if chosen is not None:
        for n, line in enumerate(wrap(chosen, max(width - _NAME, 20))):
            yield pen.dim(pad("" if n else "chosen", _NAME)) + line


def over_prompts(found: PairSweep, each: FeatureEffect) -> str:
    """Everywhere −0.52 [−0.71, −0.30], p 0.0031 over 12 prompts."""
    [hook] = found.p
    table = found.table.tables[0]
    features, places = table.axes
    row, column = features.labels.index(each.label), len(places.values) - 1
    zero = found.baseline or 0.0
    low, high, p = (grid[hook][row, column] for grid in (found.low, found.high, found.p))
    return (
        f"everywhere {signed(each.everywhere, 2)} [{signed(float(low) - zero, 2)}, "
        f"{signed(float(high) - zero, 2)}], p {number(float(p))} over "
        f"{count(len(found.pairs), 'prompt')}"
    )


def _beside(each: FeatureEffect, family: Mapping[str, float | None]) -> str:
    known = [effect for effect in each.random if effect is not None]
    low, high = signed(min(known, default=0.0), 2), signed(max(known, default=0.0), 2)
    p = f", p {number(each.p)}, corrected {number(family.get(each.label))}"
    return f"random directions {low} to {high}{p if each.feature is not None else ''}"
