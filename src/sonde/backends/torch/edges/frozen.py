"""A layer called on single positions, with the attention that the unpatched run has there.

Positions do not see one another then, so any rows may share a call. It is the packed path's own way
to call a layer, in batches of its shapes: a row has the same bits whatever is beside it.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import torch
from torch import Tensor

from sonde.backends.torch.hooking import first_tensor
from sonde.backends.torch.packed.cells import Ints
from sonde.backends.torch.packed.plan import RowPlan, using
from sonde.backends.torch.packed.rows import filled_up, index_tensor
from sonde.backends.torch.packed.trace import Trace
from sonde.backends.torch.packed.writes import Writes, applied
from sonde.backends.torch.path import Path
from sonde.schema import Hook

Until = Literal["attention", "mlp", "end"]
Had = Literal["q", "k", "v", "mlp_out", "branch", "left"]
"""`branch` is what attention adds, up to what is the same in every call of the same rows; `left`
the stream that leaves the layer."""

STOPS: Final[tuple[Hook, ...]] = ("attn_out", "post_attn")
"""Where attention's branch is seen, in the order of choice."""


class _LayerExit(Exception):
    """Raised inside a layer to leave it: what was wanted of it has been noted."""


@dataclass(frozen=True)
class Frozen:
    """The layers of a model with the attention of one prompt's unpatched run."""

    path: Path
    trace: Trace
    """With the outputs of all heads."""

    def entering(self, layer: int, positions: Ints) -> Tensor:
        """The unpatched stream that enters a layer, or leaves the last: [rows, width]."""
        return self.trace.residuals[layer].index_select(0, self.index(positions))

    def attended(self, layer: int, positions: Ints) -> Tensor:
        """The unpatched outputs of all its heads: [rows, heads * width]."""
        return self.trace.attention[layer].index_select(0, self.index(positions))

    def index(self, values: Ints) -> Tensor:
        """Integers on the model's device."""
        return index_tensor(values, self.trace.residuals.device)

    def call(
        self,
        layer: int,
        rows: Tensor,
        positions: Ints,
        z: Tensor,
        until: Until,
        sets: Writes | None = None,
    ) -> dict[Had, Tensor]:
        """Call a layer on rows of some positions whose heads return `z`: what it had on the way.

        `sets` are written to what its MLP returns. It is left as soon as all is known that is
        wanted of it.
        """
        most = self.path.shape.most
        parts = []
        for start in range(0, len(rows), most):
            some = slice(start, start + most)
            mine = None if sets is None else _within(sets, start, min(start + most, len(rows)))
            parts.append(self._part(layer, rows[some], positions[some], z[some], until, mine))
        return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}

    def _part(
        self,
        layer: int,
        rows: Tensor,
        positions: Ints,
        z: Tensor,
        until: Until,
        sets: Writes | None,
    ) -> dict[Had, Tensor]:
        site, n = self.path.layout.sites[layer], len(rows)
        batch = rows.new_zeros(self.path.shape.padded(n), rows.shape[-1])
        batch[:n] = rows
        plan = RowPlan(self.path.layout.layer_of, [], n, None, record=True, queries={}, layer=layer)
        plan.fixed_rows, plan.fixed_outputs = self.index(np.arange(n)), {layer: z}
        where = self.index(positions)
        call = self.trace.calls[layer].at(
            lambda table: filled_up(table.index_select(0, where), len(batch)), self.trace.n_rows
        )
        had: dict[Had, Tensor] = {}

        def note(name: Had, hook: Hook, last: bool) -> None:
            tap = site.tap(hook)

            def see(value: Tensor) -> None:
                had[name] = value.view(-1, value.shape[-1])[:n].clone()
                if last:
                    raise _LayerExit

            stack.callback(tap.watch(see).remove)

        stop: Hook = next((hook for hook in STOPS if hook in site.taps), "mlp_out")
        with ExitStack() as stack, using(plan):
            if stop != "mlp_out":
                note("branch", stop, until == "attention")
            note("mlp_out", "mlp_out", until == "mlp")
            if sets is not None:
                stack.enter_context(applied(site, {"mlp_out": sets}))
            try:
                out = first_tensor(site.layer(batch.unsqueeze(0), *call.args, **call.kwargs))
            except _LayerExit:
                pass
            else:
                assert out is not None
                had["left"] = out.view(-1, out.shape[-1])[:n]
        assert plan.queries is not None
        had["q"] = plan.queries[layer][:n]
        had["k"], had["v"] = plan.recorded[layer].keys[:n], plan.recorded[layer].values[:n]
        if "branch" not in had and "left" in had:  # parallel: both branches are added at the end
            had["branch"] = had["left"]
        return had


def _within(sets: Writes, start: int, stop: int) -> Writes | None:
    """The writes to some of the rows, counted from the first of them."""
    chosen = ((sets.rows >= start) & (sets.rows < stop)).nonzero()[:, 0]
    return sets.of(chosen, sets.rows[chosen] - start) if len(chosen) else None
