"""The activations that one rank holds, by key.

Rank-local: under pipeline parallelism a rank holds the layers it computes, under their numbers in
the whole model; under tensor parallelism every rank of a stage holds the same bytes, but for heads,
of which each holds its own. So a write of what the same stage holds, or of the same head, needs no
communication. Kept in host memory, where they take nothing from
the KV cache.

Not the store: what is kept, leased, evicted or too large is decided once, by the process that
drives the ranks (`sources`); a rank does as it is told.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sonde.backends.vllm.heads import Shard
from sonde.backends.vllm.spec import CaptureSpec
from sonde.backends.vllm.taps import SiteKey
from sonde.schema import HOOK_TABLE, Hook


@dataclass
class RankRun:
    """What this rank has of one run: per hook [its layers, positions, width of a row]."""

    activations: dict[Hook, Tensor]
    layers: dict[int, int]
    """Layer -> index on the first axis."""
    positions: dict[int, int]
    """Position -> index on the second axis."""
    shard: Shard
    filled: dict[Hook, np.ndarray] = field(default_factory=dict)
    """Which [layer, position] the model has reached."""

    @classmethod
    def empty(
        cls, wanted: CaptureSpec, here: Iterable[int], shard: Shard, dtype: torch.dtype
    ) -> "RankRun":
        """Room for what is wanted of the layers that are here."""
        mine = set(here)
        layers = [layer for layer in dict.fromkeys(wanted.layers) if layer in mine]
        positions = list(dict.fromkeys(wanted.positions))
        shape = (len(layers), len(positions))
        return cls(
            {
                hook: torch.zeros(*shape, shard.row_width(hook), dtype=kept_dtype(hook, dtype))
                for hook in wanted.hooks
            },
            {layer: i for i, layer in enumerate(layers)},
            {position: i for i, position in enumerate(positions)},
            shard,
            {hook: np.zeros(shape, dtype=bool) for hook in wanted.hooks},
        )

    def keep(self, site: SiteKey, columns: list[int], values: Tensor) -> None:
        """Store the rows of one site."""
        hook, layer = site
        row, kept = self.layers[layer], self.activations[hook]
        kept[row, columns] = values.to(device=kept.device, dtype=kept.dtype)
        self.filled[hook][row, columns] = True

    def rows(
        self, hook: Hook, layer: int, positions: Sequence[int], head: int | None = None
    ) -> Tensor | None:
        """[n, width] in float32; None when some of it is not here."""
        known = hook in self.activations and layer in self.layers and self.shard.has(hook, head)
        if not known or any(position not in self.positions for position in positions):
            return None
        columns = [self.positions[position] for position in positions]
        rows = self.activations[hook][self.layers[layer], columns]
        place = self.shard.place(hook, head)
        if place is not None:
            rows = rows.view(len(columns), -1, self.shard.value_width(hook))[:, place]
        return rows.float()

    def count(self) -> int:
        """Sites that were reached."""
        return sum(int(reached.sum()) for reached in self.filled.values())

    def manifest(self) -> dict[str, Any]:
        """What is here, as plain data."""
        return {
            "hooks": list(self.activations),
            "layers": list(self.layers),
            "positions": list(self.positions),
            "bytes": sum(t.numel() * t.element_size() for t in self.activations.values()),
            "filled": self.count(),
        }


def kept_dtype(hook: Hook, dtype: torch.dtype) -> torch.dtype:
    """The stream is a sum in float32, and is kept as one; the rest in the model's dtype."""
    return torch.float32 if HOOK_TABLE[hook].is_stream else dtype


@dataclass
class RankRuns:
    """The runs of one rank, by key; `leased` is what it was last told."""

    held: dict[str, RankRun] = field(default_factory=dict)
    leased: set[str] = field(default_factory=set)

    def manifests(self) -> dict[str, dict[str, Any]]:
        """Everything that is here."""
        return {
            key: {**run.manifest(), "leased": key in self.leased} for key, run in self.held.items()
        }

    def lease(self, keys: Sequence[str]) -> list[str]:
        """Note that these are in use, and no others. -> those that are here."""
        self.leased = {key for key in keys if key in self.held}
        return sorted(self.leased)

    def drop(self, key: str) -> bool:
        """Forget a run; whether it was here."""
        self.leased.discard(key)
        return self.held.pop(key, None) is not None
