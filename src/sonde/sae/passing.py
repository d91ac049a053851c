"""A feature changed as activations pass by: at every position, of tokens yet to be drawn too.

What is added is what `changes` adds: so much of the feature's decoder row, everything else left as
it stands. A random direction in its place is at every position as long. Position 0 and whatever is
as long as an attention sink are left alone, measured by the prompt that they follow.
"""

from typing import Literal

import numpy as np
import torch

from sonde.backends.base import Vector
from sonde.backends.edit import Edit, Ints, Passing, Rows
from sonde.errors import BadRequest
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.buffer import SINK
from sonde.sae.evaluate import hook_of, hook_out_of
from sonde.sae.norms import normalise
from sonde.sae.seen import direction_of


def feature_edit(
    autoencoder: Autoencoder,
    layer: int,
    feature: int,
    *,
    how: Literal["remove", "clamp"] = "remove",
    value: float | None = None,
    direction: Vector | None = None,
) -> Edit:
    """One feature removed, or clamped to a value, wherever it passes.

    With a `direction`, of length 1, that instead, as long as the feature's change.
    """
    if not 0 <= feature < autoencoder.d_sae:
        raise BadRequest(
            f"feature {feature} is out of range [0, {autoencoder.d_sae}) of {autoencoder!r}"
        )
    own = direction_of(autoencoder, feature)
    length = -float(np.linalg.norm(own))
    along = own if direction is None else np.float32(length) * direction
    change = _Change(
        autoencoder, feature, value if how == "clamp" else None, along, direction is not None
    )
    return Edit(layer, hook_of(autoencoder), hook_out_of(autoencoder), change)


class _Change:
    """What is added to rows as they pass. Remembers how long the rows of each prompt are."""

    def __init__(
        self, autoencoder: Autoencoder, feature: int, value: float | None, along: Vector, sham: bool
    ) -> None:
        self._autoencoder, self._feature, self._value = autoencoder, feature, value
        self._along, self._sham = along, sham
        self._longest: dict[int, float] = {}

    def __call__(self, passing: Passing) -> Rows:
        """What is added: [tokens, width of what is written]."""
        read = self._read(passing)
        added = np.zeros((len(passing.rows), len(self._along)), dtype=np.float32)
        if read.any():
            amounts = self._amounts(torch.from_numpy(passing.rows[read]))
            added[read] = amounts[:, None] * self._along
        return added

    @torch.inference_mode()
    def _amounts(self, rows: torch.Tensor) -> Rows:
        """How much of the direction, at each row."""
        x = rows.to(self._autoencoder.device)
        active = self._autoencoder.encode(x)
        here = active.indices == self._feature
        strength = torch.zeros(len(x), device=x.device)
        strength[active.tokens[here]] = active.values[here].float()
        change = -strength if self._value is None else self._value - strength
        _, scale, _ = normalise(x.float(), self._autoencoder.norm_in)
        if scale is not None:
            change = change * scale[:, 0]
        if self._sham:
            change = change.abs()
        made: Rows = change.cpu().numpy().astype(np.float32)
        return made

    def _read(self, passing: Passing) -> np.ndarray:
        """Which rows the dictionary reads: neither position 0 nor another sink."""
        norms = np.linalg.norm(passing.rows, axis=1)
        limits = np.empty(len(norms))
        starts = np.flatnonzero(np.diff(passing.sequence, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(norms)], strict=True):
            limits[start:end] = self._limit(
                int(passing.sequence[start]), norms[start:end], passing.position[start:end]
            )
        found: np.ndarray = (passing.position > 0) & (norms < limits)
        return found

    def _limit(self, sequence: int, norms: np.ndarray, positions: Ints) -> float:
        """How long a row of a sequence may be: by its prompt, which passes first."""
        if positions[0] == 0:
            rest = norms[1:] if len(norms) > 1 else norms
            self._longest[sequence] = SINK * float(np.median(rest))
        return self._longest[sequence]
