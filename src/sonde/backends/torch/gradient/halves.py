"""One layer by itself, on the stream that entered it: what its receivers make of that, and no more.

Its attention returns what it returned in the whole pass, so that queries, keys and values lead to
nothing else, and what its MLP returns hangs on the stream alone. Gradients then go back from one
receiver through its own projection and norm to the stream that it reads.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from sonde.backends.torch.gradient.attention import Noted, noting
from sonde.backends.torch.gradient.forward import Passed, with_gradients
from sonde.backends.torch.path import Path
from sonde.errors import HookNeverFired
from sonde.schema import Hook


class _Done(Exception):
    """Raised inside a layer to leave it."""


@dataclass(frozen=True)
class Half:
    """What the receivers of a layer have, with the graphs that lead there."""

    stream: Tensor
    """What enters the layer: [prompts, positions, width]."""
    at: dict[Hook, Tensor]
    """`q`, `k`, `v` [prompts, heads, positions, width]; `mlp_out` [prompts, positions, width]."""

    def back(self, hook: Hook, gradient: Tensor) -> Tensor:
        """The gradient of the stream, given that of what a receiver has: as `stream`."""
        [found] = torch.autograd.grad(
            self.at[hook], self.stream, gradient, retain_graph=True, allow_unused=True
        )
        return torch.zeros_like(self.stream) if found is None else found


def half_of(path: Path, layer: int, passed: Passed) -> Half:
    """Run a layer again on what entered it, as far as its MLP."""
    site, at = path.layout.sites[layer], dict[Hook, Tensor]()
    mixed = passed.at["z", layer].detach().transpose(1, 2).contiguous()
    args, kwargs = passed.calls[layer]

    def instead(_layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        at["q"], at["k"], at["v"] = query, key, value
        return mixed

    def stop(value: Tensor) -> None:
        at["mlp_out"] = value
        raise _Done

    noted = Noted(path.layout.layer_of, instead=instead)
    with with_gradients(), noting(path.model, noted):
        stream = passed.at["pre_attn", layer].detach().clone().requires_grad_()
        handle = site.tap("mlp_out").watch(stop)
        try:
            site.layer(stream, *args, **kwargs)
        except _Done:
            return Half(stream, at)
        finally:
            handle.remove()
    raise HookNeverFired(f"mlp_out was not reached in layer {layer}")
