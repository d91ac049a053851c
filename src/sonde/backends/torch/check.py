"""What is wrong with a call, before anything runs."""

import math
from collections.abc import Iterable, Sequence

from sonde.backends.base import GenerateRequest, Patch, Row
from sonde.errors import BadRequest, LayerOutOfRange, PositionOutOfRange, UnknownHook
from sonde.schema import Hook, ModelDescription


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
            raise UnknownHook(hook, model.hooks)
    for layer in layers:
        if not 0 <= layer < model.n_layers:
            raise LayerOutOfRange(layer, model.n_layers)
    for position in positions:
        if not 0 <= position < n_positions:
            raise PositionOutOfRange(position, n_positions)


def check_patches(patches: Sequence[Patch], model: ModelDescription, n_positions: int) -> None:
    """Every patch has a site that exists."""
    sites = [(patch.hook, patch.layer, patch.position) for patch in patches]
    for hook, layer, position in dict.fromkeys(sites):
        check_sites([hook], [layer], [position], model, n_positions)


def check_rows(rows: Sequence[Row], model: ModelDescription, n_positions: int) -> None:
    """Every patch has a site that exists, and no row writes twice to one place."""
    check_patches([patch for row in rows for patch in row.patches], model, n_positions)
    for row in rows:
        check_apart(row.patches)


def check_apart(patches: Sequence[Patch]) -> None:
    """No two patches of one run write to the same place: which would win?"""
    if len(patches) < 2:
        return
    seen: set[tuple[Hook, int, int]] = set()
    for patch in patches:
        place = (patch.hook, patch.layer, patch.position)
        if patch.hook == "post_block":  # the same tensor enters the next layer
            place = ("pre_attn", patch.layer + 1, patch.position)
        if place in seen:
            raise BadRequest(
                f"two patches write to {patch.hook}, layer {patch.layer}, position "
                f"{patch.position} (post_block of a layer is pre_attn of the next); keep one"
            )
        seen.add(place)


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
    check_ids(request.logprob_ids, model)
