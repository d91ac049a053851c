"""A loaded model, described."""

from typing import Literal

from pydantic import Field

from sonde.schema.base import Wire
from sonde.schema.site import HEAD_HOOKS, HOOK_TABLE, Hook


class SpecialToken(Wire):
    """A token that stands for no text."""

    id: int
    text: str
    """How the vocabulary spells it."""


class SpecialTokens(Wire):
    """What every prompt gets besides its text; a conversation gets what its template says."""

    before: list[SpecialToken]
    after: list[SpecialToken]


class HeadShape(Wire):
    """How many heads a model's attention has, and how wide they are."""

    heads: int
    """Query heads, and as many `z`, `q` and `pattern`."""
    kv_heads: int
    """Key and value heads, each read by `heads / kv_heads` query heads."""
    key_width: int
    value_width: int

    def count(self, hook: Hook) -> int:
        """How many values a position has at a hook."""
        return self.kv_heads if HOOK_TABLE[hook].per == "kv_head" else self.heads

    def width(self, hook: Hook, n_tokens: int) -> int:
        """How wide one of them is, in a prompt of so many tokens."""
        wide = HOOK_TABLE[hook].wide
        if wide == "prompt":
            return n_tokens
        return self.value_width if wide == "value" else self.key_width

    def readers(self, kv_head: int) -> list[int]:
        """The query heads that read a key head."""
        return [head for head in range(self.heads) if self.group(head) == kv_head]

    def group(self, head: int) -> int:
        """The key head that a query head reads."""
        return head * self.kv_heads // self.heads


class ModelDescription(Wire):
    """What a backend has loaded and what can be done with it."""

    name: str
    architecture: str
    backend: Literal["torch", "vllm"]
    n_layers: int
    width: int
    vocabulary: int
    max_tokens: int
    hooks: list[Hook]
    heads: HeadShape | None = Field(default=None, exclude_if=lambda value: value is None)
    """Where hooks have a value for each head; None where the model has no such hooks."""
    end_ids: list[int]
    """Tokens that end a completion."""
    special_tokens: SpecialTokens
    """Tokens that every prompt begins and ends with, as its own tokenizer adds them."""
    dtype: str
    device: str
    weights: str
    """Fingerprint of the weights."""
    path: Literal["packed", "whole_sequence"]
    """`packed` recomputes only what a patch can change; `whole_sequence` recomputes every position
    from the patched layer up, because some layer of this model is not plain attention."""
    path_reason: str | None
    """Why the path is not `packed`; None when it is."""
    exact: bool
    """A cell has the same bits alone, in any grid, in any chunking: tested when it was loaded."""
    exact_reason: str | None = None
    """Why not; or, where the test passed, what would make it certain and could not be had. None
    where there is nothing to say."""

    @property
    def layer_hooks(self) -> list[Hook]:
        """Those that have one value a position, and none for each head."""
        return [hook for hook in self.hooks if HOOK_TABLE[hook].per == "model"]

    def elsewhere(self, hook: str) -> str | None:
        """The backend that may have a hook that this one has not."""
        return "torch" if self.backend == "vllm" and hook in HOOK_TABLE else None

    def why_not(self, hook: str) -> str | None:
        """Why a model without plain attention in every layer has no hook of heads."""
        if hook not in HEAD_HOOKS or self.path_reason is None or self.backend != "torch":
            return None
        return f"heads are written inside Sonde's own attention, and {self.path_reason}"

    def hook_width(self, hook: Hook, n_tokens: int) -> int:
        """Numbers that one position has at a hook, in a prompt of so many tokens."""
        if HOOK_TABLE[hook].per == "model":
            return self.width
        assert self.heads is not None, "only models with heads have hooks of heads"
        return self.heads.count(hook) * self.heads.width(hook, n_tokens)


class ModelEntry(Wire):
    """A model as OpenAI's API lists it."""

    id: str
    object: Literal["model"] = "model"
    created: int
    """When the server began to offer it, in seconds since 1970."""
    owned_by: Literal["sonde"] = "sonde"
    max_model_len: int | None = None
    """Tokens; null for one that is not loaded."""
    loaded: bool = Field(default=True, exclude_if=lambda value: value)
    """Left out where it is; false where the first request that names it loads it."""


class ModelList(Wire):
    """The models a server offers."""

    object: Literal["list"] = "list"
    data: list[ModelEntry]
