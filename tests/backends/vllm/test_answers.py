"""Numbers out of vLLM's outputs, and patches that cannot be."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sonde.backends.base import FromRun, FromVector, GenerateRequest, Patch
from sonde.backends.vllm.answers import check_held, check_vectors, generated, graded
from sonde.errors import BadRequest, BadVectors, EngineError, UnknownSourceRun
from sonde.schema import SourceRun


def entries(*values: tuple[int, float, int]) -> dict[int, Any]:
    return {token: SimpleNamespace(logprob=value, rank=rank) for token, value, rank in values}


def run(hooks: list[str], layers: list[int], positions: list[int]) -> SourceRun:
    return SourceRun.model_validate(
        {
            "run": "r", "generation": 1, "prompt": "d", "n_tokens": 9, "hooks": hooks,
            "layers": layers, "positions": positions, "bytes": 1, "weights": "w",
            "age_seconds": 0.0, "lease_seconds": None,
        }
    )  # fmt: skip


def test_graded_values_are_in_the_order_asked_for_and_may_repeat() -> None:
    output = SimpleNamespace(outputs=[SimpleNamespace(logprobs=[entries((7, -1, 1), (3, -2, 2))])])
    assert graded(output, [3, 7, 3]) == [-2, -1, -2]


def test_the_likeliest_are_told_from_the_chosen_one_by_their_rank() -> None:
    found = entries((9, -4.0, 12), (5, -0.5, 1), (6, -1.0, 2))
    made = generated(9, found, GenerateRequest((1,), top_logprobs=2), 1)
    assert (made.token, made.logprob) == (9, -4.0)
    assert made.logprobs == {5: -0.5, 6: -1.0}


def test_the_ids_asked_for_come_back_whatever_their_rank() -> None:
    found = entries((9, -4.0, 12), (5, -0.5, 1))
    made = generated(9, found, GenerateRequest((1,), logprob_ids=(5, 9)), 1)
    assert made.logprobs == {5: -0.5, 9: -4.0}


def test_what_is_no_distribution_is_an_error() -> None:
    nothing = entries((9, math.nan, 1))
    with pytest.raises(EngineError, match="after 4 tokens"):
        generated(9, nothing, GenerateRequest((1,)), 4)
    patch = Patch("mlp_in", 0, 0, FromVector(np.ones(2, dtype=np.float32)))
    with pytest.raises(BadRequest, match="too large"):
        generated(9, nothing, GenerateRequest((1,), patches=(patch,)), 4)


def test_vectors_and_masks_are_as_wide_as_the_model() -> None:
    wide, narrow = np.ones(4, dtype=np.float32), np.ones(3, dtype=np.float32)
    check_vectors([Patch("mlp_in", 0, 0, FromVector(wide), 1.0, wide)], 4)
    for values, mask in ((narrow, wide), (wide, narrow)):
        with pytest.raises(BadVectors, match="width"):
            check_vectors([Patch("mlp_in", 0, 0, FromVector(values), 1.0, mask)], 4)


def test_a_site_that_was_not_captured_is_named() -> None:
    held = {"r": run(["mlp_in"], [1], [0, 4])}
    check_held([Patch("mlp_in", 1, 2, FromRun("r", (0, 4)))], held)
    wrong = [("mlp_out", 1, (0,)), ("mlp_in", 2, (0,)), ("mlp_in", 1, (0, 3))]
    for hook, layer, positions in wrong:
        patch = Patch(hook, layer, 2, FromRun("r", positions))  # type: ignore[arg-type]
        with pytest.raises(
            UnknownSourceRun, match=f"patch source not found.*{hook}, layer {layer}"
        ):
            check_held([patch], held)
