"""What a dictionary sees of one prompt: which features are active where, and what each adds there.

A feature adds its activation times its decoder row, in the dictionary's units; a dictionary that
normalises what it reads has a scale for every token, which turns that into the model's. Position 0
and other attention sinks are left alone (see `buffer`): no dictionary was trained on them.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sonde.backends.base import Vector
from sonde.sae.active import Active
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.buffer import counts
from sonde.sae.encode import decode_rows
from sonde.sae.norms import normalise


class Share(NamedTuple):
    """One feature at one position."""

    activation: float
    strength: float
    """The same in the model's units: what its decoder row is multiplied by."""


@dataclass(frozen=True, eq=False)
class PromptFeatures:
    """What the dictionary sees of one prompt."""

    positions: list[int]
    """Those that are read, in order."""
    active: Active
    """Of these positions."""
    scale: list[float]
    """What undoes the dictionary's norm at each of them."""

    @cached_property
    def row(self) -> dict[int, int]:
        """Which of the positions that are read each is."""
        return {position: row for row, position in enumerate(self.positions)}

    def scale_at(self, position: int) -> float:
        """What undoes the norm there."""
        return self.scale[self.row[position]]

    @cached_property
    def shares(self) -> dict[int, dict[int, Share]]:
        """By feature and position, wherever one is active."""
        out: dict[int, dict[int, Share]] = {}
        entries = zip(
            self.active.indices.tolist(),
            self.active.tokens.tolist(),
            self.active.values.tolist(),
            strict=True,
        )
        for feature, row, value in entries:
            if value:
                share = Share(value, value * self.scale[row])
                out.setdefault(feature, {})[self.positions[row]] = share
        return out


@torch.inference_mode()
def look(autoencoder: Autoencoder, activations: Vector) -> PromptFeatures:
    """What the dictionary sees in a prompt's activations [positions, width]."""
    given = torch.from_numpy(activations)
    read = counts(given[None], torch.tensor([len(given)]))[0]
    x = given[read].to(autoencoder.device)
    active = autoencoder.encode(x)
    _, scale, _ = normalise(x, autoencoder.norm_in)
    scales = torch.ones(len(x)) if scale is None else scale[:, 0]
    return PromptFeatures(read.nonzero()[:, 0].tolist(), active, scales.tolist())


def strongest(seen: PromptFeatures, last: int, n: int) -> list[int]:
    """The features most active at the last position, strongest first."""
    if not seen.positions or seen.positions[-1] != last:
        return []
    indices, _ = seen.active.rows()[-1]
    return indices[:n]


def direction_of(autoencoder: Autoencoder, feature: int) -> Vector:
    """A feature's decoder row."""
    row: NDArray[np.float32] = autoencoder.W_dec[feature].detach().cpu().numpy()
    return row.astype(np.float32)


@torch.inference_mode()
def explained(autoencoder: Autoencoder, seen: PromptFeatures) -> NDArray[np.float64]:
    """What all active features add at each position that is read, biases left out. [read, width]"""
    nothing = torch.zeros_like(autoencoder.b_dec)
    added: Tensor = decode_rows(seen.active, autoencoder.W_dec, nothing)
    scale = np.array(seen.scale, dtype=np.float64)[:, None]
    return added.cpu().numpy().astype(np.float64) * scale


@torch.inference_mode()
def rebuilt(
    autoencoder: Autoencoder, seen: PromptFeatures, activations: Vector
) -> NDArray[np.float64]:
    """What the dictionary makes of each position that is read. [read, width]"""
    x = torch.from_numpy(activations)[seen.positions].to(autoencoder.device)
    made: NDArray[np.float32] = autoencoder.decode(seen.active, x).cpu().numpy()
    return made.astype(np.float64)
