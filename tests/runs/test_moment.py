"""From a watched generation to a prompt and an answer."""

import pytest

from sonde.errors import BadRequest
from sonde.runs.moment import checkpoint_near, moments_of, why_near
from sonde.schema.analytics import (
    Coverage,
    GenerationRow,
    GenerationView,
    LayerFeatures,
    TokenFeatures,
)


def tokenize(text: str, special: bool) -> list[int]:
    """A character a token; 99 is the special one."""
    return [99] * special + [ord(character) for character in text]


def view(
    completion: str | None = "abcdef", tokens: int = 6, recorded: tuple[int, ...] = (0, 4)
) -> GenerationView:
    seen = [
        TokenFeatures(
            token_index=100 + at,
            position=at,
            layers=[
                LayerFeatures(layer=15, features=[7, 3], activations=[float(at), 0.5], loss=1.0),
                LayerFeatures(layer=20, features=[], activations=[], loss=1.0),
            ],
        )
        for at in recorded
    ]
    row = GenerationRow(
        generation_id="3-1", group_id="3-0", step=3, R=1.0, R_A=1.0, R_B=None, R_C=None, R_D=None,
        gate=True, advantage=None, truncated=False, prompt_tokens=4, completion_tokens=tokens,
        token_start=100, token_end=100 + tokens, prompt="Q: ", completion=completion,
    )  # fmt: skip
    coverage = Coverage(complete=True, bytes_read=0, bytes_total=0, records=0, withheld=0)
    return GenerationView(
        coverage=coverage, generation=row, siblings=[], tokens=seen, more=False, reason=None
    )


def test_the_prompt_ends_with_the_recorded_token_and_the_answer_is_what_was_said_next() -> None:
    first, last = moments_of(view(), tokenize, layer=15)
    assert first.tokens == (99, *map(ord, "Q: a"))
    assert chr(first.answer) == "b"
    assert last.tokens == (99, *map(ord, "Q: abcde"))
    assert (chr(last.answer), last.features) == ("f", (7, 3))
    assert (last.generation_id, last.step, last.layer, last.token) == ("3-1", 3, 15, 4)


def test_a_token_can_be_named() -> None:
    (only,) = moments_of(view(), tokenize, layer=15, token=4)
    assert only.token == 4


def test_after_the_last_token_of_the_prompt_the_first_was_said() -> None:
    at_end, _ = moments_of(view(recorded=(-1, 2)), tokenize, layer=15)
    assert at_end.tokens == (99, *map(ord, "Q: "))
    assert (chr(at_end.answer), at_end.token) == ("a", -1)
    (only,) = moments_of(view(recorded=(-1, 2)), tokenize, layer=15, token=-1)
    assert only == at_end


def test_an_end_token_that_has_no_text_is_allowed_for() -> None:
    assert moments_of(view("abcdef", tokens=7), tokenize, layer=15)


def test_a_last_token_has_no_answer() -> None:
    with pytest.raises(BadRequest, match=r"recorded are \[5\]"):
        moments_of(view(recorded=(5,)), tokenize, layer=15)


@pytest.mark.parametrize("layer", [20, 3])
def test_a_layer_without_features_is_refused(layer: int) -> None:
    with pytest.raises(BadRequest, match=rf"at layer {layer} .* layers \[15, 20\]"):
        moments_of(view(), tokenize, layer=layer)


def test_text_that_comes_out_at_other_tokens_is_refused() -> None:
    with pytest.raises(BadRequest, match=r"4 \+ 9 tokens and its text is 4 \+ 6"):
        moments_of(view(tokens=9), tokenize, layer=15)


def test_text_that_is_gone_is_refused() -> None:
    with pytest.raises(BadRequest, match="no longer"):
        moments_of(view(None), tokenize, layer=15)


def test_the_nearest_checkpoint_is_the_one_that_said_it() -> None:
    assert checkpoint_near([10, 20], 11) == 10
    assert checkpoint_near([10, 20], 19) == 20
    assert checkpoint_near([10], 1) == 10
    with pytest.raises(BadRequest, match="no checkpoint"):
        checkpoint_near([], 5)


@pytest.mark.parametrize(
    ("steps", "step", "taken", "why"),
    [
        ([10, 20], 21, 20, "the weights of step 20 said, and these are those"),
        ([10, 20, 30], 19, 20, "this is the nearest there is (the others are of 10, 30)"),
        ([10, 20], 16, 10, "this is the earlier of two as near (the others are of 20)"),
        ([10], 3, 10, "and the run has no other checkpoint"),
    ],
)
def test_which_checkpoint_was_taken_is_said_with_the_reason(
    steps: list[int], step: int, taken: int, why: str
) -> None:
    said = why_near(steps, step, checkpoint_near(steps, step))
    assert said.startswith(f"checkpoint-{taken}: step {step} learns from what ")
    assert said.endswith(why)
