"""Every error Sonde raises on purpose.

SondeError
├── RequestError                the caller can fix it
│   ├── BadRequest              a field, alone or with another, makes no sense
│   │   ├── UnknownHook
│   │   ├── LayerOutOfRange
│   │   ├── PositionOutOfRange
│   │   ├── SpanNotFound
│   │   ├── NotOneToken
│   │   ├── NothingToPatch      an empty grid, or no position that can be aligned
│   │   └── BadVectors          a mask or vector table that does not fit the model
│   ├── UnknownModel
│   ├── UnknownVector           a named vector nobody registered
│   ├── UnknownSourceRun        a run, or a site of it, that is not in the store
│   │   ├── SourceRunDropped    it was there when the sweep began
│   │   └── StaleSourceRun      captured under other weights
│   └── RequestTooLarge         carries needed_bytes and budget_bytes
├── EngineError                 we, or the machine, have to fix it
│   ├── BaselineFailed          the unpatched prompt could not be run
│   ├── CaptureFailed           the clean prompt could not be captured
│   ├── HookNeverFired          a patch that silently did nothing
│   └── ControlFailed           a control cell differs from the baseline
└── MissingExtra                an optional part of Sonde is not installed

Each message says what was wrong, with the value, and what to do next.
"""

from collections.abc import Iterable, Sequence


class SondeError(Exception):
    """Anything Sonde raises on purpose."""


class RequestError(SondeError):
    """The caller asked for something that cannot be done as asked."""


class BadRequest(RequestError):
    """A value, alone or with another, makes no sense."""


class UnknownHook(BadRequest):
    """A hook name that does not exist, or that this model does not have."""

    def __init__(self, hook: str, supported: Iterable[str]) -> None:
        super().__init__(
            f"hook {hook!r} is not injectable on this model; valid hooks: {sorted(supported)}"
        )


class LayerOutOfRange(BadRequest):
    """A layer that the model does not have."""

    def __init__(self, layer: int, n_layers: int) -> None:
        super().__init__(
            f"layer {layer} is out of range [0, {n_layers}); this model has {n_layers} layers"
        )


class PositionOutOfRange(BadRequest):
    """A token position outside the prompt."""

    def __init__(self, position: int, n_tokens: int, *, prompt: str = "prompt") -> None:
        super().__init__(
            f"position {position} is out of range [0, {n_tokens}); "
            f"the {prompt} has {n_tokens} tokens"
        )


class SpanNotFound(BadRequest):
    """A substring that selects no token of the prompt."""


class NotOneToken(BadRequest):
    """An answer or foil that is not exactly one token."""

    def __init__(self, field: str, text: str, tokens: Sequence[int], pieces: Sequence[str]) -> None:
        super().__init__(
            f"{field} {text!r} tokenizes to {len(tokens)} tokens {list(pieces)}; "
            f"choose a one-token word (a leading space often matters) or pass {field}_id explicitly"
        )


class NothingToPatch(BadRequest):
    """The grid has no cell."""


class BadVectors(BadRequest):
    """A mask or a table of vectors that does not fit."""


class UnknownModel(RequestError):
    """A model name that leads nowhere."""


class UnknownVector(RequestError):
    """A named vector that nobody registered."""

    def __init__(self, name: str, available: Iterable[str]) -> None:
        super().__init__(f"unknown source_module {name!r}; available: {sorted(available)}")


class UnknownSourceRun(RequestError):
    """A source run, or a site of one, that the store does not hold."""


class SourceRunDropped(UnknownSourceRun):
    """A source run that was dropped while a sweep needed it."""

    def __init__(self, run: str) -> None:
        super().__init__(
            f"source dropped: run {run!r} was dropped while this sweep needed it; "
            "capture it again and repeat the sweep"
        )


class StaleSourceRun(UnknownSourceRun):
    """A source run captured under weights that are no longer loaded."""

    def __init__(self, run: str, captured: str, loaded: str) -> None:
        super().__init__(
            f"source run {run!r} was captured under weights {captured}, "
            f"but {loaded} are loaded; capture it again"
        )


class RequestTooLarge(RequestError):
    """The work does not fit the memory it may use."""

    def __init__(self, what: str, needed_bytes: int, budget_bytes: int, remedy: str) -> None:
        self.needed_bytes = needed_bytes
        self.budget_bytes = budget_bytes
        super().__init__(
            f"{what} needs {_size(needed_bytes)} and the budget is {_size(budget_bytes)}; {remedy}"
        )


def _size(n_bytes: int) -> str:
    return f"{n_bytes:,} bytes" if n_bytes < 2**20 else f"{n_bytes / 2**20:,.1f} MiB"


class EngineError(SondeError):
    """Something went wrong on our side of the line."""


class BaselineFailed(EngineError):
    """The unpatched corrupt prompt could not be run."""


class CaptureFailed(EngineError):
    """The clean prompt could not be captured."""


class HookNeverFired(EngineError):
    """A patch whose site was not reached: no number may come of it."""


class ControlFailed(EngineError):
    """A control cell, which changes nothing by construction, changed something."""


class MissingExtra(SondeError):
    """An optional part of Sonde that this call needs is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the optional part {extra!r}: pip install 'sonde[{extra}]'")
