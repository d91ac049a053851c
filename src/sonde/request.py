"""Plain arguments, from Python or a command line, as a request.

There are two kinds. The general one, `SweepRequest`, is what is asked wherever it can say what is
wanted. The classic one, `PatchSweepRequest`, is what the patching contract has always had, and the
only one with masks, vectors of one's own and clean positions one by one.

Where both can ask something, the numbers are the same, bit for bit, with two exceptions. Beside a
foil, `recovered` is of the logit difference in a general sweep, of the log-probability in a classic
one. And a `logit_diff` that is asked for alone is computed from two logits, without the normaliser
that a classic sweep subtracts from both, so it differs in its last bits.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar, get_args

from pydantic import ValidationError

from sonde.errors import BadRequest
from sonde.prompts import Span
from sonde.schema import (
    CLASSIC_HOOKS,
    HOOK_TABLE,
    LayerRange,
    Layers,
    Metric,
    PatchSweepRequest,
    Position,
    Wire,
)
from sonde.schema.attention import AttentionRequest
from sonde.schema.pair import PromptPair
from sonde.schema.table import SweepRequest, TableMetric

Request = SweepRequest | PatchSweepRequest

Places = Sequence[int | str | Span] | str
"""Positions in Python: numbers, spans, words (taken as spans; of many pairs as roles), "all",
"together", or "roles"."""

Answers = str | int | Sequence[str | int]
"""One answer by its text or its token id, or several whose probabilities are added."""

CLASSIC_METRICS: Final[tuple[Metric, ...]] = get_args(Metric)
DEFAULT_HOOKS: Final = ["post_block"]
NODES: Final = ("z", "mlp_out")
"""What writes to the residual stream, and is attributed if nothing is said."""
WITH_HOOKS: Final = ("features", "senders", "receivers")
"""What is swept at hooks of its own: a dictionary's, or those that edges join."""
_CLASSIC, _GENERAL = PatchSweepRequest.model_fields, SweepRequest.model_fields
R = TypeVar("R", bound=Wire)


def sweep_request(
    *,
    n_layers: int,
    corrupt: str | None = None,
    answer: Answers | None = None,
    clean: str | None = None,
    foil: Answers | None = None,
    pairs: Iterable[PromptPair] | None = None,
    hooks: Sequence[str] | str = ("post_block",),
    layers: Layers | Iterable[int] | str | None = None,
    positions: Places | None = None,
    metric: str | None = None,
    **options: Any,
) -> Request:
    """The general request; or the classic one, where an option is set that only that has."""
    unknown = sorted(set(options) - set(_CLASSIC) - set(_GENERAL))
    if unknown:
        raise BadRequest(
            f"sweep() takes no {unknown[0]!r}; see the fields of SweepRequest and PatchSweepRequest"
        )
    classic = {
        name: value
        for name, value in options.items()
        if name not in _GENERAL and value != _CLASSIC[name].default
    }
    general = _checked(
        SweepRequest,
        {
            "corrupt": corrupt,
            "clean": clean,
            "answer": None if answer is None else _answers(answer),
            "foil": None if foil is None else _answers(foil),
            "pairs": None if pairs is None else list(pairs),
            "hooks": _hooks(hooks, own=any(options.get(name) is not None for name in WITH_HOOKS)),
            "layers": _layers(layers),
            "positions": _places(positions, of_pairs=pairs is not None),
            "metric": metric,
            **{name: _named(name, value) for name, value in options.items() if name in _GENERAL},
        },
    )
    if classic:
        why = next(iter(classic))
    elif general.source_run is not None and clean is None:
        why = "source_run without a clean prompt"  # a general sweep runs the clean prompt too
    else:
        return general
    beyond = beyond_classic(general)
    if beyond is not None:
        raise BadRequest(f"{beyond} is for general sweeps, {why} for classic ones: leave one out")
    return _classic(general, n_layers, classic)


def attribute_options(
    targets: str,
    method: str | None,
    known_hooks: Sequence[str],
    hooks: Sequence[str] | str | None,
    asked: Mapping[str, Any],
) -> dict[str, Any]:
    """What is attributed, and where the gradient is taken, as fields of a request.

    Without hooks, nodes are those of `NODES` that the model has; edges are all there are.
    """
    if targets not in ("nodes", "edges"):
        raise BadRequest(f"targets {targets!r}: attribute 'nodes' or 'edges'")
    known = ("atp", "eap-ig") if targets == "nodes" else ("eap", "eap-ig", "atp")
    if method not in (None, *known):
        raise BadRequest(f"method {method!r} of {targets}: take {' or '.join(known[:2])}")
    options = {**asked, "gradient": "eap-ig" if method == "eap-ig" else "atp"}
    if targets == "edges":
        if hooks is not None:
            raise BadRequest("hooks are not of edges: name `senders` and `receivers` instead")
        return {"senders": ["all"], "receivers": ["all"], **options}
    named = [name for name in ("senders", "receivers") if asked.get(name) is not None]
    if named:
        raise BadRequest(f"{named[0]} are of edges: give targets='edges'")
    nodes = [hook for hook in NODES if hook in known_hooks]
    return {"hooks": nodes if hooks is None else hooks, **options}


