"""What is wrong with a call, before anything runs."""

from collections.abc import Iterable, Sequence

from sonde.backends.base import Patch
from sonde.errors import BadRequest, LayerOutOfRange, PositionOutOfRange, UnknownHook
from sonde.schema import ModelDescription


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
    bad = [token for token in tokens if not 0 <= token < model.vocabulary]
    if bad:
        raise BadRequest(f"token id {bad[0]} is outside the vocabulary [0, {model.vocabulary})")


def check_patches(patches: Iterable[Patch], model: ModelDescription, n_positions: int) -> None:
    """Every patch has a site that exists."""
    for patch in patches:
        if patch.hook not in model.hooks:
            raise UnknownHook(patch.hook, model.hooks)
        if not 0 <= patch.layer < model.n_layers:
            raise LayerOutOfRange(patch.layer, model.n_layers)
        if not 0 <= patch.position < n_positions:
            raise PositionOutOfRange(patch.position, n_positions)
