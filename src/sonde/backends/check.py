"""What is wrong with a call, before anything runs."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from sonde.backends.base import Column, FromSenders, GenerateRequest, Readout, Row, Work, Write
from sonde.backends.check_heads import check_heads, check_readers_apart
from sonde.backends.edit import Edit
from sonde.backends.spots import spots
from sonde.errors import (
    BadRequest,
    LayerOutOfRange,
    PositionOutOfRange,
    UnknownHook,
)
from sonde.schema import HOOK_TABLE, RECEIVING, SENDING, Hook, ModelDescription

PENALTIES: Final = (0.001, 1000.0)
"""Within these no logit overflows in single precision, whatever the backend."""


def check_text(text: str) -> None:
    """The text is Unicode that a tokenizer can take."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadRequest(
            f"the text has a lone surrogate at character {error.start}, which is not Unicode; "
            "decode it as UTF-8 first"
        ) from error


def check_tokens(tokens: Sequence[int], model: ModelDescription, *, room: int = 0) -> None:
    """The prompt can be run, with `room` more tokens after it."""
    if not tokens:
        raise BadRequest("the prompt has no tokens; give it some text")
    if len(tokens) + room > model.max_tokens:
        more = f" and {room} more to generate" if room else ""
        raise BadRequest(
            f"the prompt has {len(tokens)} tokens{more}; "
            f"{model.name} takes at most {model.max_tokens}: shorten it"
        )
    check_ids(tokens, model)


def check_ids(ids: Iterable[int], model: ModelDescription) -> None:
    """Every id is in the vocabulary."""
    bad = [token for token in ids if not 0 <= token < model.vocabulary]
    if bad:
        raise BadRequest(f"token id {bad[0]} is outside the vocabulary [0, {model.vocabulary})")


def check_sites(
    hooks: Iterable[str],
    layers: Iterable[int],
    positions: Iterable[int],
    model: ModelDescription,
    n_positions: int,
) -> None:
    """Every hook, layer and position exists."""
    for hook in hooks:
        if hook not in model.hooks:
            elsewhere, why = model.elsewhere(hook), model.why_not(hook)
            raise UnknownHook(hook, model.hooks, elsewhere=elsewhere, why=why)
    for layer in layers:
        if not 0 <= layer < model.n_layers:
            raise LayerOutOfRange(layer, model.n_layers)
    for position in positions:
        if not 0 <= position < n_positions:
            raise PositionOutOfRange(position, n_positions)


def check_writes(writes: Iterable[Write], model: ModelDescription, n_positions: int) -> None:
    """Every write has a site that exists."""
    writes = list(writes)
    sites = [(write.site.hook, write.site.layer, write.site.positions) for write in writes]
    for hook, layer, positions in dict.fromkeys(sites):
        check_sites([hook], [layer], positions, model, n_positions)
    check_heads(writes, model, n_positions)
    sent: dict[int, FromSenders] = {}
    receivers: set[tuple[Hook, int]] = set()
    for write in writes:
        if isinstance(write.source, FromSenders):
            sent[id(write.source)] = write.source
            receivers.add((write.site.hook, write.site.layer))
    check_senders(sent.values(), receivers, model, n_positions)


def check_senders(
    sources: Iterable[FromSenders],
    receivers: Iterable[tuple[Hook, int]],
    model: ModelDescription,
    n_positions: int,
) -> None:
    """What edges begin at adds to the stream, and what they end at reads it."""
    for source in sources:
        check_writes(source.writes, model, n_positions)
        check_apart(source.writes)
        for site in [write.site for write in source.writes]:
            spec = HOOK_TABLE[site.hook]
            embedded = spec.enters == 0 and site.layer == 0
            if not spec.sends and not embedded:
                raise BadRequest(
                    f"{site.hook} of layer {site.layer} is no sender: take "
                    f"{', '.join(SENDING)}, or pre_attn of layer 0"
                )
    for hook, layer in receivers:
        spec = HOOK_TABLE[hook]
        last = spec.enters == 1 and layer == model.n_layers - 1
        if not spec.receives and not last:
            raise BadRequest(
                f"{hook} of layer {layer} receives nothing of its own: take "
                f"{', '.join(RECEIVING)}, or post_block of the last layer"
            )


def check_completion_writes(writes: Sequence[Write]) -> None:
    """Completions write to the residual stream and its branches; heads are written in sweeps."""
    for write in writes:
        if HOOK_TABLE[write.site.hook].per != "model":
            raise BadRequest(
                f"{write.site.hook} is a hook of heads, which sweeps write to and completions do "
                "not; patch attn_out here, or sweep over heads"
            )


