"""The gradient of a few numbers at the sites of a prompt: there, or on the way to another prompt.

Averaged over points between two prompts' embeddings, a gradient sees some of what a single point
hides: where a softmax is saturated at the prompt itself, it is not all the way.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sonde.backends.base import Slope
from sonde.backends.torch.gradient.forward import (
    Against,
    HookAt,
    entering,
    read,
    run,
    with_gradients,
)
from sonde.backends.torch.path import Path
from sonde.errors import BadRequest
from sonde.schema import HOOK_TABLE, HeadShape, Hook

TOKENS = 512
"""Tokens whose graph is kept at a time, unless one prompt has more."""


@dataclass(frozen=True)
class Gradients:
    """Of every sum that is followed, at every place: [sums, positions, …]."""

    at: dict[HookAt, Tensor]
    n_layers: int
    heads: HeadShape | None

    def of(self, hook: Hook, which: int, readers: tuple[int, ...] | None = None) -> Tensor:
        """One sum's at a hook, [layers, positions, …]; of layers that were not wanted, zeros.

        At keys and values it is that of the whole group, or of these readers alone.
        """
        layers = {layer: each[which] for (name, layer), each in self.at.items() if name == hook}
        like = next(iter(layers.values()))
        nothing = torch.zeros_like(like)
        each = [layers.get(layer, nothing) for layer in range(self.n_layers)]
        stacked = torch.stack(each).float()
        if HOOK_TABLE[hook].per != "kv_head":
            return stacked
        assert self.heads is not None
        if readers is not None:
            seen = torch.zeros(self.heads.heads, device=stacked.device, dtype=stacked.dtype)
            seen[list(readers)] = 1
            stacked = stacked * seen[:, None]
        rows = stacked.shape[:2]
        return stacked.reshape(*rows, self.heads.kv_heads, -1, stacked.shape[-1]).sum(3)


def points(path: Path, slope: Slope) -> Tensor:
    """What enters the first layer at every point of the way: [steps, positions, width]."""
    tokens, toward = slope.work.tokens, slope.toward
    here = entering(path, tokens)
    if toward is None or slope.steps == 1:
        return here
    if len(toward) != len(tokens):
        raise BadRequest(
            f"a way between prompts of {len(tokens)} and {len(toward)} tokens: the gradient is "
            "taken between prompts of one length, or at one of them (atp)"
        )
    there = entering(path, toward)
    shares = torch.arange(slope.steps, device=here.device, dtype=here.dtype) / slope.steps
    return here + shares[:, None, None] * (there - here)


def gradients(
    path: Path, slope: Slope, places: Sequence[HookAt], against: Against
) -> dict[HookAt, Tensor]:
    """At each place, of each sum: [sums, positions, …], the mean over the way."""
    starts = points(path, slope)
    total: dict[HookAt, Tensor] = {}
    for some in torch.split(starts, max(1, TOKENS // starts.shape[1])):
        for place, found in _of_some(path, slope, some, places, against).items():
            total[place] = found if place not in total else total[place] + found
    return {place: found / len(starts) for place, found in total.items()}


def _of_some(
    path: Path, slope: Slope, starts: Tensor, places: Sequence[HookAt], against: Against
) -> dict[HookAt, Tensor]:
    """The same, summed over some points."""
    n = slope.work.tokens
    passed = run(path, n, starts, places)
    columns = read(path, passed.final, slope.work.readout, len(n), against)
    found: list[list[Tensor]] = []
    for number, weights in enumerate(slope.weights):
        with with_gradients():
            value = weighted(columns, weights)
        last = number == len(slope.weights) - 1
        found.append([g.sum(0) for g in passed.gradients(value, places, keep=not last)])
    return {place: torch.stack([each[i] for each in found]) for i, place in enumerate(places)}


def weighted(columns: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """The sum that is followed, over all prompts: they do not see one another."""
    total = columns[0].new_zeros(())
    for column, weight in zip(columns, weights, strict=True):
        if weight:
            total = total + weight * column.sum()
    return total
