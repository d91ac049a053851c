"""Changes that hang on what is there, and completions that are sampled with one.

A write says beforehand what stands at which position. What a feature's activation will be at tokens
that are still to be drawn nobody knows beforehand, so an edit is asked as they pass.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.schema import Hook

Rows = NDArray[np.float32]
Ints = NDArray[np.int64]


class Passing(NamedTuple):
    """Activations on their way through a hook, one row a token."""

    rows: Rows
    """[tokens, width]"""
    sequence: Ints
    """Which of the completions each token is of."""
    position: Ints
    """Where in it."""


@dataclass(frozen=True, eq=False)
class Edit:
    """One change, at every position, of prompts and completions alike."""

    layer: int
    reads: Hook
    writes: Hook
    """The same, or one that is reached later in the layer."""
    added: Callable[[Passing], Rows]
    """What was read -> what is added to each row where it is written: [tokens, width]."""


class Sampled(NamedTuple):
    """One completion of several that were sampled side by side."""

    number: int
    """Which of the requests."""
    tokens: tuple[int, ...]
