"""What has become of each sender in one circuit, and what each receiver reads there.

A sender is as in the outside prompt's run, as in the inside prompt's, or something of its own. Only
the last has to be computed: what reads nothing but outside senders is as in that prompt, bit for
bit, and what reads all that it could, all of it as inside, is as in the other. So the empty circuit
is the outside prompt and the full one the inside prompt, exactly; and a small circuit is little
work, as is what is left of a model without one.
"""

from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sonde.backends.torch.mixing.both_runs import BothRuns
from sonde.backends.torch.mixing.wiring import Bools, Wiring

OUTSIDE: Final = 0
INSIDE: Final = 1
OWN: Final = 2

Kinds = NDArray[np.uint8]


class State:
    """One circuit, as far as it has been run."""

    def __init__(self, both: BothRuns, wiring: Wiring, edges: Bools, *, computed: bool) -> None:
        """`computed`: nothing is taken from the inside prompt's run but its embeddings."""
        self._both, self._wiring = both, wiring
        self._reads = wiring.on_the_way(wiring.matrix(edges))
        self._sent: Kinds = np.zeros(wiring.n_senders, dtype=np.uint8)
        self._computed = computed
        self._select, self._columns = self._laid_out()
        self._live = np.zeros(self._select.shape[1], dtype=bool)
        n, width = both.shape
        like = both.outside.streams[0]
        self._moved = like.new_zeros(len(self._live), n * width, dtype=torch.float32)
        start = both.inside.streams[0].float() - like.float()
        self._put(0, start, OWN if computed else INSIDE)

    # What is moved. A column is a sender; or, where a norm follows a layer's heads, a set of them.

    def _laid_out(self) -> tuple[Bools, list[tuple[slice, Bools]]]:
        """Which columns each receiver reads; and every layer's, with the heads that each holds."""
        wiring, both = self._wiring, self._both
        select = [self._reads[:, :1]]
        columns: list[tuple[slice, Bools]] = []
        first = 1
        for layer in range(wiring.graph.n_layers):
            heads = self._reads[:, wiring.heads(layer)]
            held = np.eye(heads.shape[1], dtype=bool)
            if not both.additive:
                held, which = np.unique(heads, axis=0, return_inverse=True)
                heads = which.ravel()[:, None] == np.arange(len(held))
                heads &= held.any(1)
            columns.append((slice(first, first + len(held)), held))
            mlp = wiring.mlp_out(layer)
            select += [heads, self._reads[:, mlp : mlp + 1]]
            first += len(held) + 1
        return np.concatenate(select, axis=1), columns

    def _put(self, column: int, moved: Tensor, kind: int) -> None:
        self._moved[column] = moved.flatten()
        self._live[column] = kind != OUTSIDE

    def put_mlp(self, layer: int, kind: int, moved: Tensor) -> None:
        """An MLP, and how far it is from the outside run's."""
        self._sent[self._wiring.mlp_out(layer)] = kind
        self._put(self._columns[layer][0].stop, moved, kind)

    def put_heads(self, layer: int, kinds: Kinds) -> tuple[list[int], Bools]:
        """What a layer's heads are -> columns that have to be computed, and heads that each holds.

        Columns that nobody reads, or that are known, are not among them.
        """
        where, held = self._columns[layer]
        self._sent[self._wiring.heads(layer)] = kinds
        wanted = (held & (kinds != OUTSIDE)).any(1) & self._select[:, where].any(0)
        if self._both.additive:
            inside = wanted & (kinds == INSIDE)
            for head in np.flatnonzero(inside).tolist():
                self._put(where.start + head, self._both.heads_moved(layer)[head], INSIDE)
            wanted &= ~inside
        chosen = np.flatnonzero(wanted)
        return (where.start + chosen).tolist(), held[chosen] & (kinds != OUTSIDE)

    def put_column(self, column: int, moved: Tensor) -> None:
        """One of these columns."""
        self._put(column, moved, OWN)

    # What is read.

    def kinds(self, receivers: slice) -> Kinds:
        """What some receivers read: the outside stream, the inside one, or one of their own."""
        reach = self._wiring.reach[receivers]
        out: Kinds = np.full(len(reach), OWN, dtype=np.uint8)
        out[~(self._select[receivers] & self._live).any(1)] = OUTSIDE
        if not self._computed:
            known = self._reads[receivers] & (self._sent == INSIDE)
            out[known.sum(1) == reach] = INSIDE
        return out

    def streams(self, receivers: slice, kinds: Kinds, time: int) -> tuple[Tensor, list[int]]:
        """The different streams that are read by those with one of their own, and who reads which.

        [streams, positions, width]; by receiver, those without one left out.
        """
        mine = (self._select[receivers] & self._live)[kinds == OWN]
        rows, which = np.unique(mine, axis=0, return_inverse=True)
        used = np.flatnonzero(rows.any(0))
        base = self._both.outside.streams[time]
        weights = torch.from_numpy(rows[:, used].astype(np.float32)).to(base.device)
        moved = weights @ self._moved[torch.from_numpy(used).to(base.device)]
        streams = base.float() + moved.view(-1, *base.shape)
        return streams.to(base.dtype), which.ravel().tolist()
