"""Edges and paths the ordinary way: plain forward passes with hooks, one after the other.

Nothing of the product is used, and modules are found by their names. An edge takes three passes:
what the sender adds (the clean output put in, the branch read), what the receiver then has (the
change added to the stream as it reads it), and the effect (that value put in).
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from tests.architectures import Parts
from tests.backends.torch.head_reference import HeadEdit, HeadReference


@dataclass(frozen=True)
class End:
    """A sender or receiver, by its name."""

    kind: str
    layer: int = 0
    head: int = 0

    @classmethod
    def of(cls, name: str) -> "End":
        kind, _, place = name.partition(":")
        layer, _, head = place.partition(".")
        return cls(kind, int(layer or 0), int(head or 0))


def _first(output: object) -> Tensor:
    found = output[0] if isinstance(output, tuple) else output
    assert isinstance(found, Tensor)
    return found


def _instead(output: object, value: Tensor) -> object:
    return (value, *output[1:]) if isinstance(output, tuple) else value


class EdgeReference:
    """A plain model, and the two prompts that edges are between."""

    def __init__(
        self, model: PreTrainedModel, parts: Parts, clean: Sequence[int], corrupt: Sequence[int]
    ) -> None:
        self._heads, self._parts = HeadReference(model), parts
        self._layers = parts.layers_of(model)
        self._clean, self._corrupt = list(clean), list(corrupt)
        self._all = tuple(range(len(corrupt)))
        self.parallel = bool(getattr(model.config, "use_parallel_residual", False))
        self._seen = {True: self._look(self._clean), False: self._look(self._corrupt)}

    # The two verbs.

    def edge(self, sender: str, receiver: str, ids: Sequence[int]) -> Tensor:
        """Logits when one receiver reads the change; `total`: an ordinary patch of the sender."""
        one, other = End.of(sender), End.of(receiver)
        if other.kind == "total":
            return self._effect(one, ids)
        change = self._added(one)
        if other.kind == "logits":
            return self._logits(ids, lambda s: self._add_after(s, len(self._layers) - 1, change))
        if other.kind == "mlp":
            value = self._mlp_with(other.layer, change)
            return self._logits(ids, lambda s: self._set_mlp(s, other.layer, value))
        seen = self._run([], lambda s: self._add_before(s, other.layer, change))
        return self._put_head(other, seen, ids)

    def path(self, sender: str, receiver: str, ids: Sequence[int]) -> Tensor:
        """The same with MLPs on the way computed anew, and all attention as it is."""
        one, other = End.of(sender), End.of(receiver)
        frozen = self._frozen(one)
        stops = {"logits": len(self._layers)}.get(other.kind, other.layer)
        mlps: dict[int, Tensor] = {}
        found: list[Tensor] = []

        def hooks(stack: ExitStack) -> None:
            if one.kind == "embed":
                self._add_before(stack, 0, self._added(one))
            if one.kind == "mlp_out":
                self._set_mlp(stack, one.layer, self._seen[True]["mlp"][one.layer])
            for layer in range(len(self._layers)):
                self._note(stack, self._mlp_branch(layer), mlps, layer)
            stack.callback(self._layers[-1].register_forward_hook(
                lambda _m, _a, out: found.append(_first(out).clone())).remove)  # fmt: skip

        seen = self._run(frozen, hooks)
        if other.kind == "logits":
            change = found[0] - self._seen[False]["end"]
            return self._logits(ids, lambda s: self._add_after(s, stops - 1, change))
        if other.kind == "mlp":
            return self._logits(ids, lambda s: self._set_mlp(s, other.layer, mlps[other.layer]))
        return self._put_head(other, seen, ids)

    # What senders add.

    def _added(self, sender: End) -> Tensor:
        """The change in the stream: [1, positions, width]."""
        clean, corrupt = self._seen[True], self._seen[False]
        if sender.kind == "embed":
            return clean["start"] - corrupt["start"]
        if sender.kind == "mlp_out":
            return clean["mlp"][sender.layer] - corrupt["mlp"][sender.layer]
        branch: dict[int, Tensor] = {}
        self._run(
            [self._patched(sender)],
            lambda s: self._note(s, self._attention_branch(sender.layer), branch, sender.layer),
        )
        return branch[sender.layer] - corrupt["attention"][sender.layer]

    def _patched(self, sender: End) -> HeadEdit:
        values = self._seen[True]["heads"][sender.layer]["z"][:, sender.head]
        return HeadEdit("z", sender.layer, sender.head, self._all, values)

    def _frozen(self, sender: End) -> list[HeadEdit]:
        """All heads as they are unpatched, but for the sender."""
        out = []
        for layer, at in enumerate(self._seen[False]["heads"]):
            for head in range(at["z"].shape[1]):
                if (sender.kind, sender.layer, sender.head) == ("z", layer, head):
                    out.append(self._patched(sender))
                else:
                    out.append(HeadEdit("z", layer, head, self._all, at["z"][:, head]))
        return out

    def _effect(self, sender: End, ids: Sequence[int]) -> Tensor:
        clean = self._seen[True]
        if sender.kind == "z":
            return self._logits(ids, edits=[self._patched(sender)])
        if sender.kind == "embed":
            return self._logits(ids, lambda s: self._add_before(s, 0, self._added(sender)))
        return self._logits(
            ids, lambda s: self._set_mlp(s, sender.layer, clean["mlp"][sender.layer])
        )

    # What receivers have.

    def _mlp_with(self, layer: int, change: Tensor) -> Tensor:
        """What the MLP returns when its stream, and nothing else, has the change."""
        kept, found = self._seen[False]["attention"][layer], dict[int, Tensor]()

        def hooks(stack: ExitStack) -> None:
            self._add_before(stack, layer, change)
            if not self.parallel:
                stack.callback(self._attention_branch(layer).register_forward_hook(
                    lambda _m, _a, out: _instead(out, kept)).remove)  # fmt: skip
            self._note(stack, self._mlp_branch(layer), found, layer)

        self._run([], hooks)
        return found[layer]

    def _put_head(self, receiver: End, seen: list[dict[str, Tensor]], ids: Sequence[int]) -> Tensor:
        value = seen[receiver.layer][receiver.kind][:, receiver.head]
        edit = HeadEdit(receiver.kind, receiver.layer, receiver.head, self._all, value)
        return self._logits(ids, edits=[edit])

    # Plain passes.

    def _look(self, tokens: list[int]) -> dict[str, Any]:
        at: dict[str, dict[int, Tensor]] = {"mlp": {}, "attention": {}}
        ends: dict[str, Tensor] = {}

        def hooks(stack: ExitStack) -> None:
            for layer in range(len(self._layers)):
                self._note(stack, self._mlp_branch(layer), at["mlp"], layer)
                self._note(stack, self._attention_branch(layer), at["attention"], layer)

            def enter(_m: nn.Module, args: Any, kwargs: dict[str, Any]) -> None:
                ends["start"] = (args[0] if args else kwargs["hidden_states"]).clone()

            def leave(_m: nn.Module, _args: Any, out: object) -> None:
                ends["end"] = _first(out).clone()

            first, last = self._layers[0], self._layers[-1]
            stack.callback(first.register_forward_pre_hook(enter, with_kwargs=True).remove)
            stack.callback(last.register_forward_hook(leave).remove)

        seen = self._run([], hooks, tokens)
        return {"heads": seen, **at, **ends}

    def _run(
        self,
        edits: Sequence[HeadEdit],
        hooks: Callable[[ExitStack], object] = lambda _: None,
        tokens: list[int] | None = None,
    ) -> list[dict[str, Tensor]]:
        """One pass; what each layer's heads have is returned, the logits are kept."""
        with ExitStack() as stack:
            hooks(stack)
            logits, made = self._heads._run([tokens or self._corrupt], [list(edits)])
        self._last = logits[0, -1].float()
        return made.seen

    def _logits(
        self,
        ids: Sequence[int],
        hooks: Callable[[ExitStack], object] = lambda _: None,
        edits: Sequence[HeadEdit] = (),
    ) -> Tensor:
        self._run(edits, hooks)
        return self._last[list(ids)].clone()

    def _child(self, layer: int, names: Sequence[str]) -> nn.Module:
        found = next(name for name in names if hasattr(self._layers[layer], name))
        return self._layers[layer].get_submodule(found)

    def _attention_branch(self, layer: int) -> nn.Module:
        return self._child(layer, self._parts.attention_branch)

    def _mlp_branch(self, layer: int) -> nn.Module:
        return self._child(layer, self._parts.mlp_branch)

    def _note(
        self, stack: ExitStack, module: nn.Module, into: dict[int, Tensor], layer: int
    ) -> None:
        def see(_m: nn.Module, _a: object, out: object) -> None:
            into[layer] = _first(out).clone()

        stack.callback(module.register_forward_hook(see).remove)

    def _add_before(self, stack: ExitStack, layer: int, change: Tensor) -> None:
        """The layer's input, for everything that reads it."""

        def add(_m: nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            if args:
                return (args[0] + change, *args[1:]), kwargs
            return args, {**kwargs, "hidden_states": kwargs["hidden_states"] + change}

        handle = self._layers[layer].register_forward_pre_hook(add, with_kwargs=True)
        stack.callback(handle.remove)

    def _add_after(self, stack: ExitStack, layer: int, change: Tensor) -> None:
        """What the layer returns; at the last position only, where logits are read."""
        last = torch.zeros_like(change)
        last[:, -1] = change[:, -1]
        stack.callback(self._layers[layer].register_forward_hook(
            lambda _m, _a, out: _instead(out, _first(out) + last)).remove)  # fmt: skip

    def _set_mlp(self, stack: ExitStack, layer: int, value: Tensor) -> None:
        stack.callback(self._mlp_branch(layer).register_forward_hook(
            lambda _m, _a, out: _instead(out, value)).remove)  # fmt: skip
