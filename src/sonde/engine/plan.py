"""A request, checked in the contract's order, becomes the axes and sources of a sweep.

Everything that can be wrong with a request raises here, before anything is run or captured for it.
Sizes are refused by arithmetic, before any list of that size exists.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sonde.backends.base import Backend
from sonde.engine.vectors import NamedVectors, check_vectors
from sonde.errors import (
    BadRequest,
    LayerOutOfRange,
    NothingToPatch,
    NotOneToken,
    UnknownHook,
)
from sonde.schema import (
    CLASSIC_HOOKS,
    Hook,
    LayerRange,
    Layers,
    Metric,
    ModelDescription,
    PatchSweepRequest,
)


@dataclass(frozen=True)
class Limits:
    """The largest sweep that is admitted."""

    cells: int = 1_000_000
    scored_cells: int = 10_000_000
    """Where cells are scored to first order, and few of them run."""
    layers: int = 10_000
    positions: int = 100_000
    prompt_chars: int = 4_000_000
    pairs: int = 10_000


@dataclass(frozen=True)
class CheckedRequest:
    """A request whose static parts are known to be right."""

    request: PatchSweepRequest
    model: ModelDescription
    hooks: tuple[Hook, ...]
    layers: tuple[int, ...]
    metrics: tuple[Metric, ...]
    """The request's metric first, then the further ones."""
    answer: int
    foil: int | None
    from_vector: bool

    @property
    def token_ids(self) -> list[int]:
        """Ids that are graded: the answer, then the foil when there is one."""
        return [self.answer] if self.foil is None else [self.answer, self.foil]


def classic_hooks(model: ModelDescription) -> list[Hook]:
    """The hooks of a model that the patching contract knows; the others are for general sweeps."""
    return [hook for hook in model.hooks if hook in CLASSIC_HOOKS]


def check(
    request: PatchSweepRequest, backend: Backend, modules: NamedVectors, limits: Limits
) -> CheckedRequest:
    """Contract checks 2 to 16, in order."""
    model = backend.describe()
    metrics = tuple(dict.fromkeys([request.metric, *(request.metrics or [])]))
    if request.answer_token is None and request.answer_token_id is None:
        raise BadRequest("one of answer_token and answer_token_id is required")
    no_foil = request.foil_token is None and request.foil_token_id is None
    if "logit_diff" in metrics and no_foil:
        raise BadRequest("logit_diff metric requires foil_token or foil_token_id")
    hooks = _hooks(request, model)
    _check_layers(request.layers, model, limits)
    from_vector = _check_source(request, metrics)
    check_vectors(request, modules, model.width)
    for text in (request.prompt, request.clean_prompt or ""):
        if len(text) > limits.prompt_chars:
            raise BadRequest(f"a prompt of {len(text)} characters; at most {limits.prompt_chars}")
    answer = _token(backend, model, "answer_token", request.answer_token, request.answer_token_id)
    foil = None
    if not no_foil:
        foil = _token(backend, model, "foil_token", request.foil_token, request.foil_token_id)
    layers = tuple(_listed(request.layers))
    return CheckedRequest(request, model, hooks, layers, metrics, answer, foil, from_vector)


def _hooks(request: PatchSweepRequest, model: ModelDescription) -> tuple[Hook, ...]:
    if request.hooks is not None and not request.hooks:
        raise BadRequest("hooks must be a non-empty list; leave it out to sweep one hook")
    names = [request.hook] if request.hooks is None else request.hooks
    known = classic_hooks(model)
    for name in names:
        if name not in known:
            raise UnknownHook(name, known)
    return tuple(dict.fromkeys(cast(list[Hook], names)))


def _check_layers(layers: Layers, model: ModelDescription, limits: Limits) -> None:
    if isinstance(layers, LayerRange):
        ends = [layers.start, _last(layers)] if layers.stop > layers.start else []
    else:
        ends = layers
        if len(layers) > limits.layers:
            raise BadRequest(
                f"{len(layers)} layers; at most {limits.layers} are admitted in one sweep"
            )
    for layer in ends:
        if not 0 <= layer < model.n_layers:
            raise LayerOutOfRange(layer, model.n_layers)


def _last(layers: LayerRange) -> int:
    return layers.start + (layers.stop - layers.start - 1) // layers.step * layers.step


def _listed(layers: Layers) -> Sequence[int]:
    if isinstance(layers, LayerRange):
        return range(layers.start, layers.stop, layers.step)
    return layers


def _check_source(request: PatchSweepRequest, metrics: Sequence[Metric]) -> bool:
    """Contract checks 7 to 11. -> whether the source is a vector."""
    if request.source_module is None and request.source_inline is None:
        if request.source_run is None:
            raise BadRequest("source_run is required for a sweep from a captured run")
        return False
    if request.source_module is not None and request.source_inline is not None:
        raise BadRequest("set exactly one of source_module and source_inline")
    if request.source_run is not None:
        raise BadRequest("source_run cannot be combined with a vector source")
    if request.clean_prompt is not None:
        raise BadRequest("a vector source is not captured from a prompt: omit clean_prompt")
    if "recovered" in metrics:
        raise BadRequest("the 'recovered' metric needs a clean baseline; a vector source has none")
    return True


def _token(
    backend: Backend, model: ModelDescription, field: str, text: str | None, token_id: int | None
) -> int:
    if token_id is not None:
        if not 0 <= token_id < model.vocabulary:
            raise BadRequest(
                f"{field}_id {token_id} is outside the vocabulary [0, {model.vocabulary})"
            )
        return token_id
    assert text is not None
    tokens = backend.tokenize(text, special=False)
    if len(tokens) != 1:
        raise NotOneToken(field, text, tokens, [backend.detokenize([t]) for t in tokens])
    return tokens[0]


def check_size(plan: CheckedRequest, n_positions: int, limits: Limits) -> None:
    """The grid is neither empty nor beyond reason."""
    if not plan.layers or not n_positions:
        raise NothingToPatch("empty sweep grid: name at least one layer and one position")
    cells = len(plan.hooks) * len(plan.layers) * n_positions
    if n_positions > limits.positions or cells > limits.cells:
        raise BadRequest(
            f"a grid of {cells} cells; at most {limits.cells} cells and "
            f"{limits.positions} positions are admitted: sweep fewer layers or positions"
        )
