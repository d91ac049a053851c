"""Records as they are written: one line a token and layer, exactly six keys, no NaN.

Put together by hand, because there are thousands a step and the thread that does it shares a lock
with the trainer. Numbers have seven digits, as many as a float32 holds.
"""

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from sonde.runs.spool import Chunk
from sonde.training.encoding import Features, Recorded


@dataclass
class NonFinite:
    """Values that were not finite and are null in the file: counted by layer and field."""

    by_layer: dict[int, Counter[str]] = field(default_factory=dict)

    def add(self, layer: int, name: str, count: int) -> None:
        """Count some."""
        if count:
            self.by_layer.setdefault(layer, Counter())[name] += count

    def of(self, layer: int) -> dict[str, int]:
        """The counts of one layer, by field."""
        return dict(self.by_layer.get(layer, {}))


def chunk(done: Recorded, step: int, token_start: int, non_finite: NonFinite) -> Chunk | None:
    """The lines of one completion, token by token and layer by layer; None where there are none."""
    tokens = [token_start + place for place in done.places]
    layers = {
        layer: _lines(layer, features, step, tokens, non_finite)
        for layer, features in sorted(done.features.items())
    }
    lines = [line for token in zip(*layers.values(), strict=True) for line in token]
    return Chunk("".join(lines).encode("ascii"), len(lines)) if lines else None


def _lines(
    layer: int, features: Features, step: int, tokens: list[int], non_finite: NonFinite
) -> list[str]:
    counts = (features.values != 0).sum(1).tolist()
    number = _number
    if not (np.isfinite(features.values).all() and np.isfinite(features.losses).all()):
        wrong = {"top_feature_activations": features.values, "reconstruction_loss": features.losses}
        for name, values in wrong.items():
            non_finite.add(layer, name, int((~np.isfinite(values)).sum()))
        number = _number_or_null
    rows = zip(
        tokens,
        features.indices.tolist(),
        features.values.tolist(),
        features.losses.tolist(),
        counts,
        strict=True,
    )
    return [
        f'{{"step":{step},"token_index":{token},"layer_index":{layer},'
        f'"top_feature_indices":[{",".join(map(str, indices[:n]))}],'
        f'"top_feature_activations":[{",".join(map(number, values[:n]))}],'
        f'"reconstruction_loss":{number(loss)}}}\n'
        for token, indices, values, loss, n in rows
    ]


def _number(value: float) -> str:
    return f"{value:.7g}"


def _number_or_null(value: float) -> str:
    return f"{value:.7g}" if math.isfinite(value) else "null"
