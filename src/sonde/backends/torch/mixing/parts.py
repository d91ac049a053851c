"""The parts of a layer one by one, each on streams of its own: what a head or an MLP makes of one.

A layer is called as the model calls it, and left the moment that what is wanted is known. Its norms
are its own and always recomputed; no architecture has code of its own here.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sonde.backends.torch.gradient.attention import Noted, attended, noting
from sonde.backends.torch.hooking import first_tensor
from sonde.backends.torch.packed.style import Style
from sonde.backends.torch.packed.trace import LayerCall
from sonde.backends.torch.path import Path
from sonde.errors import HookNeverFired

TOKENS = 4096
"""Tokens that go through a layer at a time."""
LINEAR = {torch.float32: 1e-3, torch.float16: 2e-2, torch.bfloat16: 1e-1}
"""How far the double of a change may be from twice it, of its size, where heads add up."""

QueriesKeysValues = tuple[Tensor, Tensor, Tensor]
"""[streams, heads, positions, width] each; keys and values as many as the model has."""


class _Enough(Exception):
    """Raised when what is wanted of a layer is known."""


@dataclass(frozen=True)
class Parts:
    """The layers of a model, as they are called for prompts of one length."""

    path: Path
    calls: Sequence[LayerCall]
    styles: Sequence[Style]
    noted: Noted

    @contextmanager
    def open(self) -> Iterator[None]:
        """Inside the block layers may be called."""
        with noting(self.path.model, self.noted):
            yield

    def queries_keys_values(self, layer: int, streams: Tensor) -> QueriesKeysValues:
        """What a layer's attention is called with: streams are [streams, positions, width]."""
        parts = [self._queries_keys_values(layer, some) for some in self._some(streams)]
        q, k, v = (torch.cat(each)[: len(streams)] for each in zip(*parts, strict=True))
        return q, k, v

    def mixed(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """What heads make of them, before the output projection: like queries."""
        group = queries.shape[1] // keys.shape[1]
        keys, values = keys.repeat_interleave(group, 1), values.repeat_interleave(group, 1)
        return attended(queries, keys, values, self.styles[layer])

    def attn_out(self, layer: int, z: Tensor) -> Tensor:
        """What a layer's attention adds to the stream: [runs, heads, positions, width] -> streams.

        Projection and norm, where one follows, are of all heads at once.
        """
        return torch.cat([self._attn_out(layer, some) for some in self._some(z)])[: len(z)]

    def mlp_out(self, layer: int, streams: Tensor) -> Tensor:
        """What a layer's MLP adds to the stream."""
        made = [self._mlp_out(layer, some) for some in self._some(streams)]
        return torch.cat(made)[: len(streams)]

    def adds_up(self, layer: int, z: Tensor) -> bool:
        """Whether what heads add to the stream is a sum over them: no norm follows them."""
        nothing, once, twice = self.attn_out(layer, torch.cat([z * 0, z, z * 2])).float()
        bound = LINEAR[z.dtype] * float((once - nothing).abs().max())
        return float((twice - nothing - 2 * (once - nothing)).abs().max()) <= bound

    def _some(self, runs: Tensor) -> Sequence[Tensor]:
        """A few at a time, filled up to whole groups of rows: see `packed.rows`."""
        positions, multiple = runs.shape[-2], self.path.shape.multiple
        whole = multiple // math.gcd(multiple, positions)
        short = -len(runs) % whole
        filled = torch.cat([runs, runs[-1:].expand(short, *runs.shape[1:])]) if short else runs
        return torch.split(filled, max(1, TOKENS // positions // whole) * whole)

    def _queries_keys_values(self, layer: int, streams: Tensor) -> QueriesKeysValues:
        found: list[QueriesKeysValues] = []

        def see(_layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            found.append((q, k, v))
            raise _Enough

        self._call(layer, streams, see)
        return found[0]

    def _attn_out(self, layer: int, z: Tensor) -> Tensor:
        site = self.path.layout.sites[layer]
        found: list[Tensor] = []
        made = z.transpose(1, 2).contiguous()
        stream = z.new_zeros(*made.shape[:2], self._width)  # so that nothing else is added

        def done(value: Tensor) -> None:
            found.append(value.clone())
            raise _Enough

        with ExitStack() as stack:
            if "post_attn" in site.taps:
                stack.callback(site.tap("post_attn").watch(done).remove)
            else:
                stack.callback(site.tap("mlp_out").rewrite(torch.zeros_like).remove)
            returned = self._call(layer, stream, lambda *_: made)
        return found[0] if returned is None else returned

    def _mlp_out(self, layer: int, streams: Tensor) -> Tensor:
        site, heads = self.path.layout.sites[layer], self.path.layout.heads
        found: list[Tensor] = []
        assert heads is not None

        def done(value: Tensor) -> None:
            found.append(value.clone())
            raise _Enough

        entering = streams
        with ExitStack() as stack:
            if "post_attn" in site.taps:  # one stream is enough to get there
                entering = streams[:1] * 0
                middle = replace(site.tap("post_attn"), is_stream=False)
                stack.callback(middle.rewrite(lambda _given: streams).remove)
            nothing = streams.new_zeros(*entering.shape[:2], heads.heads, heads.value_width)
            stack.callback(site.tap("mlp_out").watch(done).remove)
            self._call(layer, entering, lambda *_: nothing)
        return found[0]

    @property
    def _width(self) -> int:
        width: int = self.path.model.get_input_embeddings().weight.shape[1]
        return width

    def _call(
        self, layer: int, streams: Tensor, instead: Callable[..., Tensor | None]
    ) -> Tensor | None:
        """What the layer returns; None where it was left before."""
        call = self.calls[layer]
        self.noted.instead = instead
        try:
            returned = first_tensor(
                self.path.layout.layers[layer](streams, *call.args, **call.kwargs)
            )
        except _Enough:
            return None
        if returned is None:
            raise HookNeverFired(f"layer {layer} returned nothing")
        return returned
