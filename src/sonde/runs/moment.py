"""From a generation that was watched to a question about the model that said it.

A moment is one recorded token of a completion: everything up to it is the prompt, the token said
next is the answer, and the features that were recorded there are the suspects. Nothing is loaded
here; tokens are counted again with the tokenizer that is handed in, and a completion whose text
does not come out at as many tokens as were recorded is refused, because its positions would be off.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sonde.errors import BadRequest
from sonde.schema.analytics import GenerationView, LayerFeatures, TokenFeatures

Tokenize = Callable[[str, bool], list[int]]
"""Text and whether special tokens are added -> token ids."""


@dataclass(frozen=True)
class Moment:
    """A token of a generation, and what followed it."""

    generation_id: str
    step: int
    layer: int
    token: int
    """Which token of the completion was recorded; -1 is the last of the prompt."""
    tokens: tuple[int, ...]
    """The prompt and the completion up to that token."""
    answer: int
    """The token that was said next."""
    features: tuple[int, ...]
    """Those recorded at that token, strongest first."""


def moments_of(
    view: GenerationView, tokenize: Tokenize, *, layer: int, token: int | None = None
) -> list[Moment]:
    """The moments of a generation at `layer`, first to last; with `token`, that one only."""
    row = view.generation
    name = row.generation_id
    if row.prompt is None or row.completion is None:
        raise BadRequest(
            f"the text of generation {name} is no longer in the run directory; choose another with "
            "--generation"
        )
    prompt, said = tokenize(row.prompt, True), tokenize(row.completion, False)
    if len(prompt) != row.prompt_tokens or not 0 <= row.completion_tokens - len(said) <= 1:
        raise BadRequest(
            f"generation {name} was {row.prompt_tokens} + {row.completion_tokens} tokens and its "
            f"text is {len(prompt)} + {len(said)}: its tokens cannot be told apart again; choose "
            "another with --generation"
        )
    found = [
        Moment(
            generation_id=name,
            step=row.step,
            layer=layer,
            token=each.position,
            tokens=(*prompt, *said[: each.position + 1]),
            answer=said[each.position + 1],
            features=tuple(seen.features),
        )
        for each in view.tokens
        if each.position < len(said) - 1 and token in (None, each.position)
        if (seen := _at(each, layer)) is not None
    ]
    if not found:
        which = "no token" if token is None else f"token {token}"
        raise BadRequest(
            f"{which} of generation {name} was recorded at layer {layer} and followed by another; "
            f"recorded are {[each.position for each in view.tokens]}, and the layers "
            f"{sorted({at.layer for each in view.tokens for at in each.layers})}"
        )
    return found


def _at(token: TokenFeatures, layer: int) -> LayerFeatures | None:
    """What was recorded of a token at a layer, if any feature was."""
    for each in token.layers:
        if each.layer == layer and each.features:
            return each
    return None


def checkpoint_near(steps: Sequence[int], step: int) -> int:
    """The checkpoint whose weights are nearest to those that said something at `step`.

    A completion that step s learns from was said by the weights that s − 1 steps had made.
    """
    if not steps:
        raise BadRequest(
            "the run has no checkpoint: train with --save-steps, or name a model with --model"
        )
    return min(steps, key=lambda saved: (abs(saved - (step - 1)), saved))


def why_near(steps: Sequence[int], step: int, taken: int) -> str:
    """Which checkpoint was taken for something said at `step`, and why, in one line."""
    spoke = step - 1
    said = f"checkpoint-{taken}: step {step} learns from what the weights of step {spoke} said, "
    if taken == spoke:
        return f"{said}and these are those"
    others = sorted(each for each in steps if each != taken)
    if not others:
        return f"{said}and the run has no other checkpoint"
    named = ", ".join(map(str, others[:8])) + (", …" if len(others) > 8 else "")
    away = abs(taken - spoke)
    tie = any(abs(each - spoke) == away for each in others)
    how = "the earlier of two as near" if tie else "the nearest there is"
    return f"{said}and this is {how} (the others are of {named})"
