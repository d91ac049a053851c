"""Unpatched runs of several prompts laid end to end, so that their cells can share a chunk.

A cell needs of its own prompt's run: the residuals entering each layer, keys and values, attention
outputs, and what each layer was called with. Laid end to end, all of that is a row index away.
What layers are called with has to be alike but for what has one entry a position; models that are
called otherwise (`NotAlike`) have a chunk for each prompt.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sonde.backends.torch.nested import mapped
from sonde.backends.torch.packed.plan import KeysValues
from sonde.backends.torch.packed.trace import LayerCall, Trace, is_per_position


class NotAlike(Exception):
    """Two prompts' layers are called with different things: their rows cannot be mixed."""


def joined(traces: Sequence[Trace]) -> Trace:
    """The runs as one, prompt after prompt; each cell says which prompt is its own."""
    if len(traces) == 1:
        return traces[0]
    first = traces[0]
    n_layers = len(first.calls)
    known: dict[tuple[int, ...], LayerCall] = {}  # layers share what they are called with
    calls = []
    for layer in range(n_layers):
        each = [trace.calls[layer] for trace in traces]
        key = tuple(map(id, each))
        if key not in known:
            known[key] = _joined_call(each, traces)
        calls.append(known[key])
    lengths = tuple(length for trace in traces for length in trace.lengths)
    return Trace(
        tuple(token for trace in traces for token in trace.tokens),
        torch.cat([trace.residuals for trace in traces], 1),
        [
            KeysValues(
                torch.cat([trace.keys_values[i].keys for trace in traces]),
                torch.cat([trace.keys_values[i].values for trace in traces]),
            )
            for i in range(n_layers)
        ],
        # Runs are kept from one call to the next, and some were recorded with more than others.
        {
            hook: _joined_hook([trace.inside[hook] for trace in traces])
            for hook in first.inside
            if all(hook in trace.inside for trace in traces)
        },
        {
            layer: torch.cat([trace.attention[layer] for trace in traces])
            for layer in first.attention
            if all(layer in trace.attention for trace in traces)
        },
        calls,
        sum(lengths),
        lengths,
    )


def _joined_hook(values: Sequence[Tensor]) -> Tensor:
    """Activations at one hook, prompt after prompt; what has one number a token is padded."""
    width = max(each.shape[-1] for each in values)
    return torch.cat([F.pad(each, (0, width - each.shape[-1])) for each in values], 1)


def _joined_call(calls: Sequence[LayerCall], traces: Sequence[Trace]) -> LayerCall:
    """One call for the rows of all prompts."""
    leaves = [_leaves(call) for call in calls]
    if len(set(map(len, leaves))) != 1:
        raise NotAlike
    columns: Iterator[tuple[Tensor, ...]] = iter(zip(*leaves, strict=True))

    def join(_: Tensor) -> Tensor:
        values = next(columns)
        if all(is_per_position(v, t.n_rows) for v, t in zip(values, traces, strict=True)):
            dim = 0 if values[0].ndim == 1 else 1
            cut = [v.narrow(dim, 0, sum(t.lengths)) for v, t in zip(values, traces, strict=True)]
            return torch.cat(cut, dim)
        if any(value.shape != values[0].shape for value in values[1:]):
            raise NotAlike
        if not all(value is values[0] or torch.equal(value, values[0]) for value in values[1:]):
            raise NotAlike
        return values[0]

    first: LayerCall = mapped(calls[0], join)
    if any(_plain(call) != _plain(calls[0]) for call in calls[1:]):
        raise NotAlike
    return first


def _leaves(nest: object) -> list[Tensor]:
    """The tensors of a nest in the order in which `mapped` meets them."""
    found: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    mapped(nest, note)
    return found


def _plain(call: LayerCall) -> Any:
    """What a call says beside its tensors."""
    return mapped(call, lambda _tensor: None)
