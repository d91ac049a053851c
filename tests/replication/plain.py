"""The cells of a replication once more, with forward hooks on an ordinary model and nothing else.

Nothing of Sonde's engine is here: prompts are tokenized by the model's own tokenizer, and each cell
is a whole forward pass of the corrupt prompt with one activation replaced. Slow, and easy to read.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from sonde.schema.pair import PromptPair


@dataclass(frozen=True)
class Plain:
    """A Llama of transformers, and its tokenizer."""

    model: Any
    tokenizer: Any

    def tokens(self, prompt: object) -> Tensor:
        """A prompt as the model reads it."""
        assert isinstance(prompt, str)
        return torch.tensor([self.tokenizer(prompt, add_special_tokens=False)["input_ids"]])

    @torch.no_grad()
    def difference(self, tokens: Tensor, pair: PromptPair) -> float:
        """The answer's logit minus the foil's."""
        answer, foil = (self.tokens(each)[0, -1] for each in (pair.answer, pair.foil))
        logits = self.model(tokens).logits[0, -1].double()
        return float(logits[answer] - logits[foil])

    def recovered(self, pair: PromptPair, patched: float) -> tuple[float, float]:
        """What a patched run brings back, and the gap, in logits."""
        clean = self.difference(self.tokens(pair.clean), pair)
        corrupt = self.difference(self.tokens(pair.corrupt), pair)
        return patched - corrupt, clean - corrupt

    def heads(self, pair: PromptPair, heads: list[tuple[int, int]]) -> float:
        """The corrupt run with what these heads write taken from the clean one, everywhere."""
        width = self.model.config.head_dim
        kept: dict[int, Tensor] = {}
        layers = sorted({layer for layer, _ in heads})
        inputs = {layer: self._layer(layer).self_attn.o_proj for layer in layers}
        with _read(inputs, kept):
            self.difference(self.tokens(pair.clean), pair)

        def write(layer: int, x: Tensor) -> Tensor:
            x = x.clone()
            for where, head in heads:
                if where == layer:
                    part = slice(head * width, (head + 1) * width)
                    x[..., part] = kept[layer][..., part]
            return x

        with _written(inputs, write):
            return self.difference(self.tokens(pair.corrupt), pair)

    def stream(self, pair: PromptPair, layer: int, position: int) -> float:
        """The corrupt run with the stream that leaves a layer taken from the clean one there."""
        kept: dict[int, Tensor] = {}

        def read(_module: nn.Module, _inputs: object, output: Any) -> None:
            kept[layer] = _first(output).clone()

        handle = self._layer(layer).register_forward_hook(read)
        try:
            self.difference(self.tokens(pair.clean), pair)
        finally:
            handle.remove()

        def replace(_module: nn.Module, _inputs: object, output: Any) -> Any:
            x = _first(output).clone()
            x[:, position] = kept[layer][:, position]
            return (x, *output[1:]) if isinstance(output, tuple) else x

        handle = self._layer(layer).register_forward_hook(replace)
        try:
            return self.difference(self.tokens(pair.corrupt), pair)
        finally:
            handle.remove()

    def _layer(self, layer: int) -> Any:
        return self.model.model.layers[layer]


def _first(output: Any) -> Tensor:
    found: Tensor = output[0] if isinstance(output, tuple) else output
    return found


@contextmanager
def _read(modules: dict[int, Any], kept: dict[int, Tensor]) -> Iterator[None]:
    """Keep what goes into each module."""

    def hook(layer: int) -> Any:
        def keep(_module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            kept[layer] = inputs[0].clone()

        return keep

    handles = [m.register_forward_pre_hook(hook(layer)) for layer, m in modules.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _written(modules: dict[int, Any], write: Any) -> Iterator[None]:
    """Replace what goes into each module."""

    def hook(layer: int) -> Any:
        def put(_module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            return (write(layer, inputs[0]), *inputs[1:])

        return put

    handles = [m.register_forward_pre_hook(hook(layer)) for layer, m in modules.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
