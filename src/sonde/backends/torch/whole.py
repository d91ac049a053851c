"""Patched runs of models whose layers are not all plain attention: whole sequences, layer by layer.

Recurrent and hybrid layers carry state from position to position in ways a packed batch does not
keep, so each cell is a whole sequence here, recomputed from its first patched layer up. Batches
always have the same shape: that makes every cell batch-invariant, and it is slow
compared with `packed`, which is why `describe()` says which of the two a model takes.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Final

import torch
from torch import Tensor
from transformers import PreTrainedModel

from sonde.backends import giving_up
from sonde.backends.torch.hooking import first_tensor
from sonde.backends.torch.layout import Layout
from sonde.backends.torch.packed.cells import PackedCell, PlacedWrite, Sources
from sonde.backends.torch.packed.rows import padded
from sonde.backends.torch.packed.trace import LayerCall, Trace, finish, watch
from sonde.backends.torch.packed.writes import Writes, applied
from sonde.schema import INSIDE, Hook

BATCH: Final = 8
"""Sequences per call, always."""


def record(
    model: PreTrainedModel,
    layout: Layout,
    prompts: Sequence[Sequence[int]],
    hooks: Iterable[Hook],
) -> list[Trace]:
    """Run each prompt once, in a batch of the usual shape, and keep what later runs may reuse."""
    inside = [hook for hook in INSIDE if hook in set(hooks)]
    return [_record_one(model, layout, tokens, inside) for tokens in prompts]


def _record_one(
    model: PreTrainedModel, layout: Layout, tokens: Sequence[int], inside: list[Hook]
) -> Trace:
    n, n_rows = len(tokens), padded(len(tokens), 16)
    longest = getattr(model.config.get_text_config(), "max_position_embeddings", n_rows)
    n_rows = min(n_rows, longest)
    ids = torch.tensor([[*tokens, *[tokens[-1]] * (n_rows - n)]] * BATCH, device=model.device)
    edges: list[Tensor] = []
    calls: list[LayerCall] = []
    kept: dict[Hook, list[Tensor]] = {hook: [] for hook in inside}
    with ExitStack() as stack, torch.inference_mode():
        watch(stack, layout, edges, calls, kept)
        finish(lambda: model(input_ids=ids, use_cache=False), kept, len(layout.sites))
        return Trace(
            tuple(tokens),
            torch.stack([edge[:n_rows] for edge in edges]),
            [],
            {hook: torch.stack([rows[:n_rows] for rows in kept[hook]]) for hook in kept},
            {},
            calls,
            n_rows,
            (n,),
        )


class WholeRun:
    """One chunk of cells, as whole sequences."""

    def __init__(
        self, layout: Layout, trace: Trace, cells: Sequence[PackedCell], sources: Sources
    ) -> None:
        """`cells` come back in the order of `self.cells`."""
        self.cells = sorted(cells, key=_entry)
        self._layout, self._trace, self._sources = layout, trace, sources

    def final(self) -> Tensor:
        """What is read of each cell, after the last layer: [reads, width]."""
        groups = [self.cells[i : i + BATCH] for i in range(0, len(self.cells), BATCH)]
        return torch.cat([self._group(group) for group in groups])

    def _group(self, cells: list[PackedCell]) -> Tensor:
        last = len(self._trace.tokens) - 1
        read = [(i, p) for i, cell in enumerate(cells) for p in cell.reads or (last,)]
        return self.rows(cells)[[i for i, _ in read], [p for _, p in read]]

    def rows(self, cells: list[PackedCell]) -> Tensor:
        """All rows after the last layer: [cells, rows, width], of one batch at most."""
        n_layers, n_rows = len(self._layout.sites), self._trace.n_rows
        first = min(min(_entry(cell) for cell in cells), n_layers)
        rows = self._trace.residuals[first].repeat(BATCH, 1)
        for layer in range(first, n_layers + 1):
            giving_up.check()
            writes = self._writes(cells, layer)
            if entering := writes.pop(None, None):
                entering.apply(rows)
            if layer < n_layers:
                rows = self._call(layer, rows, {h: w for h, w in writes.items() if h is not None})
        return rows.view(BATCH, n_rows, -1)[: len(cells)]

    def _writes(self, cells: list[PackedCell], layer: int) -> dict[Hook | None, Writes]:
        grouped: dict[Hook | None, list[tuple[int, int]]] = defaultdict(list)
        for index, cell in enumerate(cells):
            for patch in cell.patches:
                if patch.layer == layer:
                    start = index * self._trace.n_rows
                    grouped[patch.inside] += [
                        (start + position, patch.source + k)
                        for k, position in enumerate(patch.positions)
                    ]
        return {
            inside: self._sources.writes([row for row, _ in edits], [s for _, s in edits])
            for inside, edits in grouped.items()
        }

    def _call(self, layer: int, rows: Tensor, writes: dict[Hook, Writes]) -> Tensor:
        site, call = self._layout.sites[layer], self._trace.calls[layer]
        batch = rows.view(BATCH, self._trace.n_rows, -1)
        with applied(site, writes):
            out = first_tensor(site.layer(batch, *call.args, **call.kwargs))
        assert out is not None
        return out.reshape(-1, out.shape[-1])


def every_row(
    layout: Layout, trace: Trace, patches: Sequence[PlacedWrite], sources: Sources
) -> Tensor:
    """What every token of a prompt ends in, after the last layer: [tokens, width]."""
    n = len(trace.tokens)
    if not patches:
        return trace.residuals[-1, :n]
    cell = PackedCell(0, tuple(patches), 0, min(patch.layer for patch in patches), ())
    return WholeRun(layout, trace, [cell], sources).rows([cell])[0, :n]


def _entry(cell: PackedCell) -> int:
    """The first layer a cell differs in."""
    return cell.joins - bool(cell.alone)
