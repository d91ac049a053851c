"""Edges to first order: what a sender adds to the stream, times the gradient where it is read.

An edge's gradient is that of the stream as this one receiver reads it: back from what is read to
the receiver's query, key, value or MLP, and from there through its own projection and norm alone
(`halves`). What senders add is taken apart as for exact edges, between the end points, wherever
gradients are taken.

1. **Send**   what every source adds: [sources, positions × width].
2. **Follow** one pass back to all receivers: [positions, width] for each head and MLP.
3. **Read**   layer by layer, the gradients of its receivers, times all that was sent before.

Only one layer's gradients are there at a time, so memory does not grow with the number of edges.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sonde.backends.base import FromSenders, Site, Slope, Write
from sonde.backends.torch.edges.frozen import Frozen
from sonde.backends.torch.edges.receivers import reading_layer
from sonde.backends.torch.edges.senders import Sent, taken_apart
from sonde.backends.torch.gradient.forward import Against, HookAt, Passed, read, run, with_gradients
from sonde.backends.torch.gradient.halves import Half, half_of
from sonde.backends.torch.gradient.slopes import TOKENS, points, weighted
from sonde.backends.torch.packed.cells import Ints
from sonde.backends.torch.packed.scoring import Runs
from sonde.backends.torch.path import Path
from sonde.errors import BadRequest
from sonde.schema import HOOK_TABLE, Hook

End = tuple[Hook, int | None, tuple[int, ...] | None]
"""Hook, head and readers of a receiver, within its layer."""


@dataclass(frozen=True)
class _LayerWrites:
    """The writes of one layer that are scored: which part of what was sent meets which receiver."""

    ends: list[End]
    of: Ints
    """The number of each write."""
    part: Ints
    end: Ints


def edge_slopes(
    path: Path,
    slope: Slope,
    writes: Sequence[Write],
    frozen: Frozen,
    reader: Callable[[Iterable[Write]], Runs],
    against: Against,
) -> Tensor:
    """How far each write moves every sum: [writes, sums]."""
    if any(isinstance(write.source, FromSenders) and write.source.mlps for write in writes):
        raise BadRequest(
            "edges with MLPs computed anew have no scores to first order; score them exactly"
        )
    with torch.inference_mode():
        sent = taken_apart(writes, frozen, reader)
    flat = _Flat(sent)
    layers = _by_layer(path, writes, sent, flat)
    out = torch.zeros(len(writes), len(slope.weights), dtype=torch.float64)
    starts = points(path, slope)
    for some in torch.split(starts, max(1, TOKENS // starts.shape[1])):
        for layer, gradients in _gradients(path, slope, some, layers, against):
            mine = layers[layer]
            known = flat.times(gradients)
            values = known[:, torch.from_numpy(mine.part), torch.from_numpy(mine.end)]
            out.index_add_(0, torch.from_numpy(mine.of), values.T.to(out) / len(starts))
    return out


class _Flat:
    """All parts of all sources, those at the same positions side by side."""

    def __init__(self, sent: dict[int, Sent]) -> None:
        self.numbers: dict[tuple[int, int], int] = {}
        """Source and number of its part -> number among all."""
        groups: dict[tuple[int, ...], list[tuple[int, Tensor]]] = defaultdict(list)
        for key, each in sent.items():
            for n, part in enumerate(each.parts):
                self.numbers[key, n] = len(self.numbers)
                place = tuple(each.positions.tolist())
                groups[place].append((self.numbers[key, n], part.change))
        self._groups = [
            (
                torch.tensor(positions),
                torch.tensor([number for number, _ in some]),
                torch.stack([change for _, change in some]).float().flatten(1),
            )
            for positions, some in groups.items()
        ]

    def times(self, gradients: Tensor) -> Tensor:
        """[sums, ends, positions, width] -> [sums, parts, ends]."""
        n_sums, n_ends = gradients.shape[:2]
        out = torch.zeros(n_sums, len(self.numbers), n_ends)
        for positions, numbers, changes in self._groups:
            there = gradients[:, :, positions.to(gradients.device)].flatten(2).float()
            out[:, numbers] = (changes @ there.flatten(0, 1).T).view(
                len(numbers), n_sums, n_ends
            ).transpose(0, 1).cpu()  # fmt: skip
        return out


def _by_layer(
    path: Path, writes: Sequence[Write], sent: dict[int, Sent], flat: _Flat
) -> dict[int, _LayerWrites]:
    """The writes by the layer of their site; those of the last residual come after all layers."""
    parallel = "post_attn" not in path.layout.hooks
    times = {key: [part.time for part in each.parts] for key, each in sent.items()}
    ends: dict[int, dict[End, int]] = defaultdict(dict)
    found: dict[int, tuple[list[int], list[int], list[int]]] = defaultdict(lambda: ([], [], []))
    for number, write in enumerate(writes):
        site, key = write.site, id(write.source)
        layer = reading_layer(site)
        time = 2 * layer + (0 if parallel else HOOK_TABLE[site.hook].half)
        end = ends[layer].setdefault(_end(site), len(ends[layer]))
        of, parts, each = found[layer]
        for n, sent_at in enumerate(times[key]):
            if sent_at <= time:
                of.append(number)
                parts.append(flat.numbers[key, n])
                each.append(end)
    return {
        layer: _LayerWrites(
            list(ends[layer]), *(np.array(each, dtype=np.int64) for each in found[layer])
        )
        for layer in ends
    }


def _end(site: Site) -> End:
    return site.hook, site.head, site.readers


def _gradients(
    path: Path, slope: Slope, starts: Tensor, layers: dict[int, _LayerWrites], against: Against
) -> Iterable[tuple[int, Tensor]]:
    """Of every sum at the receivers of each layer: [sums, ends, positions, width], over starts."""
    within = sorted(layer for layer in layers if layer < len(path.layout.sites))
    hooks = {layer: {hook for hook, *_ in layers[layer].ends} for layer in within}
    upstream: list[HookAt] = [(hook, layer) for layer in within for hook in sorted(hooks[layer])]
    inside: tuple[Hook, ...] = ("pre_attn", "z")
    seen: list[HookAt] = [(hook, layer) for layer in within for hook in inside]
    tokens = slope.work.tokens
    passed = run(path, tokens, starts, [*upstream, *seen])
    columns = read(path, passed.final, slope.work.readout, len(tokens), against)
    back: list[dict[HookAt, Tensor]] = []
    last: list[Tensor] = []
    for number, weights in enumerate(slope.weights):
        with with_gradients():
            value = weighted(columns, weights)
        keep = number < len(slope.weights) - 1
        *each, final = _back(value, passed, upstream, keep=keep)
        back.append(dict(zip(upstream, each, strict=True)))
        last.append(final.sum(0)[None])
    if len(path.layout.sites) in layers:
        yield len(path.layout.sites), torch.stack(last)
    for layer in within:
        made = half_of(path, layer, passed)
        yield layer, torch.stack(
            [torch.stack([_through(made, end, layer, one) for end in layers[layer].ends])
             for one in back]
        )  # fmt: skip


def _back(value: Tensor, passed: Passed, places: Sequence[HookAt], *, keep: bool) -> list[Tensor]:
    """Of one number at each place, as it lies there, and at the end."""
    given = [*(passed.at[place] for place in places), passed.final]
    found: Sequence[Tensor | None] = [None] * len(given)
    if value.requires_grad:
        found = torch.autograd.grad(value, given, retain_graph=keep, allow_unused=True)
    each = zip(given, found, strict=True)
    return [torch.zeros_like(at) if one is None else one.detach() for at, one in each]


def _through(half: Half, end: End, layer: int, back: dict[HookAt, Tensor]) -> Tensor:
    """The gradient of the stream as one receiver reads it: [positions, width], over starts."""
    hook, head, readers = end
    gradient, value = back[hook, layer], half.at[hook]
    if (
        HOOK_TABLE[hook].per == "kv_head"
    ):  # followed as each query head sees them: a group is their sum
        if readers is not None:
            seen = torch.zeros(gradient.shape[1], device=gradient.device, dtype=gradient.dtype)
            seen[list(readers)] = 1
            gradient = gradient * seen[:, None, None]
        n, _, *rest = gradient.shape
        gradient = gradient.reshape(n, value.shape[1], -1, *rest).sum(2)
    if head is not None:
        only = torch.zeros_like(gradient)
        only[:, head] = gradient[:, head]
        gradient = only
    return half.back(hook, gradient).sum(0)
