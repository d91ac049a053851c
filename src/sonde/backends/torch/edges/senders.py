"""What writes at senders change in the stream: a part for every place where something is added.

A head's part is what its edited output makes of the attention branch, by the layer's own projection
and norms: where a norm follows, heads do not add up, so those of one layer are edited together.
Time is counted in halves of layers, as `sonde.nodes` counts it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sonde.backends.base import FromSenders, Write
from sonde.backends.blending import written
from sonde.backends.torch.edges.frozen import Frozen
from sonde.backends.torch.packed.cells import Ints
from sonde.backends.torch.packed.scoring import Runs, run_names
from sonde.backends.torch.packed.sources import gather, standing
from sonde.schema import HOOK_TABLE


class Part(NamedTuple):
    """What is added to the stream at one time."""

    time: int
    change: Tensor
    """[positions, width]."""


@dataclass
class Sent:
    """What the writes of one source put down, on one prompt."""

    positions: Ints
    """Those that are looked at, in order."""
    parts: list[Part] = field(default_factory=list)
    """Nothing between them computed anew."""
    z: dict[int, Tensor] = field(default_factory=dict)
    """By layer, the outputs of all heads with the edited ones: [positions, heads * width]."""
    mlps: dict[int, tuple[Ints, Tensor]] = field(default_factory=dict)
    """By layer, which of the positions its MLP's output is set at, and to what."""

    def change(self, time: int) -> Tensor | None:
        """What has been added by then; None where nothing has."""
        there = [part.change for part in self.parts if part.time <= time]
        return sum(there[1:], there[0]) if there else None

    @property
    def first_layer(self) -> int:
        """The first layer that it changes anything in; that of the stream after the last, if so."""
        return min(part.time // 2 for part in self.parts)


def taken_apart(
    ends: Sequence[Write], frozen: Frozen, reader: Callable[[Iterable[Write]], Runs]
) -> dict[int, Sent]:
    """What the source of every write puts down where that write is, by the source's identity."""
    each: dict[int, FromSenders] = {}
    looked_at: dict[int, set[int]] = defaultdict(set)
    for end in ends:
        assert isinstance(end.source, FromSenders)
        each[id(end.source)] = end.source
        looked_at[id(end.source)].update(end.site.positions)
    found = {key: Sent(np.array(sorted(looked_at[key]), dtype=np.int64)) for key in each}
    writes = [(key, write) for key, source in each.items() for write in source.writes]
    changes, values = _changes([write for _, write in writes], frozen, reader)
    first = 0
    heads: dict[int, dict[int, Tensor]] = defaultdict(dict)
    for key, write in writes:
        site, sent = write.site, found[key]
        written_at = np.array(site.positions, dtype=np.int64)
        here = np.flatnonzero(np.isin(written_at, sent.positions))
        mine = frozen.index(first + here)
        first += len(written_at)
        at = np.searchsorted(sent.positions, written_at[here])
        if HOOK_TABLE[site.hook].attention == "out":
            edited = heads[site.layer]
            if key not in edited:
                edited[key] = frozen.attended(site.layer, sent.positions)
            assert site.head is not None
            width = frozen.trace.keys_values[site.layer].values.shape[-1]
            by_head = edited[key].view(len(sent.positions), -1, width)
            by_head[frozen.index(at), site.head] = values[mine, :width]
            continue
        change = changes.new_zeros(len(sent.positions), changes.shape[-1])
        change[frozen.index(at)] = changes[mine]
        if HOOK_TABLE[site.hook].sends:
            sent.mlps[site.layer] = at, values[mine]
            sent.parts.append(Part(2 * site.layer + 2, change))
        else:
            sent.parts.append(Part(0, change))
    for layer, edited in heads.items():
        for key, change in _branches(layer, edited, found, frozen).items():
            found[key].z[layer] = edited[key]
            found[key].parts.append(Part(2 * layer + 1, change))
    for sent in found.values():
        sent.parts.sort(key=lambda part: part.time)
    return found


def _changes(
    writes: Sequence[Write], frozen: Frozen, reader: Callable[[Iterable[Write]], Runs]
) -> tuple[Tensor, Tensor]:
    """How each position of each write changes what stands there; and what stands there then."""
    sources = gather(writes, reader(writes)(run_names(writes)), frozen.trace.residuals)
    current = standing(writes, frozen.trace.at, sources.values)
    after = written(current, sources.values, sources.weight, sources.adds)
    return after - current, after


def _branches(
    layer: int, edited: dict[int, Tensor], found: dict[int, Sent], frozen: Frozen
) -> dict[int, Tensor]:
    """What edited heads of a layer add to its stream beyond what they do unpatched, by source."""
    plain = np.unique(np.concatenate([found[key].positions for key in edited]))
    positions = np.concatenate([plain, *(found[key].positions for key in edited)])
    z = torch.cat([frozen.attended(layer, plain), *edited.values()])
    branch = frozen.call(
        layer, frozen.entering(layer, positions), positions, z, "attention"
    )["branch"]  # fmt: skip
    out, first = {}, len(plain)
    for key in edited:
        mine = found[key].positions
        unpatched = branch.index_select(0, frozen.index(np.searchsorted(plain, mine)))
        out[key] = branch[first : first + len(mine)] - unpatched
        first += len(mine)
    return out
