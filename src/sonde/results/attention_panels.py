"""The matrices that a picture of attention has: one a head, or one a score.

Of patterns, rows are positions and columns are keys, the first of both at the upper left. Of
scores, rows are layers, the last of them on top as in every heatmap here, and columns are heads.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.errors import BadRequest
from sonde.results.attention import Attention
from sonde.results.tokens import token_label
from sonde.schema.attention import HeadScore

MOST_PANELS = 64

SCORE_MEANING: dict[HeadScore, str] = {
    "previous": "weight on the token before",
    "duplicate": "weight on the same token, earlier",
    "induction": "weight on what followed it, earlier",
}


@dataclass(frozen=True)
class Panel:
    """One matrix, as it is drawn: the first row on top."""

    title: str
    meaning: str
    values: NDArray[np.float64]
    """[rows, columns], NaN where there is nothing to draw."""
    rows: list[str]
    columns: list[str]


def panels(found: Attention) -> list[Panel]:
    """What is drawn, in order."""
    if found.scores is not None:
        layers, heads = [str(n) for n in found.layers], [str(n) for n in found.heads]
        return [
            Panel(name, SCORE_MEANING[name], values[::-1], layers[::-1], heads)
            for name, values in found.scores.items()
        ]
    assert found.patterns is not None
    n = len(found.layers) * len(found.heads)
    if n > MOST_PANELS:
        raise BadRequest(
            f"{n} patterns are more than a picture has room for, which is {MOST_PANELS}: name "
            "layers and heads, take the scores, or save as json or csv"
        )
    labels = numbered(found.tokens)
    hidden = ~np.tri(len(labels), dtype=bool)
    return [
        Panel(
            f"layer {layer}, head {head}",
            "position by key",
            np.where(hidden, np.nan, found.patterns[i, j].astype(np.float64)),
            labels,
            labels,
        )
        for i, layer in enumerate(found.layers)
        for j, head in enumerate(found.heads)
    ]


def numbered(tokens: Sequence[str]) -> list[str]:
    """Each token with its position, because a token may be there twice."""
    return [f"{position} {token_label(token)}" for position, token in enumerate(tokens)]
