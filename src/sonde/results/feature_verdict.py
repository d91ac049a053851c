"""What a test of features comes to: corrected over all of them, and in one sentence.

A feature matters where changing it everywhere moves the answer further than random directions as
long, by more than chance would have the best of all that were tested. With few directions nothing
can be sure, and that is said instead of "no".
"""

from collections.abc import Sequence

from sonde.results.feature_table import FeatureEffect
from sonde.results.numbers import count, number, signed
from sonde.statistics.directions import in_family

LEVEL = 0.05


def corrected(effects: Sequence[FeatureEffect]) -> dict[str, float | None]:
    """P of every feature by its label, corrected over all that were tested."""
    single = [each for each in effects if each.feature is not None]
    family = in_family([each.everywhere for each in single], [each.random for each in single])
    return {each.label: p if each.random else None for each, p in zip(single, family, strict=True)}


def verdict(effects: Sequence[FeatureEffect], done: str = "removed") -> str:
    """Whether one of them matters, and which, beside what, of how many."""
    single = [each for each in effects if each.feature is not None and each.everywhere is not None]
    if not single:
        return "No feature has a finite effect here: try it in float32, or name other features."
    p = corrected(effects)
    first, n = single[0], len(single)
    draws = len(first.random)
    if not draws:
        return (
            f"{first.label} moves the answer most when it is {done}, by "
            f"{signed(first.everywhere, 2)} logits; without random directions beside it nobody "
            "knows what that means (--draws)."
        )
    sure = [
        each for each in single if (p[each.label] or 1.0) <= LEVEL and p[each.label] is not None
    ]
    if sure:
        best = sure[0]
        more = (
            f"; so {_do(len(sure) - 1)} {', '.join(e.label for e in sure[1:])}" if sure[1:] else ""
        )
        return (
            f"{best.label} matters: {done}, it moves the answer by {signed(best.everywhere, 2)} "
            f"logits, random directions as long by at most {_largest(best)} (p "
            f"{number(p[best.label])}, corrected over {count(n, 'feature')}){more}."
        )
    least = 1 / (1 + draws)
    if least > LEVEL:
        return (
            f"Nothing is sure with {count(draws, 'random direction')}: no p can be below "
            f"{number(least)}. The most is {_told(first, p)}; ask for 19 (--draws)."
        )
    none = f"None of the {n} features tested moves" if n > 1 else f"{first.label} does not move"
    return (
        f"{none} the answer further than random directions as long do; the most is "
        f"{_told(first, p)}."
    )


def _do(n: int) -> str:
    return "does" if n == 1 else "do"


def _told(each: FeatureEffect, p: dict[str, float | None]) -> str:
    return (
        f"{each.label} with {signed(each.everywhere, 2)} logits, beside at most {_largest(each)} "
        f"(corrected p {number(p[each.label])})"
    )


def _largest(each: FeatureEffect) -> str:
    known = [effect for effect in each.random if effect is not None]
    return signed(max(known, key=abs, default=0.0), 2)
