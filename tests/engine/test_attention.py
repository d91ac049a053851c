"""What heads attend to: patterns against the model's own, scores of patterns made by hand."""

from typing import Any

import numpy as np
import pytest
import torch

from sonde.engine.attention import HEAD_SCORES, attend, head_scores, told
from sonde.engine.plan import Limits
from sonde.errors import BadRequest, HeadOutOfRange, LayerOutOfRange
from sonde.schema.attention import AttentionRequest
from tests.architectures import ARCHITECTURES
from tests.backends.torch.tiny import prompt, tiny_backend
from tests.scripted import Scripted

PACKED = [name for name, each in ARCHITECTURES.items() if each.path == "packed"]
TOKENS = prompt(9, 4)
LIMITS = Limits()


def asked(**fields: Any) -> AttentionRequest:
    return AttentionRequest(**({"prompt": TOKENS} | fields))


@pytest.mark.parametrize("name", PACKED)
def test_patterns_are_those_that_the_model_itself_tells(name: str) -> None:
    backend = tiny_backend(name)
    if "pattern" not in backend.describe().hooks:
        pytest.fail(f"{name} is on the packed path and has no patterns")
    found = attend(backend, asked(), LIMITS).patterns
    model = ARCHITECTURES[name].build()
    with torch.no_grad():
        own = model(torch.tensor([TOKENS]), output_attentions=True).attentions
    assert found is not None
    expected = np.stack([layer[0, :, :, : len(TOKENS)].numpy() for layer in own])
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6)


def test_layers_and_heads_are_those_named_in_their_order() -> None:
    backend = tiny_backend("llama")
    everything = attend(backend, asked(), LIMITS)
    some = attend(backend, asked(layers=[1, 0], heads=[3, 1]), LIMITS)
    assert (some.layers, some.heads) == ([1, 0], [3, 1])
    assert everything.patterns is not None
    assert some.patterns is not None
    assert np.array_equal(some.patterns, everything.patterns[[1, 0]][:, [3, 1]])
    assert backend.manifests() == {}


def test_the_three_scores_of_patterns_made_by_hand() -> None:
    tokens = [7, 8, 7, 8, 9]
    n = len(tokens)
    before, same, after = np.eye(n, k=-1), np.zeros((n, n)), np.zeros((n, n))
    same[2, 0] = same[3, 1] = 1.0  # each looks at its own earlier occurrence
    after[2, 1] = after[3, 2] = 1.0  # and at what followed that
    patterns = np.stack([before, same, after]).astype(np.float32)

    scores = head_scores(patterns, tokens)

    assert list(scores) == list(HEAD_SCORES)
    np.testing.assert_allclose(scores["previous"], [1.0, 0.0, 0.5])
    np.testing.assert_allclose(scores["duplicate"], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(scores["induction"], [1.0, 0.0, 1.0])


def test_weights_on_several_such_keys_are_added_and_positions_without_one_left_out() -> None:
    tokens = [5, 5, 6, 5]
    pattern = np.zeros((1, 4, 4), dtype=np.float32)
    pattern[0, 1, 0] = 0.5
    pattern[0, 3] = [0.25, 0.5, 0.125, 0.125]

    scores = head_scores(pattern, tokens)

    # position 1 has one earlier 5, position 3 has two; what follows a 5 is at 1 and 2, and what
    # follows the 5 at 0 is, for position 1, itself: no key of induction
    np.testing.assert_allclose(scores["duplicate"], [(0.5 + 0.75) / 2])
    np.testing.assert_allclose(scores["induction"], [0.5 + 0.125])


def test_where_no_token_comes_twice_two_of_the_scores_are_not_there() -> None:
    scores = head_scores(np.full((2, 3, 3), 0.25, dtype=np.float32), [1, 2, 3])
    assert np.isnan(scores["duplicate"]).all()
    assert np.isnan(scores["induction"]).all()
    np.testing.assert_allclose(scores["previous"], [0.25, 0.25])


def test_repeated_random_tokens_are_drawn_by_a_seed_and_begin_as_prompts_do() -> None:
    backend = tiny_backend("llama")
    before = [token.id for token in backend.describe().special_tokens.before]
    request = AttentionRequest(repeated=6, seed=3, scores=True)
    first, again = (attend(backend, request, LIMITS) for _ in range(2))
    other = attend(backend, request.model_copy(update={"seed": 4}), LIMITS)
    plain = first.tokens[len(before) :]
    assert first.tokens[: len(before)] == before
    assert plain[:6] == plain[6:]
    assert first.tokens == again.tokens != other.tokens
    assert first.patterns is None
    assert first.scores is not None
    assert {name: each.shape for name, each in first.scores.items()} == dict.fromkeys(
        HEAD_SCORES, (3, 4)
    )


def test_scores_are_those_of_the_patterns() -> None:
    backend = tiny_backend("llama")
    tokens = [*TOKENS, *TOKENS[2:]]
    patterns = attend(backend, asked(prompt=tokens), LIMITS).patterns
    scores = attend(backend, asked(prompt=tokens, scores=True), LIMITS).scores
    assert patterns is not None
    assert scores is not None
    for layer, each in enumerate(patterns):
        for name, values in head_scores(each, tokens).items():
            assert np.array_equal(scores[name][layer], values)


def test_how_many_numbers_come_is_known_before() -> None:
    backend = tiny_backend("llama")
    assert told(backend, asked(heads=[0]), LIMITS) == 3 * len(TOKENS) ** 2
    assert told(backend, asked(scores=True), LIMITS) == 3 * 3 * 4


def test_what_cannot_be_told_is_refused_in_one_line() -> None:
    backend = tiny_backend("llama")
    refused: list[tuple[Any, type[Exception], str]] = [
        (asked(heads=[4]), HeadOutOfRange, r"head 4 is out of range \[0, 4\) at pattern"),
        (asked(layers=[3]), LayerOutOfRange, "3"),
        (asked(layers={"start": 0, "stop": 4}), LayerOutOfRange, "3"),
        (asked(layers=[]), BadRequest, "no layer is named"),
        (asked(repeated=4), BadRequest, "exactly one of prompt and repeated"),
        (AttentionRequest(), BadRequest, "exactly one of prompt and repeated"),
        (asked(prompt=[1] * 20_000), BadRequest, "at most 268,435,456 .* at the most"),
    ]
    for request, kind, why in refused:
        with pytest.raises(kind, match=why) as error:
            attend(backend, request, LIMITS)
        assert "\n" not in str(error.value)


def test_a_model_without_patterns_says_which_hooks_it_has() -> None:
    with pytest.raises(BadRequest, match="cannot be read on backend 'torch'.*pre_attn"):
        attend(Scripted(), AttentionRequest(prompt="The Colosseum"), LIMITS)
