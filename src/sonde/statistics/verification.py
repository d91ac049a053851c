"""Whether a cheap ranking can be trusted: its scores beside exact ones, of some of its cells.

The strongest by the ranking say how good its first places are; a random sample of the others says
how much it can have missed. Without the second the first proves little: a cell that the ranking
does not see is never among its strongest.
"""

from collections.abc import Sequence

import numpy as np

from sonde.schema.verification import AtK, Gradient, Verification, VerifiedCell
from sonde.statistics.correlation import Numbers, ranks
from sonde.statistics.proportion import most_of

LEAST = 3
"""Fewer cells have no correlation."""
FIRST = (10, 50, 200)
"""How many of the strongest are looked at, as far as there are so many."""


def verification(
    compared: Sequence[VerifiedCell],
    *,
    cells: int,
    sizes: Sequence[int] = FIRST,
    noise: float = 0.0,
    gradient: Gradient = "atp",
    steps: int = 1,
    seed: int = 0,
) -> Verification:
    """What some cells, scored both ways, say of all `cells` that were scored the cheap way.

    Exact values no farther from 0 than `noise` have no sign.
    """
    attributed = np.array([cell.attributed for cell in compared], dtype=np.float64)
    exact = np.array([cell.exact for cell in compared], dtype=np.float64)
    drawn = np.array([cell.sampled for cell in compared], dtype=bool)
    loud = np.abs(exact) > noise
    signs = np.sign(attributed[loud]) == np.sign(exact[loud])
    n_first = int((~drawn).sum())
    looked_at = sorted({min(k, n_first) for k in sizes} - {0})
    left = cells - len(compared)
    error = np.abs(attributed - exact)
    misses = np.where(drawn, np.abs(exact), -1.0)
    return Verification(
        gradient=gradient,
        steps=steps,
        cells=cells,
        verified=len(compared),
        sampled=int(drawn.sum()),
        seed=seed,
        spearman=spearman(attributed, exact),
        spearman_in_sample=spearman(attributed[drawn], exact[drawn]),
        sign_agreement=float(signs.mean()) if len(signs) else None,
        at=[_at(k, attributed, exact, drawn, left) for k in looked_at],
        largest_miss=compared[int(misses.argmax())] if drawn.any() else None,
        largest_error=compared[int(error.argmax())] if len(error) else None,
        compared=list(compared),
    )


def spearman(one: Numbers, other: Numbers) -> float | None:
    """The correlation of ranks; None where there are too few, or all of one are the same."""
    if len(one) < LEAST or not np.ptp(one) or not np.ptp(other):
        return None
    return float(np.corrcoef(ranks(one), ranks(other))[0, 1])


def _at(k: int, attributed: Numbers, exact: Numbers, drawn: np.ndarray, left: int) -> AtK:
    first = np.argsort(np.where(drawn, np.inf, -np.abs(attributed)), kind="stable")[:k]
    order = np.argsort(-np.abs(exact), kind="stable")
    threshold = float(np.abs(exact[order[k - 1]]))
    stronger = int((drawn & (np.abs(exact) > threshold)).sum())
    missed = None
    if left == 0:
        missed = 0.0
    elif drawn.any():
        missed = most_of(stronger, int(drawn.sum()))
    return AtK(
        k=k,
        precision=len(set(first.tolist()) & set(order[:k].tolist())) / k,
        threshold=threshold,
        stronger_in_sample=stronger,
        missed_at_most=missed,
    )