def attention_request(
    prompt: str | Sequence[int] | None,
    *,
    layers: Layers | Iterable[int] | int | None = None,
    heads: Iterable[int] | int | None = None,
    repeated: int | None = None,
    seed: int = 0,
    scores: bool = False,
) -> AttentionRequest:
    """What is asked of attention: one number stands for a list of one."""
    return _checked(
        AttentionRequest,
        {
            "prompt": prompt if prompt is None or isinstance(prompt, str) else list(prompt),
            "repeated": repeated,
            "seed": seed,
            "layers": _layers([layers] if isinstance(layers, int) else layers),
            "heads": [heads] if isinstance(heads, int) else None if heads is None else list(heads),
            "scores": scores,
        },
    )


def beyond_classic(request: SweepRequest) -> str | None:
    """What the classic request has no field for, in words; None where it can ask all of it."""
    for name, given in (("answer", request.answer), ("foil", request.foil)):
        if isinstance(given, list):
            return f"more than one {name}"
    if request.method != "exact":
        return f"method {request.method!r}"
    if request.pairs is not None:
        return "many pairs"
    if request.checkpoints is not None:
        return "checkpoints of a run"
    if request.positions == "together":
        return "positions together"
    if isinstance(request.layers, str):
        return "windows of layers"
    if request.source in ("mean", "resample"):
        return f"source {request.source}"
    if not isinstance(request.corrupt, str) or isinstance(request.clean, list):
        return "a prompt in tokens"
    for metric in _metrics(request):
        if metric not in CLASSIC_METRICS:
            return f"metric {metric}"
    for hook in request.hooks or []:
        if hook in HOOK_TABLE and hook not in CLASSIC_HOOKS:
            return f"hook {hook}"
    return None if request.features is None else "an axis of features"


def as_classic(request: SweepRequest, n_layers: int) -> PatchSweepRequest | None:
    """The same question for the classic route; None where it cannot be asked there.

    A classic `recovered` is of the log-probability also where there is a foil, and zeros come
    without a clean prompt.
    """
    other = ("recovered" in _metrics(request) and request.foil is not None) or (
        request.source == "zero" and request.clean is not None
    )
    return None if other or beyond_classic(request) else _classic(request, n_layers, {})


def _metrics(request: SweepRequest) -> list[TableMetric]:
    return [metric for metric in [request.metric, *(request.metrics or [])] if metric is not None]


def _classic(request: SweepRequest, n_layers: int, options: Mapping[str, Any]) -> PatchSweepRequest:
    """The fields that both have, by their classic names, and the options that only it has."""
    shared = {
        name: value
        for name, value in request
        if name in _CLASSIC and name in request.model_fields_set and value is not None
    }
    vector = any(options.get(name) is not None for name in ("source_module", "source_inline"))
    if request.source == "zero" and not vector:
        shared["source_module"] = "zeros"
    elif not vector:
        shared.setdefault("source_run", f"run-{uuid.uuid4().hex[:12]}")
    return _checked(
        PatchSweepRequest,
        {
            **shared,
            "prompt": request.corrupt,
            "clean_prompt": request.clean,
            "layers": list(range(n_layers)) if request.layers is None else request.layers,
            "positions": "all_prompt" if request.positions in (None, "each") else request.positions,
            **_token("answer", request.answer),
            **_token("foil", request.foil),
            **options,
        },
    )


def _token(name: str, value: object) -> dict[str, Any]:
    if value is None:
        return {}
    return {f"{name}_token_id" if isinstance(value, int) else f"{name}_token": value}


def _answers(given: Answers) -> Any:
    """One as itself, several as a list."""
    if isinstance(given, str | int):
        return given
    return given[0] if len(given) == 1 else list(given)


def _hooks(hooks: Sequence[str] | str, *, own: bool) -> list[str] | None:
    """As a list; none, where none was named and what is swept has its `own`."""
    named = [hooks] if isinstance(hooks, str) else list(hooks)
    return None if own and named == DEFAULT_HOOKS else named


def _layers(layers: Layers | Iterable[int] | str | None) -> Any:
    return layers if layers is None or isinstance(layers, LayerRange | str) else list(layers)


def _named(name: str, value: Any) -> Any:
    """A value as the wire has it; of senders and receivers, one by its name alone too."""
    if name in ("senders", "receivers") and isinstance(value, str):
        return [value]
    return _listed(value)


def _listed(value: Any) -> Any:
    """Tuples and ranges, and such inside them, as the lists that the wire has."""
    return list(map(_listed, value)) if isinstance(value, list | tuple | range) else value


def _places(positions: Places | None, *, of_pairs: bool) -> Any:
    """Of many pairs words are roles, of one prompt they are spans."""
    if positions is None:
        return None
    if not of_pairs:
        return _positions(positions)
    if isinstance(positions, str):
        if positions in ("all", "all_prompt", "each"):
            return "each"
        return positions if positions in ("together", "roles") else [positions]
    return [place.to_wire() if isinstance(place, Span) else place for place in positions]


def _positions(positions: Places) -> list[Position] | str:
    """Words become spans; "all" becomes the wire's word for it."""
    if isinstance(positions, str):
        if positions in ("all", "all_prompt", "each"):
            return "each"
        return positions if positions == "together" else [Span(positions).to_wire()]
    out: list[Position] = []
    for place in positions:
        if isinstance(place, str):
            place = Span(place)
        out.append(place.to_wire() if isinstance(place, Span) else place)
    return out


def _checked(kind: type[R], fields: Mapping[str, Any]) -> R:
    """A request, or the first thing wrong with it: the field, what is wanted there, what it was."""
    try:
        return kind(**fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"][:1])
        raise BadRequest(f"{field}: {first['msg']}; it was {first['input']!r}") from error
