"""The two prompts' own runs: all that their nodes read and send.

Before the position at which the prompts first differ nothing can be told apart, in any circuit: of
those positions only keys and values are kept.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from sonde.backends.torch.gradient.attention import Noted, noting
from sonde.backends.torch.hooking import watch_call
from sonde.backends.torch.mixing.parts import Parts, QueriesKeysValues
from sonde.backends.torch.packed.trace import LayerCall
from sonde.backends.torch.path import Path
from sonde.errors import HookNeverFired


class _Done(Exception):
    """Raised after the last layer."""


@dataclass
class Own:
    """One prompt's own run."""

    streams: dict[int, Tensor]
    """The residual stream by time in halves of layers (`sonde.nodes`): [positions, width]."""
    heads: list[QueriesKeysValues]
    """Layer by layer, [heads, all positions, width] each."""
    z: list[Tensor]
    """[heads, positions, width]."""
    attn_out: list[Tensor]
    mlp_out: list[Tensor]

    def begins(self, first: int) -> None:
        """Forget what is before a position, but queries, keys and values."""
        self.streams = {time: value[first:] for time, value in self.streams.items()}
        self.mlp_out = [value[first:] for value in self.mlp_out]


@dataclass(frozen=True)
class BothRuns:
    """Both runs, and what turns one into the other."""

    parts: Parts
    outside: Own
    inside: Own
    first: int
    """The position from which on the runs are kept."""
    additive: bool
    """Whether what a layer's heads add is a sum over them; else a norm follows them."""
    _of_heads: dict[int, Tensor] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Positions, width."""
        positions, width = self.outside.streams[0].shape
        return positions, width

    def attn_moved(self, layer: int, z: Tensor) -> Tensor:
        """How far heads [runs, heads, positions, width] move what the layer adds."""
        return self.parts.attn_out(layer, z).float() - self.outside.attn_out[layer].float()

    def heads_moved(self, layer: int) -> Tensor:
        """The same of each head alone, as it is inside: [heads, positions, width]."""
        if layer not in self._of_heads:
            here, there = self.outside.z[layer], self.inside.z[layer]
            mine = torch.eye(len(here), dtype=torch.bool, device=here.device)[:, :, None, None]
            self._of_heads[layer] = self.attn_moved(layer, torch.where(mine, there, here))
        return self._of_heads[layer]


def run_both(
    path: Path, outside: Sequence[int], inside: Sequence[int], reads: Sequence[int]
) -> BothRuns:
    """Run both prompts, which have one length, by the model's own forward pass.

    `reads` are positions that are needed, though the prompts may first differ after them.
    """
    pairs = enumerate(zip(outside, inside, strict=True))
    first = min([*reads, *(place for place, (a, b) in pairs if a != b)])
    seen, other = _PassRecorder(path), _PassRecorder(path)
    here, there = seen.run(outside), other.run(inside)
    calls = [call.at(lambda value: value[first:], len(outside)) for call in seen.calls]
    parts = Parts(path, calls, seen.styles(), Noted(path.layout.layer_of))
    with parts.open():
        for each in (here, there):
            each.begins(first)
            for layer, heads in enumerate(each.heads):
                z = parts.mixed(layer, *(part[None] for part in heads))[:, :, first:]
                each.z.append(z[0])
                each.attn_out.append(parts.attn_out(layer, z)[0])
        additive = all(parts.adds_up(layer, z[None]) for layer, z in enumerate(there.z))
    return BothRuns(parts, here, there, first, additive)


class _PassRecorder:
    """What one forward pass shows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.noted = Noted(path.layout.layer_of, instead=self._see)
        self.calls: list[LayerCall] = []
        self._own = Own({}, [], [], [], [])

    def styles(self) -> list[Any]:
        """How every layer attends."""
        return [self.noted.styles[layer] for layer in range(len(self.calls))]

    def run(self, tokens: Sequence[int]) -> Own:
        """The prompt's own run."""
        path = self._path
        ids = torch.tensor([list(tokens)], device=path.model.device)
        with ExitStack() as stack, noting(path.model, self.noted):
            for layer, site in enumerate(path.layout.sites):
                stack.callback(watch_call(site.layer, self._called).remove)
                stack.callback(site.tap("pre_attn").watch(self._stream(2 * layer)).remove)
                if "post_attn" in site.taps:
                    middle = site.tap("post_attn")
                    stack.callback(middle.watch(self._stream(2 * layer + 1)).remove)
                stack.callback(site.tap("mlp_out").watch(self._sent).remove)
            last = path.layout.sites[-1].tap("post_block")
            stack.callback(last.watch(self._end).remove)
            try:
                path.model(input_ids=ids, use_cache=False)
            except _Done:
                return self._own
        raise HookNeverFired("the last layer was not reached")

    def _called(self, args: Any, kwargs: Any) -> None:
        rest = {name: value for name, value in kwargs.items() if name != "hidden_states"}
        self.calls.append(LayerCall(args[1:], rest))

    def _stream(self, time: int) -> Any:
        def note(value: Tensor) -> None:
            self._own.streams[time] = value[0].clone()

        return note

    def _sent(self, value: Tensor) -> None:
        self._own.mlp_out.append(value[0].clone())

    def _end(self, value: Tensor) -> None:
        self._own.streams[2 * len(self._path.layout.sites)] = value[0].clone()
        raise _Done

    def _see(self, _layer: int, q: Tensor, k: Tensor, v: Tensor) -> None:
        self._own.heads.append((q[0].clone(), k[0].clone(), v[0].clone()))
