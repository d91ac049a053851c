"""From activations to what is written of them: the strongest features, and how much is left over.

Runs in the background thread, on the device of the dictionary, in its arithmetic (float32). Only
the k strongest features of each token and one number reach the host.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sonde.sae.active import Active, join
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.encode import SHARE
from sonde.sae.health import Health, HealthMeter
from sonde.training.pieces import PassSlice, Sample, spans
from sonde.training.tensor_cores import SplitEncoder

FEW: Final = 2 * SHARE - 1


@dataclass(frozen=True, eq=False)
class Features:
    """Some tokens at one layer."""

    indices: NDArray[np.int64]
    """[tokens, k], strongest first."""
    values: NDArray[np.float32]
    """[tokens, k]; 0 is not active, and stands at the end of a row."""
    losses: NDArray[np.float32]
    """‖x − x̂‖², [tokens]."""

    def __getitem__(self, span: slice) -> "Features":
        """Some of the tokens."""
        return Features(self.indices[span], self.values[span], self.losses[span])

    def __len__(self) -> int:
        """How many tokens."""
        return len(self.losses)

    @property
    def nbytes(self) -> int:
        """The bytes it takes."""
        return self.indices.nbytes + self.values.nbytes + self.losses.nbytes


@dataclass(frozen=True)
class Recorded:
    """One completion with what was recorded of it."""

    sample: Sample
    length: int
    """How many of its tokens took part in the pass."""
    every: int
    features: dict[int, Features]
    """By layer; empty where it was left out."""
    prompt: bool = False
    """Whether the last token of the prompt is read too, after those of the completion."""

    @property
    def span(self) -> int:
        """How many places of its step it takes."""
        return self.length + self.prompt

    @property
    def places(self) -> list[int]:
        """Which of them are recorded."""
        said = range(0, self.length, self.every)
        return [*said, *range(self.length, self.span)]

    @property
    def weight(self) -> int:
        """The bytes it holds on to."""
        return sum(each.nbytes for each in self.features.values())

    @property
    def records(self) -> int:
        """How many lines it makes."""
        return sum(len(each) for each in self.features.values())


@dataclass(eq=False)
class LayerMeter:
    """How well one layer's dictionary does: since the last look, and which features ever fired."""

    d_sae: int
    meter: HealthMeter = field(init=False)
    _fired: Tensor | None = None
    """Before the last look."""

    def __post_init__(self) -> None:
        self.meter = HealthMeter(self.d_sae)

    def look(self) -> Health:
        """The numbers since the last look."""
        self._fired = self._ever_fired()
        health, self.meter = self.meter.health(), HealthMeter(self.d_sae)
        return health

    @property
    def dead_share(self) -> float | None:
        """Share of features that have not fired so far; None before anything was seen."""
        fired = self._ever_fired()
        return None if fired is None else 1 - int(fired.sum()) / self.d_sae

    def _ever_fired(self) -> Tensor | None:
        now = self.meter.fired
        if now is None or self._fired is None:
            return self._fired if now is None else now
        return self._fired | now


class Encoder:
    """The dictionaries of a run, by layer, and their meters."""

    def __init__(self, saes: Mapping[int, Autoencoder], k: int) -> None:
        self.saes = dict(saes)
        self.k = k
        self._split: dict[int, SplitEncoder] = {}
        self.meters = {layer: LayerMeter(sae.d_sae) for layer, sae in self.saes.items()}

    def encode(self, pieces: Iterable[PassSlice]) -> list[Recorded]:
        """What is written of a step's completions, those of each piece in their order."""
        return [done for piece in pieces for done in self._piece(piece)]

    def _piece(self, piece: PassSlice) -> list[Recorded]:
        features = {layer: self._layer(layer, x) for layer, x in piece.read.items()}
        each = zip(piece.samples, piece.lengths, spans(piece.counts), strict=True)
        return [
            Recorded(
                sample,
                length,
                piece.every,
                {layer: found[start:end] for layer, found in features.items()}
                if end > start
                else {},
                piece.with_prompt(place),
            )
            for place, (sample, length, (start, end)) in enumerate(each)
        ]

    def _active(self, layer: int, x: Tensor) -> Active:
        """The active features, in float32 arithmetic by whichever way is quicker."""
        sae = self.saes[layer]
        if not SplitEncoder.fits(sae, x):
            # Many tokens on a CPU would be shared out over cores, and the process set to one thread
            # an operation meanwhile: not while a trainer computes beside us.
            many = FEW if x.device.type == "cpu" else max(len(x), 1)
            return join([sae.encode(few) for few in torch.split(x, many)])
        if layer not in self._split:
            self._split[layer] = SplitEncoder(sae)
        return self._split[layer].encode(x)

    def _layer(self, layer: int, x: Tensor) -> Features:
        sae, meter = self.saes[layer], self.meters[layer]
        x = x.to(sae.device)
        active = self._active(layer, x)
        x = x.float()
        x_hat = sae.decode(active, x)
        losses = (x - x_hat).square().sum(1)
        indices, values = active.top(self.k)
        meter.meter.add(x, x_hat, active)
        return Features(
            indices.cpu().numpy(), values.cpu().numpy(), losses.to(torch.float32).cpu().numpy()
        )
