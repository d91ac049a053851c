"""What curves over layers say: where one passes another, how weak both are, how deep they lie.

Each takes means of many draws, [draws, layers], and gives a number for every draw; NaN is a draw
that has none.
"""

import numpy as np

from sonde.statistics.clusters import Numbers


def crossed(first: Numbers, last: Numbers) -> Numbers:
    """The place from which on the last is above the first, as a share of the way."""
    n = first.shape[1]
    ahead = last > first
    place = n - np.argmin(ahead[:, ::-1], axis=1)
    place = np.where(ahead.all(axis=1), 0, place)
    found: Numbers = np.where(place < n, place / (n - 1), np.nan)
    return found


def weakest(first: Numbers, last: Numbers) -> Numbers:
    """The larger of both, where that is least."""
    found: Numbers = np.maximum(first, last).min(axis=1)
    return found


def ratio(of: Numbers, to: Numbers) -> Numbers:
    """The highest point of one over the highest of the other; none where that is not above 0."""
    under = to.max(axis=1)
    found: Numbers = of.max(axis=1) / np.where(under > 0, under, np.nan)
    return found


def highest(values: Numbers, depth: Numbers) -> Numbers:
    """How deep the highest point lies."""
    found: Numbers = depth[values.argmax(axis=1)]
    return found


def mean_depth(values: Numbers, depth: Numbers) -> Numbers:
    """The mean depth of what is above 0, weighted by how far it is."""
    weight = np.clip(values, 0, None)
    total = weight.sum(axis=1)
    found: Numbers = (weight * depth).sum(axis=1) / np.where(total > 0, total, np.nan)
    return found
