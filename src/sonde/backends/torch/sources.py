"""What patches write, gathered: rows of captured runs, or vectors the caller gave."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sonde.backends.base import FromRun, FromVector, Patch
from sonde.backends.torch.cells import Sources
from sonde.backends.torch.rows import index_tensor
from sonde.backends.torch.trace import Trace
from sonde.backends.torch.writes import blend
from sonde.errors import BadVectors, UnknownSourceRun
from sonde.schema import Hook


@dataclass(frozen=True)
class CapturedRun:
    """Activations of one prompt: per hook, [layers, positions, width]."""

    n_tokens: int
    activations: dict[Hook, Tensor]
    layers: dict[int, int]
    """Layer -> index on the first axis."""
    positions: dict[int, int]
    """Position -> index on the second axis."""

    def nbytes(self) -> int:
        """Bytes of all activations."""
        return sum(t.numel() * t.element_size() for t in self.activations.values())

    def index(self, run: str, patch: Patch, position: int) -> tuple[int, int]:
        """Where a patch's source is; raises when it was not captured."""
        if (
            patch.hook not in self.activations
            or patch.layer not in self.layers
            or position not in self.positions
        ):
            raise UnknownSourceRun(
                f"patch source not found: run={run!r} site=({patch.hook}, layer {patch.layer}, "
                f"position {position}); it holds hooks {sorted(self.activations)}, "
                f"layers {sorted(self.layers)} and {len(self.positions)} positions of a "
                f"{self.n_tokens}-token prompt"
            )
        return self.layers[patch.layer], self.positions[position]


def keep(
    trace: Trace, hooks: Sequence[Hook], layers: Sequence[int], positions: Sequence[int]
) -> CapturedRun:
    """The part of a trace that a source run holds."""
    device = trace.residuals.device
    rows, columns = torch.tensor(list(layers)), torch.tensor(list(positions))
    rows, columns = rows.to(device), columns.to(device)
    return CapturedRun(
        len(trace.tokens),
        {hook: trace.at(hook)[rows[:, None], columns[None, :]] for hook in hooks},
        {layer: i for i, layer in enumerate(layers)},
        {position: i for i, position in enumerate(positions)},
    )


def gather(patches: Sequence[Patch], runs: Mapping[str, CapturedRun], like: Tensor) -> Sources:
    """The values and weights of patches, on the device and in the dtype of `like` [.., width]."""
    values = like.new_empty(len(patches), like.shape[-1])
    by_place: dict[tuple[str, Hook], list[int]] = defaultdict(list)
    for i, patch in enumerate(patches):
        if isinstance(patch.source, FromVector):
            values[i] = torch.from_numpy(_vector(patch.source.values, like.shape[-1])).to(values)
        else:
            by_place[patch.source.run, patch.hook].append(i)
    for (run, hook), rows in by_place.items():
        _gather_run(values, rows, [patches[i] for i in rows], run, runs[run], hook)
    return Sources(values, _weights(patches, like))


def _gather_run(
    values: Tensor, rows: list[int], patches: list[Patch], run: str, held: CapturedRun, hook: Hook
) -> None:
    """Fill `values[rows]` from one run at one hook; several positions give their mean."""
    index = [
        (row, *held.index(run, patch, position), len(patch.source.positions))
        for row, patch in zip(rows, patches, strict=True)
        if isinstance(patch.source, FromRun)
        for position in patch.source.positions
    ]
    columns = np.array(index, dtype=np.int64).T
    where, layer, position, count = index_tensor(np.ascontiguousarray(columns), values.device)
    taken = held.activations[hook].to(values.device)[layer, position]
    if (columns[3] == 1).all():
        values.index_copy_(0, where, taken.to(values.dtype))
        return
    total = torch.zeros(values.shape, device=values.device)
    total.index_add_(0, where, taken.float() / count[:, None])
    chosen = index_tensor(rows, values.device)
    values.index_copy_(0, chosen, total.index_select(0, chosen).to(values.dtype))


def _weights(patches: Sequence[Patch], like: Tensor) -> Tensor | None:
    """Alpha · mask of each patch; None when every patch replaces outright."""
    plain = all(patch.mask is None for patch in patches)
    if plain and all(patch.alpha == 1 for patch in patches):
        return None
    alphas = torch.tensor([patch.alpha for patch in patches])[:, None]
    alphas = alphas.to(like.device, non_blocking=True)
    if plain:
        return alphas
    ones = np.ones(like.shape[-1], dtype=np.float32)
    masks = np.stack([ones if p.mask is None else _vector(p.mask, like.shape[-1]) for p in patches])
    return alphas * torch.from_numpy(masks).to(like.device)


def _vector(values: np.ndarray, width: int) -> np.ndarray:
    if values.shape != (width,):
        raise BadVectors(f"width {values.shape} != hook width {width}")
    return np.ascontiguousarray(values, dtype=np.float32)


def changes_nothing(patches: Sequence[Patch], sources: Sources, trace: Trace) -> Tensor:
    """For each patch, whether it writes exactly what is there in the unpatched run: [patches]."""
    current = torch.empty_like(sources.values)
    for hook in {patch.hook for patch in patches}:
        rows = [i for i, patch in enumerate(patches) if patch.hook == hook]
        at = np.array([(i, patches[i].layer, patches[i].position) for i in rows]).T
        where, layer, position = index_tensor(np.ascontiguousarray(at), current.device)
        current.index_copy_(0, where, trace.at(hook)[layer, position])
    if sources.weight is None:
        written = sources.values
    else:
        written = blend(current, sources.values, sources.weight)
    return (written == current).all(-1)
