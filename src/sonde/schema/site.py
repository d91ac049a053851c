"""What a hook is: the one table of it. Everybody looks here; nobody compares names.

A new hook is a new line of this table. What a backend must know beside it, which module stands for
it in this model, is the backend's to find.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, get_args

Hook = Literal[
    "pre_attn", "post_attn", "post_block", "mlp_in", "mlp_out", "attn_out",
    "z", "q", "k", "v", "pattern",
]  # fmt: skip

HOOKS: Final[tuple[Hook, ...]] = get_args(Hook)

Reach = Literal["stream", "position", "suffix"]
"""What a write changes inside its own layer: nothing, because it changes what enters a layer
(`stream`) · its own position only, because no attention of that layer sees it (`position`) · every
position from its own on (`suffix`)."""

Per = Literal["model", "head", "kv_head"]
"""Whether there is one value a position, one for each query head, or one for each key head."""


_ADDED: Final = 5
"""The step at which a layer has added its attention to the stream."""


@dataclass(frozen=True)
class HookSpec:
    """One point of a layer where an activation can be read and written."""

    name: Hook
    step: int
    """When a layer reaches it, counted within the layer."""
    reach: Reach
    per: Per
    is_stream: bool
    """Whether the value is the residual stream itself, and not a branch or an input made of it."""
    enters: Literal[0, 1] | None
    """The value is what enters this layer (0), or the next (1); None: it is inside the layer."""
    meaning: str
    classic: bool = True
    """Whether the patching contract knows it: the other hooks are for general sweeps."""
    attention: Literal["in", "out"] | None = None
    """What the attention function computes with (`in`), what it returns (`out`), or neither."""
    stays: bool = False
    """Its value holds for its own position only (rotary angles, one weight a key): written to
    another position it would be a different thing."""
    wide: Literal["model", "key", "value", "prompt"] = "model"
    """How wide a value is: as the residual stream, a key, a value, or with one number a token."""
    sends: bool = False
    """Whether an edge may begin here: it is what one head or one MLP adds to the stream."""
    receives: bool = False
    """Whether an edge may end here: it is made anew from the stream."""

    @property
    def half(self) -> Literal[0, 1]:
        """Which half of a layer it belongs to: the MLP (1), or attention before it.

        What enters a layer is read by its first half.
        """
        return 1 if self.enters is None and self.step > _ADDED else 0


_TABLE = (
    HookSpec("pre_attn", 0, "stream", "model", True, 0, "residual stream entering the layer"),
    HookSpec(
        "post_attn", _ADDED, "position", "model", True, None,
        "residual stream after attention",
    ),
    HookSpec("post_block", 8, "stream", "model", True, 1, "residual stream leaving the layer"),
    HookSpec("mlp_in", 6, "position", "model", False, None, "normalised MLP input"),
    HookSpec(
        "mlp_out", 7, "position", "model", False, None,
        "MLP output, before it is added back", sends=True, receives=True,
    ),
    HookSpec(
        "attn_out", 4, "position", "model", False, None,
        "attention branch, before it is added back", classic=False,
    ),
    HookSpec(
        "z", 3, "position", "head", False, None,
        "a head's weighted sum of values, before the output projection",
        classic=False, attention="out", wide="value", sends=True,
    ),
    HookSpec(
        "q", 1, "position", "head", False, None, "a head's query, after norm and rotary angles",
        classic=False, attention="in", stays=True, wide="key", receives=True,
    ),
    HookSpec(
        "k", 1, "suffix", "kv_head", False, None, "a head's key, after norm and rotary angles",
        classic=False, attention="in", stays=True, wide="key", receives=True,
    ),
    HookSpec(
        "v", 1, "suffix", "kv_head", False, None, "a head's value",
        classic=False, attention="in", wide="value", receives=True,
    ),
    HookSpec(
        "pattern", 2, "position", "head", False, None,
        "what a head attends to from a position: weights after the softmax, one a key",
        classic=False, attention="in", stays=True, wide="prompt",
    ),
)  # fmt: skip

HOOK_TABLE: Final[Mapping[Hook, HookSpec]] = MappingProxyType({spec.name: spec for spec in _TABLE})
"""By name, in the order in which they are offered."""

INSIDE: Final[tuple[Hook, ...]] = tuple(
    spec.name for spec in sorted(_TABLE, key=lambda spec: spec.step) if spec.enters is None
)
"""Hooks inside a layer, in the order in which it reaches them; the others are its two edges."""

CLASSIC_HOOKS: Final[tuple[Hook, ...]] = tuple(spec.name for spec in _TABLE if spec.classic)
"""Those that the patching contract knows."""

HEAD_HOOKS: Final[tuple[Hook, ...]] = tuple(spec.name for spec in _TABLE if spec.per != "model")
"""Those with a value for each head."""

SENDING: Final[tuple[Hook, ...]] = tuple(
    spec.name for spec in sorted(_TABLE, key=lambda spec: spec.step) if spec.sends
)
"""Where edges begin, beside the embedding, in the order in which a layer reaches them."""

RECEIVING: Final[tuple[Hook, ...]] = tuple(
    spec.name for spec in sorted(_TABLE, key=lambda spec: spec.step) if spec.receives
)
"""Where edges end, beside the last residual, likewise."""

LAYER_HOOKS: Final[tuple[Hook, ...]] = tuple(spec.name for spec in _TABLE if spec.per == "model")
"""Those with one value a position."""
