"""The questions that the tests of this backend ask."""

from collections.abc import Sequence

import numpy as np

from sonde.backends.base import Backend, Row, Work, logprobs_of


def work(tokens: Sequence[int], rows: Sequence[Row], ids: Sequence[int]) -> Work:
    """Rows of a prompt, and the log-probabilities of some tokens after it."""
    return Work(tokens, rows, logprobs_of(ids))


def scored(
    backend: Backend, tokens: Sequence[int], rows: Sequence[Row], ids: Sequence[int]
) -> np.ndarray:
    """Log-probabilities [rows, ids]."""
    [found] = scored_together(backend, [work(tokens, rows, ids)])
    return found


def scored_together(backend: Backend, some: Sequence[Work]) -> list[np.ndarray]:
    """What is told of the rows of several prompts, [rows, columns] each; every row once."""
    out = [np.full((len(each.rows), len(each.readout.columns)), np.nan) for each in some]
    seen: list[tuple[int, int]] = []
    for part in backend.score(some):
        out[part.work][list(part.rows)] = part.values
        seen += [(part.work, row) for row in part.rows]
    assert sorted(seen) == [
        (i, row) for i, each in enumerate(some) for row in range(len(each.rows))
    ]
    return out


def told(backend: Backend, tokens: Sequence[int], ids: Sequence[int]) -> list[float]:
    """Log-probabilities after an unpatched prompt."""
    return backend.baselines([(tokens, logprobs_of(ids))], [])[0]
