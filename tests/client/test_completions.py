"""Completions of one token, and captures."""

import asyncio
from typing import Any

import pytest

from sonde.client import CleanRun, PatchStudy
from sonde.client.completions import one_token_body
from sonde.client.grading import Graded
from tests.client.canned import Canned, said
from tests.client.conftest import CLEAN


def completion(**more: Any) -> dict[str, Any]:
    logprobs = {"tokens": ["x"], "token_logprobs": [-9.0], "top_logprobs": [{"a": -1.0, "b": -3.0}]}
    return {"choices": [{"logprobs": logprobs}], "usage": {"prompt_tokens": 5}, **more}


def test_a_cell_is_one_greedy_token_graded_by_ids() -> None:
    assert one_token_body("m", "p", []) == {
        "model": "m",
        "prompt": "p",
        "max_tokens": 1,
        "temperature": 0.0,
    }
    graded = one_token_body("m", "p", [Graded("a", 7), Graded("b", 9)])
    assert (graded["logprobs"], graded["logprob_token_ids"]) == (2, [7, 9])


def test_a_capture_is_stored_before_it_is_reported_with_its_baselines(study: PatchStudy) -> None:
    clean = study.capture_clean(CLEAN, run="whole", answer_token=" Paris", foil_token=" Rome")
    assert (clean.run_id, clean.num_prompt_tokens, clean.prompt) == ("whole", 8, CLEAN)
    assert (clean.hook, clean.answer_token) == ("post_block", " Paris")
    assert clean.clean_logprob is not None
    assert clean.clean_logprob < 0
    assert clean.clean_logit_diff is not None
    [stored] = [run for run in asyncio.run(study.runs()).runs if run.run == "whole"]
    assert (stored.hooks, stored.layers) == (["post_block"], [0, 1, 2, 3])
    assert stored.positions == list(range(8))
    assert study.drop_run("whole") is True
    assert study.drop_run("whole") is False


def test_a_capture_keeps_what_it_is_told_to(study: PatchStudy) -> None:
    clean = study.capture_clean(
        CLEAN, run="part", layers=range(1, 3), hook="mlp_in", positions=[2, 5]
    )
    assert clean == CleanRun("part", 8, "mlp_in", prompt=CLEAN)
    [stored] = [run for run in asyncio.run(study.runs()).runs if run.run == "part"]
    assert (stored.hooks, stored.layers, stored.positions) == (["mlp_in"], [1, 2], [2, 5])
    assert study.drop_run("part") is True


def test_a_capture_sends_what_the_contract_says(canned: Canned, canned_study: PatchStudy) -> None:
    canned.answers = {
        "/v1/completions": lambda _: said(completion()),
        "/tokenize": lambda asked: said({"tokens": [ord(asked.body["prompt"])]}),
    }
    clean = canned_study.capture_clean("p", run="r", answer_token="a", foil_token="b")
    assert clean == CleanRun("r", 5, "post_block", "a", -1.0, 2.0, "p")
    assert canned.bodies("/v1/completions") == [
        {
            "model": "tiny",
            "prompt": "p",
            "max_tokens": 1,
            "temperature": 0.0,
            "logprobs": 2,
            "logprob_token_ids": [97, 98],
            "capture": {
                "patch_source": {
                    "run": "r",
                    "hooks": {"post_block": "all"},
                    "positions": "all_prompt",
                }
            },
            "capture_wait": True,
        }
    ]


def test_a_capture_that_was_not_stored_is_an_error(
    canned: Canned, canned_study: PatchStudy
) -> None:
    report: dict[str, Any] = {"patch_source": {"status": "pending", "error": None, "payload": {}}}
    canned.answers["/v1/completions"] = lambda _: said(completion(capture_results=report))
    with pytest.raises(RuntimeError, match="run 'r' was not stored: pending"):
        canned_study.capture_clean("p", run="r")


def test_a_foil_needs_an_answer(canned_study: PatchStudy) -> None:
    with pytest.raises(ValueError, match="give that too"):
        canned_study.capture_clean("p", run="r", foil_token=" Rome")
