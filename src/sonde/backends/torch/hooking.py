"""The one place that puts hooks on modules: for tracing, writing, reading and recording.

A *tap* is where a value passes by: what a module receives, or what it returns. `watch` sees it,
`rewrite` changes it. Which module stands for which hook of a model is found by `layout`; what a
hook means is in the table of `sonde.schema`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from sonde.schema import HOOK_TABLE, Hook

Watch = Callable[[Tensor], None]
Change = Callable[[Tensor], Tensor | None]
"""What passes by -> what shall go on; None, or the tensor itself, leaves it as it is."""


def first_tensor(values: object) -> Tensor | None:
    """The tensor a module takes or gives: itself, or the first of a tuple."""
    if isinstance(values, Tensor):
        return values
    if isinstance(values, tuple | list) and values and isinstance(values[0], Tensor):
        return values[0]
    return None


def received_tensor(args: tuple[object, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """The hidden states a module was called with, by position or by name."""
    found = first_tensor(args)
    return found if found is not None else first_tensor(kwargs.get("hidden_states"))


@dataclass(frozen=True)
class Tap:
    """Where the value of a hook passes by in one layer."""

    module: nn.Module
    side: Literal["receives", "returns"]
    is_stream: bool = False
    """The residual stream itself passes here, and what is added to it later reads this very tensor:
    a change has to be made in place."""

    @property
    def may_write(self) -> bool:
        """Whether what passes by may be written to; an input may be somebody else's tensor too."""
        return self.is_stream or self.side == "returns"

    def watch(self, note: Watch) -> RemovableHandle:
        """See what passes by, before anything that was put here later changes it."""

        def before(_module: nn.Module, args: Any, kwargs: Any) -> None:
            note(_there(received_tensor(args, kwargs)))

        def after(_module: nn.Module, _args: Any, output: object) -> None:
            note(_there(first_tensor(output)))

        if self.side == "returns":
            return self.module.register_forward_hook(after)
        return self.module.register_forward_pre_hook(before, with_kwargs=True)

    def rewrite(self, change: Change) -> RemovableHandle:
        """Change what passes by."""

        def before(_module: nn.Module, args: Any, kwargs: Any) -> Any:
            given = _there(received_tensor(args, kwargs))
            made = self._changed(given, change)
            if made is None:
                return None
            if args and isinstance(args[0], Tensor):
                return (made, *args[1:]), kwargs
            return args, {**kwargs, "hidden_states": made}

        def after(_module: nn.Module, _args: Any, output: object) -> Any:
            made = self._changed(_there(first_tensor(output)), change)
            if made is None:
                return None
            return (made, *output[1:]) if isinstance(output, tuple) else made

        if self.side == "returns":
            return self.module.register_forward_hook(after)
        return self.module.register_forward_pre_hook(before, with_kwargs=True)

    def _changed(self, given: Tensor, change: Change) -> Tensor | None:
        """What goes on in the place of `given`; None when that is `given`, changed or not."""
        made = change(given)
        if made is None or made is given:
            return None
        if self.is_stream and self.side == "receives":
            given.copy_(made)
            return None
        return made


def edge_tap(layer: nn.Module, hook: Hook) -> Tap:
    """The tap of a hook that is an edge of its layer: what enters it, or what leaves it."""
    enters = HOOK_TABLE[hook].enters
    assert enters is not None
    return Tap(layer, "returns" if enters else "receives", is_stream=True)


def watch_call(layer: nn.Module, note: Callable[[Any, Any], None]) -> RemovableHandle:
    """See what a module is called with: its arguments by position, and those by name."""

    def before(_module: nn.Module, args: Any, kwargs: Any) -> None:
        note(args, kwargs)

    return layer.register_forward_pre_hook(before, with_kwargs=True)


def watch_both(module: nn.Module, note: Callable[[Any, Any, object], None]) -> RemovableHandle:
    """See what a module was called with and what came of it."""

    def after(_module: nn.Module, args: Any, kwargs: Any, output: object) -> None:
        note(args, kwargs, output)

    return module.register_forward_hook(after, with_kwargs=True)


def _there(tensor: Tensor | None) -> Tensor:
    assert tensor is not None, "no tensor passes by here"
    return tensor
