"""Reads the residual stream of chosen tokens, in the forward passes it is told to and in no other.

Hooks stay on the layers for the whole run and do nothing outside `reading`. A trainer's model runs
for many reasons (generation, old log-probabilities, the reference, evaluation, and once more in the
backward pass when gradients are checkpointed); only the pass inside the block is read.

What is kept is a copy of the chosen rows: no graph, no dense activation, and no wait for the
device. Every layer reads the same tokens, once. Which modules are layers is told by their
structure, never by a name.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from sonde.backends.torch.hooking import edge_tap
from sonde.errors import BadTrainer, EngineError, HookNeverFired, LayerOutOfRange
from sonde.schema import HOOK_TABLE


@dataclass(frozen=True, eq=False)
class Tokens:
    """Which tokens of a batch [rows, positions] to read, as two index tensors of one length."""

    rows: Tensor
    positions: Tensor

    def __len__(self) -> int:
        """How many."""
        return len(self.rows)


class Recorder:
    """Hooks on some layers of one model."""

    def __init__(self, layers: Mapping[int, nn.Module], sites: Mapping[int, str]) -> None:
        self._tokens: Tokens | None = None
        self._found: dict[int, Tensor] = {}
        self._handles = [
            self._install(index, module, sites[index]) for index, module in layers.items()
        ]
        self._layers = frozenset(layers)

    def remove(self) -> None:
        """Take the hooks off."""
        for handle in self._handles:
            handle.remove()

    @contextmanager
    def reading(self, tokens: Tokens) -> Iterator[dict[int, Tensor]]:
        """Read these tokens in the one forward pass inside the block. -> {layer: [tokens, width]}

        The dictionary is filled when the block ends.
        """
        if self._tokens is not None:
            raise EngineError("a forward pass is being read already")
        self._tokens, self._found = tokens, {}
        result: dict[int, Tensor] = {}
        try:
            yield result
            self._check()
            result.update(sorted(self._found.items()))
        finally:
            self._tokens, self._found = None, {}

    def _check(self) -> None:
        if missing := sorted(self._layers - set(self._found)):
            raise HookNeverFired(
                f"layers {missing} did not run in the pass that was to be read; "
                "the trainer may have replaced or compiled the model after training began"
            )

    def _install(self, index: int, module: nn.Module, site: str) -> RemovableHandle:
        spec = next((spec for spec in HOOK_TABLE.values() if spec.name == site), None)
        if spec is None or spec.enters is None:
            edges = [spec.name for spec in HOOK_TABLE.values() if spec.enters is not None]
            raise BadTrainer(
                f"the dictionary of layer {index} reads at {site!r}; "
                f"the sidecar reads the residual stream: {' or '.join(reversed(edges))}"
            )

        def note(hidden: Tensor) -> None:
            if self._tokens is not None:
                self._read(index, hidden, self._tokens)

        return edge_tap(module, spec.name).watch(note)

    def _read(self, index: int, hidden: Tensor, tokens: Tokens) -> None:
        if index in self._found:
            raise EngineError(f"layer {index} ran twice in the pass that is being read")
        with torch.no_grad():
            rows = tokens.rows.to(hidden.device, non_blocking=True)
            positions = tokens.positions.to(hidden.device, non_blocking=True)
            self._found[index] = hidden.detach()[rows, positions]


def decoder_layers(model: Any) -> nn.ModuleList:
    """The layers of a causal language model, wrapped or not."""
    wanted = model.config.get_text_config().num_hidden_layers
    roots = [_decoder(model), model]
    for root in roots:
        for module in root.modules():
            if isinstance(module, nn.ModuleList) and len(module) == wanted:
                return module
    raise BadTrainer(
        f"{type(model).__name__} has no list of {wanted} layers, as its configuration says; "
        "the sidecar reads decoder models of the transformers library"
    )


def chosen(model: Any, indices: Sequence[int]) -> dict[int, nn.Module]:
    """The layers with these numbers."""
    layers = decoder_layers(model)
    for index in indices:
        if not 0 <= index < len(layers):
            raise LayerOutOfRange(index, len(layers))
    return {index: layers[index] for index in indices}


def _decoder(model: Any) -> nn.Module:
    """The text part, where a model can say which it is: a vision tower has layers too."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    found: nn.Module = inner.get_decoder() if hasattr(inner, "get_decoder") else inner
    return found if isinstance(found, nn.Module) else model