def check_side_by_side(
    asked: Sequence[GenerateRequest], edit: Edit | None, model: ModelDescription
) -> None:
    """Completions of which tokens are told and nothing else, and where an edit is."""
    for request in asked:
        check_sampling(request, model)
        check_tokens(request.tokens, model, room=request.max_tokens)
        told = request.logprob_ids or request.top_logprobs or request.prompt_logprobs is not None
        if told:
            raise BadRequest("completions side by side tell tokens only; generate one for the rest")
        check_writes(request.writes, model, len(request.tokens) + request.max_tokens - 1)
        check_apart(request.writes)
        check_completion_writes(request.writes)
    if edit is None:
        return
    check_sites([edit.reads, edit.writes], [edit.layer], [], model, 0)
    for hook in (edit.reads, edit.writes):
        if HOOK_TABLE[hook].per != "model":
            raise BadRequest(f"{hook} is a hook of heads, and an edit is of the residual stream")


def check_rows(rows: Sequence[Row], model: ModelDescription, n_positions: int) -> None:
    """Every write has a site that exists, and no row writes twice to one place."""
    check_writes([write for row in rows for write in row.writes], model, n_positions)
    for row in rows:
        check_apart(row.writes)
        check_readers_apart(row.writes)


def check_apart(writes: Sequence[Write]) -> None:
    """No two writes of one run are at the same place: which would win?"""
    if len(writes) == 1 and len(set(writes[0].site.positions)) == len(writes[0].site.positions):
        return  # nearly always, and there are thousands
    if sum(len(write.site.positions) for write in writes) < 2:
        return
    seen: set[tuple[Hook | None, int, int, int | None]] = set()
    for spot in spots(writes):
        enters = HOOK_TABLE[spot.hook].enters
        # What leaves a layer is the very tensor that enters the next.
        hook = None if enters is not None else spot.hook
        place = (hook, spot.layer + (enters or 0), spot.position, spot.head)
        if place in seen:
            raise BadRequest(
                f"two patches write to {spot.hook}, layer {spot.layer}, position "
                f"{spot.position} (post_block of a layer is pre_attn of the next); keep one"
            )
        seen.add(place)


def check_readout(readout: Readout, model: ModelDescription, n_positions: int) -> None:
    """Every column can be told."""
    if not readout.columns:
        raise BadRequest("nothing to read out: name at least one token")
    for column in dict.fromkeys(readout.columns):
        if column.quantity == "kl":
            if column.against is None:
                raise BadRequest("kl needs a prompt to compare with")
            check_tokens(column.against, model)
        else:
            check_ids([_token_of(column)], model)
        if not -n_positions <= column.position < n_positions:
            raise PositionOutOfRange(column.position, n_positions)


def _token_of(column: Column) -> int:
    if column.token is None:
        raise BadRequest(f"{column.quantity} is of a token; name one")
    return column.token


def check_work(work: Work, model: ModelDescription) -> None:
    """Everything about some rows of a prompt, before any of it runs."""
    check_tokens(work.tokens, model)
    check_readout(work.readout, model, len(work.tokens))
    check_rows(work.rows, model, len(work.tokens))


def check_sampling(request: GenerateRequest, model: ModelDescription) -> None:
    """The numbers of a completion make sense."""
    if request.max_tokens < 1:
        raise BadRequest(f"max_tokens is {request.max_tokens}; ask for at least 1")
    if not (math.isfinite(request.temperature) and request.temperature >= 0):
        raise BadRequest(f"temperature is {request.temperature}; it is 0 (greedy) or more")
    if not 0 < request.top_p <= 1:
        raise BadRequest(f"top_p is {request.top_p}; it is above 0 and at most 1")
    if not 0 <= request.top_logprobs <= model.vocabulary:
        raise BadRequest(f"top_logprobs is {request.top_logprobs}; at most {model.vocabulary}")
    if not 0 <= (request.prompt_logprobs or 0) <= model.vocabulary:
        raise BadRequest(
            f"prompt_logprobs is {request.prompt_logprobs}; it is from 0 to {model.vocabulary}"
        )
    _check_choice(request, model)
    check_ids(request.logprob_ids, model)


def _check_choice(request: GenerateRequest, model: ModelDescription) -> None:
    """The numbers that limit which token is chosen."""
    if request.top_k < 0:
        raise BadRequest(f"top_k is {request.top_k}; it is 0 (all tokens) or more")
    if not 0 <= request.min_p <= 1:
        raise BadRequest(f"min_p is {request.min_p}; it is from 0 to 1")
    if not PENALTIES[0] <= request.repetition_penalty <= PENALTIES[1]:
        raise BadRequest(
            f"repetition_penalty is {request.repetition_penalty}; it is from {PENALTIES[0]} to "
            f"{PENALTIES[1]}, and 1 changes nothing"
        )
    if not 0 <= request.min_tokens <= request.max_tokens:
        raise BadRequest(
            f"min_tokens is {request.min_tokens}; it is from 0 to max_tokens, {request.max_tokens}"
        )
    check_ids(request.stop_ids, model)
    if request.min_tokens and len(request.stop_ids) >= model.vocabulary:
        raise BadRequest("every token is a stop token, so min_tokens leaves none to choose")
