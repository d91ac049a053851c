"""Activation patching the ordinary way: one whole forward pass per patched run, and plain hooks.

Nothing of the product is used. Modules are found by the names in `Parts`, attention is the model's
own `eager`, and the patch after attention is made by changing the *branch* that is added to the
residual, not the residual itself. Several patched runs share a batch, one row each.
"""

import inspect
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from sonde.schema import HOOK_TABLE, Hook
from tests.architectures import Parts

AT_ONCE = 64
"""Patched runs per batch."""


@dataclass(frozen=True)
class Edit:
    """Write `(1 - weight) * h + weight * value` at one site."""

    hook: Hook
    layer: int
    position: int
    value: Tensor
    weight: float | Tensor = 1.0

    def of(self, current: Tensor) -> Tensor:
        """What stands there afterwards."""
        return (1 - self.weight) * current + self.weight * self.value


Placed = list[tuple[int, Edit]]
"""Edits of one layer and hook, each with its row of the batch."""


@dataclass(frozen=True)
class Reference:
    """A plain model, and where its hooks are."""

    model: PreTrainedModel
    parts: Parts

    def activations(self, tokens: Sequence[int], hook: Hook) -> Tensor:
        """What the unpatched run has at a hook: [layers, tokens, width]."""
        seen: list[Tensor] = []
        with ExitStack() as stack:
            for layer in self.parts.layers_of(self.model):
                stack.enter_context(_noting(layer, self.parts, hook, seen))
            self._run([list(tokens)])
        return torch.stack([each[0] for each in seen])

    def logprobs(
        self, tokens: Sequence[int], cells: Sequence[Sequence[Edit]], ids: Sequence[int]
    ) -> Tensor:
        """Log-probabilities of `ids` after the last token, one row per cell."""
        parts = [
            self._logprobs(tokens, cells[start : start + AT_ONCE])
            for start in range(0, len(cells), AT_ONCE)
        ]
        return torch.cat(parts)[:, list(ids)]

    def _logprobs(self, tokens: Sequence[int], cells: Sequence[Sequence[Edit]]) -> Tensor:
        edits: dict[tuple[int, Hook], Placed] = defaultdict(list)
        for row, cell in enumerate(cells):
            for edit in cell:
                edits[edit.layer, edit.hook].append((row, edit))
        layers = self.parts.layers_of(self.model)
        with ExitStack() as stack:
            in_order = sorted(edits.items(), key=lambda entry: HOOK_TABLE[entry[0][1]].step)
            for (layer, hook), placed in in_order:  # edit what enters a layer before reading it
                stack.enter_context(_editing(layers[layer], self.parts, hook, placed))
            return self._run([list(tokens)] * len(cells))[:, -1].log_softmax(-1)

    @torch.inference_mode()
    def _run(self, ids: list[list[int]]) -> Tensor:
        logits: Tensor = self.model(
            input_ids=torch.tensor(ids), use_cache=False, **self._only_the_last()
        ).logits
        return logits.float()

    def _only_the_last(self) -> dict[str, int]:
        """Logits of the other positions are not wanted, where a model can leave them out."""
        options = inspect.signature(self.model.forward).parameters
        return {"logits_to_keep": 1} if "logits_to_keep" in options else {}


def _part(layer: nn.Module, names: Sequence[str]) -> nn.Module:
    name = next(name for name in names if getattr(layer, name, None) is not None)
    return layer.get_submodule(name)


def _first(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else value[0]


def _with_first(value: Any, new: Tensor) -> Any:
    return new if isinstance(value, Tensor) else (new, *value[1:])


def _given(args: Any, kwargs: Any) -> Tensor:
    return args[0] if args else kwargs["hidden_states"]


def _giving(args: Any, kwargs: Any, new: Tensor) -> Any:
    return ((new, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": new})


@contextmanager
def _noting(layer: nn.Module, parts: Parts, hook: Hook, seen: list[Tensor]) -> Iterator[None]:
    """Append the activation at a hook of one layer."""
    entered: list[Tensor] = []

    def note_input(_m: nn.Module, args: Any, kwargs: Any) -> None:
        seen.append(_given(args, kwargs).clone())

    def note_output(_m: nn.Module, _args: Any, output: Any) -> None:
        seen.append(_first(output).clone())

    def enter(_m: nn.Module, args: Any, kwargs: Any) -> None:
        entered.append(_given(args, kwargs).clone())

    def note_sum(_m: nn.Module, _args: Any, output: Any) -> None:
        seen.append(entered[-1] + _first(output))

    with ExitStack() as stack:
        if hook == "pre_attn":
            _before(stack, layer, note_input)
        elif hook == "post_block":
            _after(stack, layer, note_output)
        elif hook == "mlp_in":
            _before(stack, _part(layer, parts.mlp), note_input)
        elif hook == "mlp_out":
            _after(stack, _part(layer, parts.mlp_branch), note_output)
        elif hook == "attn_out":
            _after(stack, _part(layer, parts.attention_branch), note_output)
        else:
            _before(stack, layer, enter)
            _after(stack, _part(layer, parts.attention_branch), note_sum)
        yield


@contextmanager
def _editing(layer: nn.Module, parts: Parts, hook: Hook, placed: Placed) -> Iterator[None]:
    """Write at a hook of one layer."""
    entered: list[Tensor] = []

    def edited(current: Tensor) -> Tensor:
        out = current.clone()
        for row, edit in placed:
            out[row, edit.position] = edit.of(out[row, edit.position])
        return out

    def edit_input(_m: nn.Module, args: Any, kwargs: Any) -> Any:
        return _giving(args, kwargs, edited(_given(args, kwargs)))

    def edit_output(_m: nn.Module, _args: Any, output: Any) -> Any:
        return _with_first(output, edited(_first(output)))

    def enter(_m: nn.Module, args: Any, kwargs: Any) -> None:
        entered.append(_given(args, kwargs).clone())

    def edit_sum(_m: nn.Module, _args: Any, output: Any) -> Any:
        residual = entered[-1]
        return _with_first(output, edited(residual + _first(output)) - residual)

    with ExitStack() as stack:
        if hook == "pre_attn":
            _before(stack, layer, edit_input)
        elif hook == "post_block":
            _after(stack, layer, edit_output)
        elif hook == "mlp_in":
            _before(stack, _part(layer, parts.mlp), edit_input)
        elif hook == "mlp_out":
            _after(stack, _part(layer, parts.mlp_branch), edit_output)
        elif hook == "attn_out":
            _after(stack, _part(layer, parts.attention_branch), edit_output)
        else:
            _before(stack, layer, enter)
            _after(stack, _part(layer, parts.attention_branch), edit_sum)
        yield


def _before(stack: ExitStack, module: nn.Module, hook: Any) -> None:
    stack.callback(module.register_forward_pre_hook(hook, with_kwargs=True).remove)


def _after(stack: ExitStack, module: nn.Module, hook: Any) -> None:
    stack.callback(module.register_forward_hook(hook).remove)
