"""Which heads of a layer a rank has, and how wide what it has of a position is.

Tensor parallelism deals the query heads out in order, and the key heads with them. Where there are
more shares than key heads, neighbours hold copies of one. Everything that is not of heads is whole
on every share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sonde.schema import HOOK_TABLE, HeadShape, Hook

_KERNEL: Final = (
    "num_heads",
    "num_kv_heads",
    "head_size",
    "head_size_v",
    "kv_sharing_target_layer_name",
)
"""What vLLM's attention says of itself."""


@dataclass(frozen=True)
class Shard:
    """One share of the tensors, of so many."""

    width: int
    """Of the model."""
    heads: HeadShape | None = None
    """Of the whole model; None where it has no hooks of heads."""
    share: int = 0
    shares: int = 1

    def held(self, hook: Hook) -> range:
        """The heads that this share has, under their numbers in the whole model."""
        assert self.heads is not None, "only models with heads have hooks of heads"
        n = self.heads.count(hook)
        first = self.share * n // self.shares
        return range(first, max(first + 1, (self.share + 1) * n // self.shares))

    def place(self, hook: Hook, head: int | None) -> int | None:
        """Where a head is among those held; None for one of another share, or where none is."""
        if HOOK_TABLE[hook].per == "model" or head is None:
            return None
        held = self.held(hook)
        return head - held.start if head in held else None

    def has(self, hook: Hook, head: int | None) -> bool:
        """Whether this share has that value: all shares have what is not of a head."""
        return HOOK_TABLE[hook].per == "model" or self.place(hook, head) is not None

    def value_width(self, hook: Hook) -> int:
        """Numbers of one value: of one head, where the hook has some."""
        if HOOK_TABLE[hook].per == "model":
            return self.width
        assert self.heads is not None, "only models with heads have hooks of heads"
        return self.heads.width(hook, 0)

    def row_width(self, hook: Hook) -> int:
        """Numbers that this share has of a position: its heads end to end."""
        heads = 1 if HOOK_TABLE[hook].per == "model" else len(self.held(hook))
        return heads * self.value_width(hook)


def shape_of(attentions: Sequence[Any], share: int, shares: int) -> HeadShape | None:
    """The heads of the whole model, by what one rank's attention modules say of themselves.

    None unless all say the same, use keys of their own, and hold what `Shard` says that they hold.
    """
    told = {_told(attention) for attention in attentions}
    found = told.pop() if len(told) == 1 else None
    if found is None:
        return None
    shape, heads, kv_heads = found
    mine = Shard(0, shape, share, shares)
    return shape if (len(mine.held("q")), len(mine.held("k"))) == (heads, kv_heads) else None


def _told(attention: Any) -> tuple[HeadShape, int, int] | None:
    """The heads of the whole model, and how many of them are here."""
    kernel: Any = getattr(attention, "attn", None)
    if not hasattr(attention, "o_proj") or not all(hasattr(kernel, name) for name in _KERNEL):
        return None
    if kernel.kv_sharing_target_layer_name is not None:  # it reads another layer's keys
        return None
    shape = HeadShape(
        heads=attention.total_num_heads,
        kv_heads=attention.total_num_kv_heads,
        key_width=kernel.head_size,
        value_width=kernel.head_size_v,
    )
    return shape, kernel.num_heads, kernel.num_kv_heads
