"""Circuits of one pair of prompts, run side by side: half a layer of all of them at a time.

1. **Know**     both prompts' own runs, and what every node sends in them (`both_runs`).
2. **Read**     the streams that some receiver has for itself (`state`); each different one is made
                once, and goes through its layer's own projections.
3. **Attend**   in circuits where a head's query, key or value is neither prompt's.
4. **Send**     how far each head and MLP is from the outside run; later receivers add that up.
5. **Tell**     what the last stream is read as.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from sonde.backends import giving_up
from sonde.backends.base import Mixture, Scores
from sonde.backends.check import check_readout, check_tokens
from sonde.backends.torch.mixing.both_runs import BothRuns, Own, run_both
from sonde.backends.torch.mixing.state import INSIDE, OUTSIDE, OWN, Kinds, State
from sonde.backends.torch.mixing.wiring import Wiring
from sonde.backends.torch.packed.readouts import Against, read_out
from sonde.backends.torch.path import Path
from sonde.errors import BadRequest
from sonde.nodes import Graph
from sonde.schema import ModelDescription

BYTES: Final = 256 * 2**20
"""What may be kept of all circuits that are run side by side."""
SIDE_BY_SIDE: Final = 64


@dataclass(frozen=True)
class Mixtures:
    """Answers circuits on one model as it is now."""

    path: Path
    model: ModelDescription
    against: Against

    def mix(self, asked: Iterable[Mixture]) -> Iterator[Scores]:
        """The readout of every circuit, some at a time."""
        wiring = Wiring(Graph.of(self.model))
        for number, mixture in enumerate(asked):
            self._check(mixture, wiring)
            with torch.inference_mode():
                yield from self._mix(number, mixture, wiring)

    def _check(self, asked: Mixture, wiring: Wiring) -> None:
        for tokens in (asked.outside, asked.inside):
            check_tokens(tokens, self.model)
        check_readout(asked.readout, self.model, len(asked.outside))
        if len(asked.outside) != len(asked.inside):
            raise BadRequest(
                f"a circuit's prompts have {len(asked.outside)} and {len(asked.inside)} tokens: "
                "every receiver adds up what both send, so they need one length"
            )
        n = wiring.graph.n_edges()
        if asked.edges.ndim != 2 or asked.edges.shape[1] != n:
            raise BadRequest(f"circuits of shape {asked.edges.shape}; this model has {n} edges")

    def _mix(self, number: int, asked: Mixture, wiring: Wiring) -> Iterator[Scores]:
        n = len(asked.outside)
        reads = sorted({n - 1, *(column.position % n for column in asked.readout.columns)})
        both = run_both(self.path, asked.outside, asked.inside, reads)
        positions, width = both.shape
        each = 4 * (wiring.n_senders + wiring.n_receivers // 4) * positions * width
        step = max(1, min(SIDE_BY_SIDE, BYTES // each))
        with both.parts.open():
            for start in range(0, len(asked.edges), step):
                rows = range(start, min(start + step, len(asked.edges)))
                states = [
                    State(both, wiring, asked.edges[row], computed=row in asked.computed)
                    for row in rows
                ]
                final = _Run(both, wiring, states).final([place - both.first for place in reads])
                told = read_out(
                    self.path.unembedding,
                    final.flatten(0, 1),
                    [asked.readout] * len(states),
                    [reads] * len(states),
                    self.against,
                )
                values = told[:, : len(asked.readout.columns)].double().cpu().numpy()
                yield Scores(tuple(rows), values, len(rows), number)


@dataclass(frozen=True)
class _Run:
    """Some circuits, side by side."""

    both: BothRuns
    wiring: Wiring
    states: Sequence[State]

    def final(self, reads: Sequence[int]) -> Tensor:
        """What is read after the last layer: [circuits, reads, width]."""
        graph = self.wiring.graph
        for layer in range(graph.n_layers):
            giving_up.check()
            if graph.parallel:
                self._mlp(layer, 2 * layer)
                self._attention(layer)
            else:
                self._attention(layer)
                self._mlp(layer, 2 * layer + 1)
        logits = slice(self.wiring.n_receivers - 1, self.wiring.n_receivers)
        ends = []
        for state in self.states:
            [kind] = kinds = state.kinds(logits)
            time = 2 * graph.n_layers
            if kind == OWN:
                end = state.streams(logits, kinds, time)[0][0]
            else:
                end = self._own(kind).streams[time]
            ends.append(end[list(reads)])
        return torch.stack(ends)

    def _own(self, kind: int) -> Own:
        return self.both.inside if kind == INSIDE else self.both.outside

    def _attention(self, layer: int) -> None:
        receivers = self.wiring.attention(layer)
        kinds = [state.kinds(receivers) for state in self.states]
        z, of = self._heads(layer, receivers, kinds)
        here = self.both.outside.z[layer]
        places: list[tuple[State, int]] = []
        rows: list[Tensor] = []
        for state, each, own in zip(self.states, kinds, of, strict=True):
            heads = self._kinds_of_heads(each)
            columns, held = state.put_heads(layer, heads)
            if not columns:
                continue
            inside = torch.from_numpy(heads == INSIDE).to(here.device)[:, None, None]
            mine = here if own is None else z[own]
            mine = torch.where(inside, self.both.inside.z[layer], mine)
            chosen = torch.from_numpy(held).to(here.device)[:, :, None, None]
            rows.append(torch.where(chosen, mine, here))
            places += [(state, column) for column in columns]
        if places:
            moved = self.both.attn_moved(layer, torch.cat(rows))
            for (state, column), one in zip(places, moved, strict=True):
                state.put_column(column, one)

    def _heads(
        self, layer: int, receivers: slice, kinds: Sequence[Kinds]
    ) -> tuple[Tensor, list[int | None]]:
        """What heads make, in circuits where some query, key or value is neither prompt's."""
        streams, places = self._streams(receivers, kinds, 2 * layer)
        own: list[int | None] = []
        attended: list[tuple[Tensor, ...]] = []
        made = None if streams is None else self.both.parts.queries_keys_values(layer, streams)
        for each, place in zip(kinds, places, strict=True):
            mixed = bool((self._kinds_of_heads(each) == OWN).any())
            own.append(len(attended) if mixed else None)
            if mixed:
                attended.append(self._parts(layer, each, made, place))
        if not attended:
            return self.both.outside.z[layer][:0], own
        q, k, v = (torch.stack(part) for part in zip(*attended, strict=True))
        return self.both.parts.mixed(layer, q, k, v)[:, :, self.both.first :], own

    def _parts(
        self, layer: int, kinds: Kinds, made: tuple[Tensor, ...] | None, place: Sequence[int]
    ) -> tuple[Tensor, ...]:
        """Queries, keys and values of one circuit, each from the stream that it reads."""
        out, first = [], 0
        rows = np.full(len(kinds), -1)
        rows[kinds == OWN] = place
        for part in range(3):
            here = self.both.outside.heads[layer][part]
            some = slice(first, first + len(here))
            first = some.stop
            inside = torch.from_numpy(kinds[some] == INSIDE).to(here.device)[:, None, None]
            mine = torch.where(inside, self.both.inside.heads[layer][part], here)
            heads = np.flatnonzero(rows[some] >= 0)
            if len(heads) and made is not None:
                own = made[part][rows[some][heads].tolist(), heads.tolist()]
                mine[heads.tolist(), self.both.first :] = own
            out.append(mine)
        return tuple(out)

    def _kinds_of_heads(self, kinds: Kinds) -> Kinds:
        """What each head is, by what its query, key and value read."""
        graph = self.wiring.graph
        group = graph.heads // graph.kv_heads
        queries, keys, values = np.split(kinds, [graph.heads, graph.heads + graph.kv_heads])
        each = np.stack([queries, keys.repeat(group), values.repeat(group)])
        return np.where((each == each[0]).all(0), each[0], np.uint8(OWN))

    def _mlp(self, layer: int, time: int) -> None:
        receivers = slice(self.wiring.mlp(layer), self.wiring.mlp(layer) + 1)
        kinds = [state.kinds(receivers) for state in self.states]
        streams, places = self._streams(receivers, kinds, time)
        here, there = self.both.outside.mlp_out[layer], self.both.inside.mlp_out[layer]
        made = here[None] if streams is None else self.both.parts.mlp_out(layer, streams)
        for state, [kind], place in zip(self.states, kinds, places, strict=True):
            if kind != OUTSIDE:
                mine = there if kind == INSIDE else made[place[0]]
                state.put_mlp(layer, kind, mine.float() - here.float())

    def _streams(
        self, receivers: slice, kinds: Sequence[Kinds], time: int
    ) -> tuple[Tensor | None, list[list[int]]]:
        """All streams that are neither prompt's, and who reads which, circuit by circuit."""
        parts: list[Tensor] = []
        places: list[list[int]] = []
        n = 0
        for state, each in zip(self.states, kinds, strict=True):
            if not (each == OWN).any():
                places.append([])
                continue
            streams, which = state.streams(receivers, each, time)
            places.append([n + place for place in which])
            parts.append(streams)
            n += len(streams)
        return (torch.cat(parts) if parts else None), places
