"""Circuits the ordinary way: whole forward passes with plain hooks, one for every receiver.

Nothing of the product is used but the names of nodes. Every receiver's stream is added up sender by
sender, put in front of its layer, and what it makes there is read off. No shortcut is taken.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from sonde.nodes import Graph, Node
from tests.architectures import Parts
from tests.backends.torch.head_reference import HeadEdit, HeadReference

Edges = set[tuple[str, str]]


class CircuitReference(HeadReference):
    """A plain model in which every receiver reads a mixture of its own."""

    def __init__(self, model: PreTrainedModel, parts: Parts, graph: Graph) -> None:
        super().__init__(model)
        self._parts, self._graph = parts, graph
        self._layers = parts.layers_of(model)

    @torch.inference_mode()
    def run(
        self, outside: Sequence[int], inside: Sequence[int], edges: Edges, ids: Sequence[int]
    ) -> Tensor:
        """Log-probabilities of `ids` after the last token."""
        here, there = self._own(outside), self._own(inside)
        z: list[Tensor] = []
        mlp: list[Tensor] = []

        def stream(receiver: Node) -> Tensor:
            """What it reads: the outside run's stream, and what its edges change in it."""
            time = self._graph.read_at(receiver)
            out = here.streams[time].clone()
            if ("embed", receiver.name) in edges:
                out += there.streams[0] - here.streams[0]
            for layer, mixed in enumerate(z):
                heads = [h for h in range(self._graph.heads)
                         if (f"z:{layer}.{h}", receiver.name) in edges]  # fmt: skip
                if heads:
                    moved = here.z[layer].clone()
                    moved[:, heads] = mixed[:, heads]
                    out += self._attn_out(layer, outside, moved) - here.attn_out[layer]
            for layer, value in enumerate(mlp):
                if (f"mlp_out:{layer}", receiver.name) in edges:
                    out += value - here.mlp_out[layer]
            return out

        for layer in range(self._graph.n_layers):
            edits = []
            for kind in ("q", "k", "v"):
                for head in range(self._graph.count(kind)):
                    node = Node(kind, layer, head)
                    seen = self._seen(layer, outside, stream(node))[kind][:, head]
                    edits.append(HeadEdit(kind, layer, head, tuple(range(len(outside))), seen))
            z_here = self._run([list(outside)], [edits])[1].seen[layer]["z"]
            if self._graph.parallel:
                mlp.append(self._mlp_out(layer, outside, stream(Node("mlp", layer))))
                z.append(z_here)
            else:
                z.append(z_here)
                mlp.append(self._mlp_out(layer, outside, stream(Node("mlp", layer))))
        last = stream(Node("logits"))
        with _replacing(self._layers[-1], lambda _: last[None]):
            logits, _ = self._run([list(outside)], [()])
        return logits[0, -1].float().log_softmax(-1)[list(ids)]

    def _own(self, tokens: Sequence[int]) -> "_Own":
        found = _Own()
        with ExitStack() as stack:
            for number, layer in enumerate(self._layers):
                stack.enter_context(_entering(layer, found.entering(2 * number)))
                attention = _submodule(layer, self._parts.attention_branch)
                stack.enter_context(_replacing(attention, found.note(found.attn_out)))
                mlp = _submodule(layer, self._parts.mlp_branch)
                stack.enter_context(_replacing(mlp, found.note(found.mlp_out)))
            stack.enter_context(_replacing(self._layers[-1], found.entering(2 * len(self._layers))))
            made = self._run([list(tokens)], [()])[1]
        found.z = [seen["z"] for seen in made.seen]
        if not self._graph.parallel:
            for number, value in enumerate(found.attn_out):
                found.streams[2 * number + 1] = found.streams[2 * number] + value
        return found

    def _seen(self, layer: int, tokens: Sequence[int], stream: Tensor) -> dict[str, Tensor]:
        with _entering(self._layers[layer], lambda _: stream[None]):
            return self._run([list(tokens)], [()])[1].seen[layer]

    def _attn_out(self, layer: int, tokens: Sequence[int], z: Tensor) -> Tensor:
        found: list[Tensor] = []
        every = tuple(range(len(tokens)))
        edits = [HeadEdit("z", layer, h, every, z[:, h]) for h in range(z.shape[1])]
        module = _submodule(self._layers[layer], self._parts.attention_branch)
        with _replacing(module, _Own().note(found)):
            self._run([list(tokens)], [edits])
        return found[0]

    def _mlp_out(self, layer: int, tokens: Sequence[int], stream: Tensor) -> Tensor:
        found: list[Tensor] = []
        with ExitStack() as stack:
            stack.enter_context(_entering(self._layers[layer], lambda _: stream[None]))
            if not self._graph.parallel:  # so that the stream reaches the MLP as it is
                attention = _submodule(self._layers[layer], self._parts.attention_branch)
                stack.enter_context(_replacing(attention, torch.zeros_like))
            mlp = _submodule(self._layers[layer], self._parts.mlp_branch)
            stack.enter_context(_replacing(mlp, _Own().note(found)))
            self._run([list(tokens)], [()])
        return found[0]


class _Own:
    """One prompt's own run."""

    def __init__(self) -> None:
        self.streams: dict[int, Tensor] = {}
        self.attn_out: list[Tensor] = []
        self.mlp_out: list[Tensor] = []
        self.z: list[Tensor] = []

    def entering(self, time: int) -> Callable[[Tensor], Tensor]:
        """Note what passes by as the stream at that time."""

        def note(value: Tensor) -> Tensor:
            self.streams[time] = value[0].clone()
            return value

        return note

    def note(self, into: list[Tensor]) -> Callable[[Tensor], Tensor]:
        """Note what passes by."""

        def note(value: Tensor) -> Tensor:
            into.append(value[0].clone())
            return value

        return note


def _submodule(layer: nn.Module, names: Sequence[str]) -> nn.Module:
    return next(getattr(layer, name) for name in names if hasattr(layer, name))


@contextmanager
def _entering(layer: nn.Module, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    def before(_module: nn.Module, args: Any, kwargs: Any) -> Any:
        if args:
            return (change(args[0]), *args[1:]), kwargs
        return args, {**kwargs, "hidden_states": change(kwargs["hidden_states"])}

    handle = layer.register_forward_pre_hook(before, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _replacing(module: nn.Module, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    def after(_module: nn.Module, _args: Any, output: Any) -> Any:
        if isinstance(output, tuple):
            return (change(output[0]), *output[1:])
        return change(output)

    handle = module.register_forward_hook(after)
    try:
        yield
    finally:
        handle.remove()
