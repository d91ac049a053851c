"""Many prompts at once, unpatched: their activations at a hook, and their cross-entropy.

For gathering a training set and for judging a reconstruction, where millions of tokens go through
the model and no two runs share anything. So it is the model's own batched forward pass with its own
attention, and not the packed path: faster for this, equal to it up to rounding, and without its
promise about bits.

Prompts shorter than the batch are padded on the right. A causal model's positions do not see what
comes after them, so no mask is needed and what is padding is the caller's to know.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from sonde.backends.torch.layout import LayerSites, Layout
from sonde.backends.torch.packed import attention
from sonde.backends.torch.packed.unembedding import Unembedding
from sonde.backends.torch.path import Path
from sonde.errors import HookNeverFired, LayerOutOfRange, UnknownHook
from sonde.schema import HOOK_TABLE, Hook

Rewrite = Callable[[Tensor], Tensor]
"""Activations [prompts, positions, width] to what the model shall go on with."""


@dataclass(frozen=True)
class Splice:
    """Something put in the place of the activations at one hook of one layer."""

    hook: Hook
    layer: int
    rewrite: Rewrite


class _Enough(Exception):
    """Raised when every activation that was asked for is known."""


class Reader:
    """Runs batches of prompts through a loaded model."""

    def __init__(self, path: Callable[[], Path], tokenizer: PreTrainedTokenizerBase) -> None:
        """`path` has the model, its layout and what comes after its layers, as they are now."""
        self._path = path
        self.tokenizer = tokenizer
        self._look()

    def _look(self) -> None:
        """The model may have been trained since the reader was last used."""
        path = self._path()
        self.model: PreTrainedModel = path.model
        self._layout: Layout = path.layout
        self._unembedding: Unembedding = path.unembedding

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        device: torch.device = self.model.device
        return device

    def activations(self, ids: Tensor, hook: Hook, layers: Sequence[int]) -> dict[int, Tensor]:
        """Token ids [prompts, positions] -> for each layer [prompts, positions, width].

        The model is left after the last of the layers: nothing above it is computed.
        """
        self._look()
        found: dict[int, Tensor] = {}

        def note(layer: int) -> Rewrite:
            def keep(activations: Tensor) -> Tensor:
                found[layer] = activations.clone()
                if len(found) == len(set(layers)):
                    raise _Enough
                return activations

            return keep

        splices = [Splice(hook, layer, note(layer)) for layer in sorted(set(layers))]
        with suppress(_Enough):
            self._run(ids, splices)
        missing = sorted(set(layers) - set(found))
        if missing:
            raise HookNeverFired(f"{hook} was not reached in layers {missing}")
        return found

    def cross_entropy(
        self, ids: Tensor, splice: Splice | None = None, known: Tensor | None = None
    ) -> Tensor:
        """Minus the log-probability of each next token, in nats: [prompts, positions − 1].

        With a splice, the model goes on with what the splice made of the activations there. Where
        those of a layer's `post_block` are `known`, the layers up to it are not run again.
        """
        self._look()
        final: list[Tensor] = []
        fired = 0

        def leave(residual: Tensor) -> Tensor:
            final.append(residual)
            raise _Enough

        def counted(activations: Tensor) -> Tensor:
            nonlocal fired
            fired += 1
            assert splice is not None
            return splice.rewrite(activations if known is None else known.to(activations))

        splices = [Splice("post_block", len(self._layout.sites) - 1, leave)]
        with ExitStack() as stack:
            if splice is not None:
                splices.insert(0, Splice(splice.hook, splice.layer, counted))
                if known is not None:
                    assert HOOK_TABLE[splice.hook].enters == 1
                    stack.enter_context(skipped(self._layout, splice.layer + 1))
            stack.enter_context(suppress(_Enough))
            self._run(ids, splices)
        if splice is not None and fired != 1:
            raise HookNeverFired(
                f"{splice.hook} of layer {splice.layer} was reached {fired} times instead of once"
            )
        return self._next_token_loss(final[0], ids)

    @torch.inference_mode()
    def logits(self, final: Tensor) -> Tensor:
        """What the model says after final residuals [n, width]: [n, vocabulary], float32."""
        self._look()
        return self._unembedding.distribution(final.to(self.device, self.model.dtype))[0]

    def tokens_of(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of many texts, without special tokens, on as many cores as there are."""
        if not texts:
            return []
        ids: list[list[int]] = self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        return ids

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The text of each token by itself, special tokens by their names."""
        return [self.tokenizer.decode([token], clean_up_tokenization_spaces=False) for token in ids]

    @torch.inference_mode()
    def _next_token_loss(self, final: Tensor, ids: Tensor) -> Tensor:
        rows = final[:, :-1].reshape(-1, final.shape[-1])
        targets = ids[:, 1:].reshape(-1).to(rows.device)
        parts = []
        for start in range(0, len(rows), ROWS):
            logits, normaliser = self._unembedding.distribution(rows[start : start + ROWS])
            wanted = logits.gather(1, targets[start : start + ROWS, None])[:, 0]
            parts.append(normaliser - wanted)
        return torch.cat(parts).view(ids.shape[0], -1)

    @torch.inference_mode()
    def _run(self, ids: Tensor, splices: Sequence[Splice]) -> None:
        with ExitStack() as stack:
            for splice in splices:
                site = self.check_site(splice.hook, splice.layer)
                stack.callback(site.tap(splice.hook).rewrite(splice.rewrite).remove)
            stack.enter_context(own_attention(self.model))
            self.model(input_ids=ids.to(self.device), use_cache=False)

    def check_site(self, hook: Hook, layer: int) -> LayerSites:
        """The modules of a layer, if the model has that hook and that layer."""
        if hook not in self._layout.hooks:
            raise UnknownHook(hook, self._layout.hooks)
        if not 0 <= layer < len(self._layout.sites):
            raise LayerOutOfRange(layer, len(self._layout.sites))
        return self._layout.sites[layer]


ROWS = 1024
"""Positions whose logits over the whole vocabulary exist at a time."""


@contextmanager
def own_attention(model: PreTrainedModel) -> Iterator[None]:
    """Inside the block the model attends as it would without Sonde."""
    if model.config._attn_implementation != attention.NAME:
        yield
        return
    model.set_attn_implementation(attention.of_its_own(model))
    try:
        yield
    finally:
        model.set_attn_implementation(attention.NAME)


@contextmanager
def skipped(layout: Layout, n: int) -> Iterator[None]:
    """Inside the block the first `n` layers hand on what they are given; hooks still fire."""

    def hand_on(hidden: Tensor, *_args: Any, **_kwargs: Any) -> object:
        if layout.tuple_of is None:
            return hidden
        return (hidden, *[None] * (layout.tuple_of - 1))

    layers = layout.layers[:n]
    for layer in layers:
        layer.forward = hand_on
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward
