"""What a completion captures: its prompt's activations, under a name."""

from collections.abc import Iterable
from dataclasses import dataclass

from sonde.engine.plan import classic_hooks
from sonde.errors import BadRequest, LayerOutOfRange, PositionOutOfRange, UnknownHook
from sonde.schema import CaptureSource, Hook, ModelDescription
from sonde.server.completion.blame import blaming

PARAM = "capture.patch_source"


@dataclass(frozen=True)
class CaptureArguments:
    """The arguments of the backend's capture."""

    run: str
    hooks: tuple[Hook, ...]
    layers: tuple[int, ...]
    positions: tuple[int, ...]


def plan_capture(
    source: CaptureSource, own_name: str, model: ModelDescription, n_tokens: int
) -> CaptureArguments:
    """Check a capture of a prompt of `n_tokens`; without a name, the run gets `own_name`."""
    with blaming(PARAM, PARAM):
        for name in source.hooks:
            if name not in classic_hooks(model):
                raise UnknownHook(name, classic_hooks(model))
        hooks = tuple(hook for hook in classic_hooks(model) if hook in source.hooks)
        if not hooks:
            raise BadRequest("hooks must be non-empty: {hook: 'all' or a list of layers}")
        layers: set[int] = set()
        for hook in hooks:
            layers |= _layers(hook, source.hooks[hook], model)
        positions = _positions(source.positions, n_tokens)
        return CaptureArguments(source.run or own_name, hooks, tuple(sorted(layers)), positions)


def _layers(hook: Hook, asked: str | list[int], model: ModelDescription) -> set[int]:
    if isinstance(asked, str):
        return set(range(model.n_layers))
    for layer in asked:
        if not 0 <= layer < model.n_layers:
            raise LayerOutOfRange(layer, model.n_layers)
    if not asked:
        raise BadRequest(f"hooks.{hook} is an empty list of layers; name some, or say 'all'")
    return set(asked)


def _positions(asked: str | list[int], n_tokens: int) -> tuple[int, ...]:
    if asked == "all_prompt":
        return tuple(range(n_tokens))
    if asked == "last_prompt":
        return (n_tokens - 1,)
    if isinstance(asked, str):
        raise BadRequest(
            f"positions {asked[:40]!r} are not known before the prompt has run; a source run holds "
            "positions of the prompt: 'all_prompt', 'last_prompt' or a list of them"
        )
    if not asked:
        raise BadRequest("positions is empty; at least one position of the prompt is captured")
    _check_positions(asked, n_tokens)
    return tuple(sorted(set(asked)))


def _check_positions(positions: Iterable[int], n_tokens: int) -> None:
    for position in positions:
        if not 0 <= position < n_tokens:
            raise PositionOutOfRange(position, n_tokens)
