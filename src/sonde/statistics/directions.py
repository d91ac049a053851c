"""A feature beside random directions of its length: how often chance does as much, alone or in any.

Alone: the share of directions, the feature among them, that do at least as much. In the family: of
every feature the effects are measured in units of their own root mean square, so that features of
all sizes compare, and a feature is held against the largest of each draw over all features. So with
any number of features tested, one of them comes out by chance as often as the rate says.
"""

from collections.abc import Sequence

import numpy as np


def alone(effect: float | None, random: Sequence[float | None]) -> float | None:
    """P of one feature. None where a number is missing: a share of what is left would flatter."""
    known = [each for each in random if each is not None]
    if effect is None or len(known) < len(random):
        return None
    return (1 + sum(abs(each) >= abs(effect) for each in known)) / (1 + len(known))


def in_family(
    effects: Sequence[float | None], random: Sequence[Sequence[float | None]]
) -> list[float | None]:
    """P of every feature, corrected over all of them; None where a number is missing.

    Every feature has as many draws as every other.
    """
    rows = [[effect, *draws] for effect, draws in zip(effects, random, strict=True)]
    whole = [place for place, row in enumerate(rows) if None not in row]
    found: list[float | None] = [None] * len(rows)
    if not whole:
        return found
    sizes = np.abs(np.array([rows[place] for place in whole], dtype=np.float64))
    scale = np.sqrt((sizes**2).mean(axis=1, keepdims=True))
    told = np.divide(sizes, scale, out=np.zeros_like(sizes), where=scale > 0)
    greatest = told[:, 1:].max(axis=0, initial=0.0)
    for place, own in zip(whole, told[:, 0].tolist(), strict=True):
        found[place] = float((1 + (greatest >= own).sum()) / (1 + len(greatest)))
    return found
