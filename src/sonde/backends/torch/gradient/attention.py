"""Attention of whole prompts that a gradient can go back through, and that shows its parts.

The packed path's own function writes into memory that it has laid out, which no gradient survives.
This one is plain: every query sees all keys up to its own. What it computes with and what it
returns is noted, layer by layer, so that gradients at heads need no code per architecture.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedModel

from sonde.backends.torch.packed.attention import HARMLESS
from sonde.backends.torch.packed.attention import NAME as PACKED
from sonde.backends.torch.packed.plan import UnsupportedAttention
from sonde.backends.torch.packed.style import Style
from sonde.schema import Hook

NAME: Final = "sonde_gradient"


@dataclass
class Noted:
    """What one forward pass showed of its heads."""

    layer_of: dict[int, int]
    """id of a module -> its layer."""
    wanted: frozenset[tuple[Hook, int]] = frozenset()
    """The hooks of heads that are noted, with their layers."""
    at: dict[tuple[Hook, int], Tensor] = field(default_factory=dict)
    """[prompts, heads, positions, width]; of patterns, a weight for each key. Keys and values are
    noted as each query head sees them."""
    styles: dict[int, Style] = field(default_factory=dict)
    """How each layer attends."""
    instead: Callable[[int, Tensor, Tensor, Tensor], Tensor | None] = lambda *_: None
    """Layer, queries, keys and values, as a module gives them -> what attention shall return in
    place of what it computes; None: what it computes."""

    def note(self, hook: Hook, layer: int, value: Tensor) -> Tensor:
        """The value, to be used in place of the one given: nothing else reads this very tensor."""
        if (hook, layer) not in self.wanted:
            return value
        self.at[hook, layer] = value.view_as(value)
        return self.at[hook, layer]


_current: ContextVar[Noted | None] = ContextVar("sonde_noted", default=None)


@contextmanager
def noting(model: PreTrainedModel, noted: Noted) -> Iterator[None]:
    """Inside the block the model attends by this function, and `noted` is filled."""
    before: str = model.config._attn_implementation
    replaced = before == PACKED  # a model whose attention cannot be replaced keeps its own
    token = _current.set(noted)
    if replaced:
        AttentionInterface.register(NAME, attend)
        model.set_attn_implementation(NAME)
    try:
        yield
    finally:
        if replaced:
            model.set_attn_implementation(before)
        _current.reset(token)


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """The registered function. [prompts, heads, T, width] -> [prompts, T, heads, width]."""
    noted = _current.get()
    strange = [name for name, given in kwargs.items() if given is not None and name not in HARMLESS]
    if noted is None or attention_mask is not None or strange:
        raise UnsupportedAttention(f"attention with {strange or 'a mask of its own'}")
    layer = noted.layer_of[id(module)]
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    style = noted.styles[layer] = Style(scale, sliding_window, softcap, s_aux)
    instead = noted.instead(layer, query, key, value)
    if instead is not None:
        return instead, None
    group = query.shape[1] // key.shape[1]
    queries = noted.note("q", layer, query)
    keys = noted.note("k", layer, key.repeat_interleave(group, 1))
    values = noted.note("v", layer, value.repeat_interleave(group, 1))
    if ("pattern", layer) in noted.wanted:
        weights = noted.note("pattern", layer, _weights(queries, keys, style).to(values.dtype))
        mixed = weights @ values
    else:
        mixed = attended(queries, keys, values, style)
    # Heads before positions again, as a module reads them: noted where nothing else reads it.
    return noted.note("z", layer, mixed).transpose(1, 2).contiguous(), None


def attended(queries: Tensor, keys: Tensor, values: Tensor, style: Style) -> Tensor:
    """What heads make of whole prompts, keys and values one for each query head."""
    if style.plain:
        scale = style.scale
        return F.scaled_dot_product_attention(queries, keys, values, is_causal=True, scale=scale)
    return _weights(queries, keys, style).to(values.dtype) @ values


def _weights(queries: Tensor, keys: Tensor, style: Style) -> Tensor:
    """What each position attends to, in float32: [prompts, heads, T, T]."""
    scores = queries @ keys.transpose(-1, -2) * style.scale
    if style.softcap is not None:
        scores = torch.tanh(scores / style.softcap) * style.softcap
    at = torch.arange(scores.shape[-1], device=scores.device)
    hidden = at[None, :] > at[:, None]
    if style.window is not None:
        hidden |= at[None, :] <= at[:, None] - style.window
    scores = scores.masked_fill(hidden, float("-inf"))
    if style.sinks is None:
        return torch.softmax(scores, -1, dtype=torch.float32)
    sink = style.sinks.to(scores.dtype).view(1, -1, 1, 1).expand(*scores.shape[:-1], 1)
    return torch.softmax(torch.cat([scores, sink], -1), -1, dtype=torch.float32)[..., :-1]
