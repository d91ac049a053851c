"""What a capture asks for, checked and spelled out."""

from typing import Any

import pytest

from sonde.schema import CaptureSource
from sonde.server.completion.capturing import CaptureArguments, plan_capture
from sonde.server.errors import OpenAIError
from tests.scripted import LAYERS, Scripted


def plan(hooks: Any, n_tokens: int = 3, **fields: Any) -> CaptureArguments:
    source = CaptureSource(hooks=hooks, **fields)
    return plan_capture(source, "cmpl-1", Scripted().describe(), n_tokens)


def test_everything_of_a_prompt_is_captured_by_default() -> None:
    found = plan({"mlp_in": "all"})
    assert found == CaptureArguments("cmpl-1", ("mlp_in",), tuple(range(LAYERS)), (0, 1, 2))


def test_hooks_that_ask_for_different_layers_get_all_of_them() -> None:
    found = plan({"post_block": [3, 1], "pre_attn": [1, 1, 0]}, run="clean")
    assert found == CaptureArguments("clean", ("pre_attn", "post_block"), (0, 1, 3), (0, 1, 2))


@pytest.mark.parametrize(
    ("asked", "positions"),
    [("all_prompt", (0, 1, 2)), ("last_prompt", (2,)), ([2, 0, 2], (0, 2))],
)
def test_positions_are_words_or_numbers(asked: Any, positions: tuple[int, ...]) -> None:
    assert plan({"mlp_in": "all"}, positions=asked).positions == positions


@pytest.mark.parametrize(
    ("hooks", "fields", "message"),
    [
        ({}, {}, "hooks must be non-empty"),
        ({"attn": "all"}, {}, "'attn' is not injectable .*mlp_in"),
        ({"mlp_in": []}, {}, "hooks.mlp_in is an empty list"),
        ({"mlp_in": [0, LAYERS]}, {}, rf"layer {LAYERS} is out of range \[0, {LAYERS}\)"),
        ({"mlp_in": [-1]}, {}, "layer -1 is out of range"),
        ({"mlp_in": "all"}, {"positions": "all"}, "positions 'all' are not known"),
        ({"mlp_in": "all"}, {"positions": "all_generated"}, "positions 'all_generated'"),
        ({"mlp_in": "all"}, {"positions": []}, "at least one position"),
        ({"mlp_in": "all"}, {"positions": [3]}, r"position 3 is out of range \[0, 3\)"),
        ({"mlp_in": "all"}, {"positions": [-1]}, "position -1 is out of range"),
    ],
)
def test_what_cannot_be_captured_is_refused(hooks: Any, fields: Any, message: str) -> None:
    with pytest.raises(OpenAIError, match=message) as refused:
        plan(hooks, **fields)
    assert refused.value.param == "capture.patch_source"
