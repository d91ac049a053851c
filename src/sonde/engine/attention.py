"""What heads attend to: patterns of one prompt, and three scores made of them.

A score is the weight that a head puts on keys of one kind, meant over the positions that have such
keys. What counts as such a key is said in one place, `_keys`.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast, get_args

import numpy as np
from numpy.typing import NDArray

from sonde.backends.base import Backend, Site
from sonde.engine.plan import Limits
from sonde.engine.setting import prompt_tokens
from sonde.errors import BadRequest, HeadOutOfRange, LayerOutOfRange
from sonde.schema import LayerRange, ModelDescription
from sonde.schema.attention import AttentionRequest, HeadScore

HEAD_SCORES: tuple[HeadScore, ...] = get_args(HeadScore)
MOST_WEIGHTS = 2**28
"""Weights of one prompt in all layers and heads: 1 GiB of them exist at once."""

Scores = Mapping[HeadScore, NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Attended:
    """Some heads of some layers in one prompt of T tokens."""

    tokens: list[int]
    layers: list[int]
    heads: list[int]
    patterns: NDArray[np.float32] | None
    """[layers, heads, T, T], or None where scores were asked for."""
    scores: Scores | None
    """[layers, heads] each; NaN where no position has such keys."""


def attend(backend: Backend, request: AttentionRequest, limits: Limits) -> Attended:
    """Run the prompt once, and tell its patterns or its scores."""
    model = backend.describe()
    _check_offered(model)
    layers, heads = _layers(request, model), _heads(request, model)
    tokens = _tokens(backend, model, request, limits)
    _check_size(model, len(tokens))
    run, everywhere = f"attention-{uuid.uuid4().hex[:12]}", tuple(range(len(tokens)))
    held = backend.capture(run, tokens, ["pattern"], sorted(set(layers)), everywhere)
    patterns: list[NDArray[np.float32]] = []
    scores: list[Scores] = []
    try:
        for layer in layers:
            sites = [Site("pattern", layer, everywhere, head) for head in heads]
            found = np.stack(backend.read(run, sites))
            if request.scores:
                scores.append(head_scores(found, tokens))
            else:
                patterns.append(found)
    finally:
        backend.drop(run, held.generation)
    return Attended(
        tokens,
        layers,
        heads,
        None if request.scores else np.stack(patterns),
        {name: np.stack([each[name] for each in scores]) for name in HEAD_SCORES}
        if request.scores
        else None,
    )


def head_scores(patterns: NDArray[np.float32], tokens: Sequence[int]) -> Scores:
    """Patterns [heads, T, T] to the scores of each head."""
    out: dict[HeadScore, NDArray[np.float64]] = {}
    for name in HEAD_SCORES:
        keys = _keys(name, tokens)
        has = keys.any(1)
        weights = (patterns.astype(np.float64) * keys).sum(-1)[:, has]
        out[name] = weights.mean(1) if has.any() else np.full(len(patterns), np.nan)
    return out


def _keys(name: HeadScore, tokens: Sequence[int]) -> NDArray[np.bool_]:
    """[T, T]: whether a key is of that kind for a position. No position is its own key."""
    ids, n = np.array(tokens), len(tokens)
    before = np.tri(n, k=-1, dtype=np.bool_)
    if name == "previous":
        return np.eye(n, k=-1, dtype=np.bool_)
    same: NDArray[np.bool_] = (ids[:, None] == ids[None, :]) & before
    if name == "duplicate":
        return same
    after = np.zeros_like(same)
    after[:, 1:] = same[:, :-1]
    kept: NDArray[np.bool_] = after & before
    return kept


def told(backend: Backend, request: AttentionRequest, limits: Limits) -> int:
    """How many numbers the answer has, before anything is run for it."""
    model = backend.describe()
    _check_offered(model)
    n = len(_layers(request, model)) * len(_heads(request, model))
    if request.scores:
        return n * len(HEAD_SCORES)
    tokens = _tokens(backend, model, request, limits)
    return int(n * len(tokens) ** 2)


def _check_offered(model: ModelDescription) -> None:
    if "pattern" in model.hooks:
        return
    why = f" ({model.path_reason})" if model.path_reason else ""
    what = "load it with the torch backend" if model.backend == "vllm" else "take another model"
    raise BadRequest(
        f"attention patterns of {model.name!r} cannot be read on backend {model.backend!r}{why}: "
        f"its hooks are {', '.join(model.hooks)}; {what}"
    )


def _check_size(model: ModelDescription, n_tokens: int) -> None:
    assert model.heads is not None
    n = model.n_layers * model.heads.heads * n_tokens**2
    if n > MOST_WEIGHTS:
        most = int((MOST_WEIGHTS / model.n_layers / model.heads.heads) ** 0.5)
        raise BadRequest(
            f"a prompt of {n_tokens} tokens has {n:,} attention weights in this model, and at most "
            f"{MOST_WEIGHTS:,} are kept at once; give one of {most} tokens at the most"
        )


def _layers(request: AttentionRequest, model: ModelDescription) -> list[int]:
    given = request.layers
    if given is None:
        return list(range(model.n_layers))
    if isinstance(given, LayerRange):
        if given.stop > model.n_layers:
            raise LayerOutOfRange(given.stop - 1, model.n_layers)
        given = list(range(given.start, given.stop, given.step))
    for layer in given:
        if not 0 <= layer < model.n_layers:
            raise LayerOutOfRange(layer, model.n_layers)
    if not given:
        raise BadRequest("no layer is named; leave layers out to have all of them")
    return list(dict.fromkeys(given))


def _heads(request: AttentionRequest, model: ModelDescription) -> list[int]:
    assert model.heads is not None
    n = model.heads.heads
    if request.heads is None:
        return list(range(n))
    for head in request.heads:
        if head >= n:
            raise HeadOutOfRange("pattern", head, n, n)
    return list(dict.fromkeys(request.heads))


def _tokens(
    backend: Backend, model: ModelDescription, request: AttentionRequest, limits: Limits
) -> list[int]:
    if (request.prompt is None) == (request.repeated is None):
        raise BadRequest("give exactly one of prompt and repeated")
    if request.repeated is None:
        assert request.prompt is not None
        return prompt_tokens(backend, model, request.prompt, limits)
    kept = {token.id for token in (*model.special_tokens.before, *model.special_tokens.after)}
    special = np.array(sorted(kept | set(model.end_ids)), dtype=np.int64)
    plain = np.setdiff1d(np.arange(model.vocabulary), special)
    drawn = np.random.default_rng(request.seed).choice(plain, request.repeated).tolist()
    begins = [token.id for token in model.special_tokens.before]
    return cast(list[int], [*begins, *drawn, *drawn])
