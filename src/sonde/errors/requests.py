"""What is wrong with a request: its fields, its model, its vectors, its source run, its size."""

from collections.abc import Iterable, Sequence

from sonde.errors.base import RequestError


class BadRequest(RequestError):
    """A value, alone or with another, makes no sense."""


class UnknownHook(BadRequest):
    """A hook name that does not exist, or that this model does not have."""

    def __init__(
        self,
        hook: str,
        supported: Iterable[str],
        *,
        elsewhere: str | None = None,
        why: str | None = None,
    ) -> None:
        """`elsewhere` is the backend that may have it, where this one has not; `why` it has not."""
        valid = f"valid hooks: {sorted(supported)}"
        if elsewhere is not None:
            valid += f"; {hook} needs backend={elsewhere!r}"
        reason = "" if why is None else f" ({why})"
        super().__init__(f"hook {hook!r} is not injectable on this model{reason}; {valid}")


class LayerOutOfRange(BadRequest):
    """A layer that the model does not have."""

    def __init__(self, layer: int, n_layers: int) -> None:
        super().__init__(
            f"layer {layer} is out of range [0, {n_layers}); this model has {n_layers} layers"
        )


class HeadOutOfRange(BadRequest):
    """A head that the model's attention does not have."""

    def __init__(self, hook: str, head: int, n: int, n_heads: int) -> None:
        grouped = "" if n == n_heads else f", each read by {n_heads // n} of its {n_heads} heads"
        super().__init__(
            f"head {head} is out of range [0, {n}) at {hook}; this model has {n} there{grouped}"
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


class NoModel(RequestError):
    """Something that takes a model was asked of a server that has none."""

    def __init__(self) -> None:
        super().__init__("this server has no model; start one with: sonde serve --model smollm2")


class UnknownVector(RequestError):
    """A named vector that nobody registered."""

    def __init__(self, name: str, available: Iterable[str]) -> None:
        super().__init__(f"unknown source_module {name!r}; available: {sorted(available)}")


class VectorsExist(RequestError):
    """A name that has vectors already."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"vectors named {name!r} are registered already; choose another name, "
            "or pass replace: true to put these in their place"
        )


class UnknownSourceRun(RequestError):
    """A source run, or a site of one, that the store does not hold."""


class SourceRunDropped(UnknownSourceRun):
    """A source run that was dropped, or replaced, while it was needed."""

    def __init__(self, run: str) -> None:
        super().__init__(
            f"source dropped: run {run!r} was dropped or replaced while it was needed; "
            "capture it again and repeat the request"
        )


class StaleSourceRun(UnknownSourceRun):
    """A source run captured under weights that are no longer loaded."""

    def __init__(self, run: str, captured: str, loaded: str) -> None:
        super().__init__(
            f"source run {run!r} was captured under weights {captured}, "
            f"but {loaded} are loaded; capture it again, or drop it and pass clean_prompt"
        )


class WeightsChanged(RequestError):
    """Somebody wrote to the model's weights while a result was being made with them."""

    def __init__(self, before: str, now: str) -> None:
        super().__init__(
            f"the model's weights changed from {before} to {now} while this was computed, so its "
            "numbers are of neither; repeat the request when nobody trains the model"
        )


class RequestTooLarge(RequestError):
    """The work does not fit the memory it may use."""

    def __init__(self, what: str, needed_bytes: int, budget_bytes: int, remedy: str) -> None:
        self.needed_bytes, self.budget_bytes = needed_bytes, budget_bytes
        super().__init__(
            f"{what} needs {_size(needed_bytes)} and the budget is {_size(budget_bytes)}; {remedy}"
        )


def _size(n_bytes: int) -> str:
    return f"{n_bytes:,} bytes" if n_bytes < 2**20 else f"{n_bytes / 2**20:,.1f} MiB"
