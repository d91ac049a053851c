"""Numbers out of vLLM's outputs, and patches that cannot be."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from sonde.backends.base import (
    FromRun,
    FromVector,
    GenerateRequest,
    Minus,
    Site,
    Write,
    write_at,
)
from sonde.backends.vllm.answers import (
    check_held,
    check_taken,
    check_values,
    generated,
    scored_prompt,
)
from sonde.errors import (
    BadRequest,
    BadVectors,
    EngineError,
    UnknownSourceRun,
)
from sonde.schema import HOOKS, HeadShape, Hook, ModelDescription, SourceRun, SpecialTokens

HEADS = HeadShape(heads=4, kv_heads=2, key_width=3, value_width=2)
MODEL = ModelDescription(
    name="m", architecture="M", backend="vllm", n_layers=3, width=4, vocabulary=9, max_tokens=9,
    hooks=[hook for hook in HOOKS if hook != "pattern"], heads=HEADS, end_ids=[],
    special_tokens=SpecialTokens(before=[], after=[]), dtype="float32", device="cpu", weights="w",
    path="whole_sequence", path_reason="", exact=False,
)  # fmt: skip


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
    patch = write_at("mlp_in", 0, 0, FromVector(np.ones(2, dtype=np.float32)))
    with pytest.raises(BadRequest, match="too large"):
        generated(9, nothing, GenerateRequest((1,), writes=(patch,)), 4)


def ones(*shape: int) -> FromVector:
    return FromVector(np.ones(shape, dtype=np.float32))


def test_13_a_prompts_tokens_come_with_their_ranks_and_the_likeliest() -> None:
    request = GenerateRequest((3, 9, 5), prompt_logprobs=2)
    found = [None, entries((9, -4.0, 12), (5, -0.5, 1), (6, -1.0, 2)), entries((5, -0.1, 1))]
    first, second = scored_prompt(found, request)
    assert (first.token, first.logprob, first.rank) == (9, -4.0, 12)
    assert list(first.likeliest.items()) == [(5, -0.5), (6, -1.0)]
    assert second.likeliest == {5: -0.1}
    assert scored_prompt(None, GenerateRequest((3, 9, 5))) == ()


def test_13_a_prompt_that_vllm_did_not_score_is_an_error() -> None:
    request = GenerateRequest((3, 9), prompt_logprobs=0)
    for found in (None, [], [None]):
        with pytest.raises(EngineError, match="of 2 tokens of a prompt"):
            scored_prompt(found, request)
    with pytest.raises(EngineError, match="after 1 tokens are not finite"):
        scored_prompt([None, entries((9, math.nan, 1))], request)


def test_vectors_and_masks_are_as_wide_as_the_model() -> None:
    wide, narrow = ones(4), ones(3)
    check_values([write_at("mlp_in", 0, 0, wide, 1.0, wide.values)], MODEL)
    for source, mask in ((narrow, wide), (wide, narrow), (Minus(wide, narrow), wide)):
        with pytest.raises(BadVectors, match="width"):
            check_values([write_at("mlp_in", 0, 0, source, 1.0, mask.values)], MODEL)
    for shape in ((), (4, 4, 4)):
        with pytest.raises(BadVectors, match="width"):
            check_values([write_at("mlp_in", 0, 0, ones(*shape))], MODEL)


def test_a_source_has_one_value_for_every_position_or_one_for_each() -> None:
    site = Site("mlp_in", 0, (2, 3))
    for source in (ones(4), ones(2, 4), FromRun("r", (0, 1))):
        check_values([Write(site, source)], MODEL)
    with pytest.raises(BadVectors, match="3 vectors for 2 positions"):
        check_values([Write(site, ones(3, 4))], MODEL)
    with pytest.raises(BadRequest, match="at 2 positions takes 1 of run 'r'"):
        check_values([Write(site, Minus(ones(4), FromRun("r", (0,))))], MODEL)


def test_values_of_heads_are_as_wide_as_theirs() -> None:
    for hook, width in (("z", 2), ("v", 2), ("q", 3), ("k", 3)):
        site = Site(cast(Hook, hook), 0, (0,), 1)
        check_values([Write(site, ones(width), mask=ones(width).values)], MODEL)
        with pytest.raises(BadVectors, match=rf"width \(4,\) != hook width {width}"):
            check_values([Write(site, ones(4))], MODEL)


def test_a_key_for_some_of_its_readers_is_refused_and_for_all_of_them_is_the_key() -> None:
    whole = Site("k", 0, (0,), 1, readers=(3, 2))
    check_values([Write(whole, ones(3))], MODEL)
    with pytest.raises(
        BadRequest, match="k of key head 1 for query head 3 alone.*all 2 heads.*kv='group', or back"
    ):
        check_values([Write(replace(whole, readers=(3,)), ones(3))], MODEL)


def test_what_is_taken_of_a_head_is_held_with_the_others_of_its_hook() -> None:
    held = {"r": run(["z", "v"], [1], [0])}
    site = Site("z", 1, (0,), 3)
    check_taken([Write(site, FromRun("r", (0,)))], held)
    check_taken([Write(site, FromRun("r", (0,), hook="v", head=1))], held)
    with pytest.raises(UnknownSourceRun, match=r"site=\(q, layer 1, position 0\)"):
        check_taken([Write(site, FromRun("r", (0,), hook="q"))], held)


def test_a_site_that_was_not_captured_is_named() -> None:
    held = {"r": run(["mlp_in"], [1], [0, 4])}
    site = Site("mlp_in", 1, (2, 3))
    check_taken([Write(site, FromRun("r", (0, 4)))], held)
    check_taken([Write(Site("mlp_out", 0, (2,)), FromRun("r", (4,), hook="mlp_in", layer=1))], held)
    wrong = [
        ("mlp_out", 1, FromRun("r", (0, 4), hook="mlp_out")),
        ("mlp_in", 2, FromRun("r", (0, 4), layer=2)),
        ("mlp_in", 1, FromRun("r", (0, 3))),
    ]
    for hook, layer, source in wrong:
        with pytest.raises(
            UnknownSourceRun, match=f"patch source not found.*{hook}, layer {layer}"
        ):
            check_taken([Write(site, Minus(ones(4), source))], held)


def test_what_is_read_must_have_been_captured() -> None:
    held = run(["mlp_in"], [1], [0, 4])
    check_held([Site("mlp_in", 1, (4, 0)), Site("mlp_in", 1, ())], held)
    with pytest.raises(UnknownSourceRun, match="position 2"):
        check_held([Site("mlp_in", 1, (4, 2))], held)
