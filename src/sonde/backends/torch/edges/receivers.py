"""What receivers have: the stream they read with a sender's change added, through their own norm.

1. **Take apart** what senders change (`senders`).
2. **Carry** it to the layers of their receivers: added as it is, or, where MLPs are computed anew,
   through every layer on the way with the attention of the unpatched run (`frozen`).
3. **Read** what the receivers have there: queries, keys, values, what an MLP returns, the stream.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sonde.backends.base import FromSenders, Site, Write
from sonde.backends.torch.edges.frozen import Frozen, Had, Until
from sonde.backends.torch.edges.senders import Sent
from sonde.backends.torch.packed.writes import Writes
from sonde.schema import HOOK_TABLE


class _Block(NamedTuple):
    """Rows of one source in a call of a layer."""

    source: int
    """Its identity."""
    rows: slice


def received(writes: Sequence[Write], sent: dict[int, Sent], frozen: Frozen) -> list[Tensor]:
    """What the site of each write has: [positions, width] of its own width."""
    out: list[Tensor | None] = [None] * len(writes)
    wanted: dict[tuple[int, bool], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, write in enumerate(writes):
        source, site = write.source, write.site
        assert isinstance(source, FromSenders)
        wanted[id(source), source.mlps][reading_layer(site)].append(number)
    direct = {key: layers for (key, mlps), layers in wanted.items() if not mlps}
    carried = {key: layers for (key, mlps), layers in wanted.items() if mlps}
    for layer in sorted({layer for layers in direct.values() for layer in layers}):
        here = {key: layers[layer] for key, layers in direct.items() if layer in layers}
        for number, value in _direct(layer, here, writes, sent, frozen):
            out[number] = value
    for number, value in _carried(carried, writes, sent, frozen):
        out[number] = value
    return [value for value in out if value is not None]


def reading_layer(site: Site) -> int:
    """The layer that makes it of the stream; past the last, where it is what that one leaves."""
    return site.layer + (HOOK_TABLE[site.hook].enters or 0)


def _direct(
    layer: int,
    here: dict[int, list[int]],
    writes: Sequence[Write],
    sent: dict[int, Sent],
    frozen: Frozen,
) -> Iterable[tuple[int, Tensor]]:
    """Nothing is computed anew on the way: the unpatched stream, and the change as it was sent."""
    positions = np.concatenate([sent[key].positions for key in here])
    rows = frozen.entering(layer, positions)
    blocks = _blocks(here, sent)
    for block in blocks:
        change = sent[block.source].change(2 * layer)
        if change is not None:
            rows[block.rows] += change.to(rows)
    had: dict[Had, Tensor] = {"left": rows}
    if layer < len(frozen.path.layout.sites):
        mlp = any(HOOK_TABLE[writes[n].site.hook].half for some in here.values() for n in some)
        until: Until = "mlp" if mlp else "attention"
        had = frozen.call(layer, rows, positions, _z(layer, blocks, positions, sent, frozen), until)
    for block in blocks:
        for number in here[block.source]:
            yield number, _picked(writes[number].site, had, block, sent[block.source], frozen)


def _carried(
    wanted: dict[int, dict[int, list[int]]],
    writes: Sequence[Write],
    sent: dict[int, Sent],
    frozen: Frozen,
) -> Iterable[tuple[int, Tensor]]:
    """MLPs on the way are computed anew: all sources layer by layer, from where each begins."""
    n_layers = len(frozen.path.layout.sites)
    begins = {key: sent[key].first_layer for key in wanted}
    streams: dict[int, Tensor] = {}
    """By source, the stream that enters the layer at hand."""
    for layer in range(n_layers + 1):
        for key in wanted:
            if begins[key] == layer:
                streams[key] = frozen.entering(layer, sent[key].positions)
                change = sent[key].change(2 * layer)
                if change is not None:
                    streams[key] = streams[key] + change.to(streams[key])
        active = {key: layers for key, layers in wanted.items() if key in streams}
        active = {key: layers for key, layers in active.items() if max(layers) >= layer}
        if not active:
            continue
        blocks = _blocks(active, sent)
        positions = np.concatenate([sent[key].positions for key in active])
        rows = torch.cat([streams[key] for key in active])
        had: dict[Had, Tensor] = {"left": rows}
        if layer < n_layers:
            z, sets = _z(layer, blocks, positions, sent, frozen), _sets(layer, blocks, sent, frozen)
            had = frozen.call(layer, rows, positions, z, "end", sets)
        for block in blocks:
            for number in active[block.source].get(layer, ()):
                yield number, _picked(writes[number].site, had, block, sent[block.source], frozen)
            streams[block.source] = had["left"][block.rows]


def _blocks(here: Iterable[int], sent: dict[int, Sent]) -> list[_Block]:
    """The rows of each source, one after another."""
    out, first = [], 0
    for key in here:
        out.append(_Block(key, slice(first, first + len(sent[key].positions))))
        first += len(sent[key].positions)
    return out


def _z(
    layer: int, blocks: Sequence[_Block], positions: np.ndarray, sent: dict[int, Sent],
    frozen: Frozen,
) -> Tensor:  # fmt: skip
    """What the heads of a layer return: unpatched, but for those that are senders themselves."""
    z = frozen.attended(layer, positions)
    for block in blocks:
        edited = sent[block.source].z.get(layer)
        if edited is not None:
            z[block.rows] = edited
    return z


def _sets(
    layer: int, blocks: Sequence[_Block], sent: dict[int, Sent], frozen: Frozen
) -> Writes | None:
    """What MLPs that are senders themselves return."""
    each = [(block, *sent[block.source].mlps[layer]) for block in blocks
            if layer in sent[block.source].mlps]  # fmt: skip
    if not each:
        return None
    rows = np.concatenate([block.rows.start + at for block, at, _ in each])
    return Writes(frozen.index(rows), torch.cat([values for _, _, values in each]), None)


def _picked(
    site: Site, had: dict[Had, Tensor], block: _Block, sent: Sent, frozen: Frozen
) -> Tensor:
    """What one site has, of all that its layer's rows have."""
    name: Had = "left" if HOOK_TABLE[site.hook].is_stream else site.hook  # type: ignore[assignment]
    at = np.searchsorted(sent.positions, np.array(site.positions))
    rows = had[name][block.rows].index_select(0, frozen.index(at))
    return rows if site.head is None else rows[:, site.head]
