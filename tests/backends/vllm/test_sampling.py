"""What is asked of vLLM's sampler."""

import pytest

pytest.importorskip("vllm")
pytestmark = pytest.mark.vllm

from sonde.backends.base import GenerateRequest  # noqa: E402
from sonde.backends.vllm import sampling  # noqa: E402
from sonde.errors import BadRequest  # noqa: E402


def test_scoring_asks_for_exactly_the_ids_each_once() -> None:
    params = sampling.scoring([7, 3, 7])
    assert (params.logprob_token_ids, params.max_tokens, params.temperature) == ([7, 3], 1, 0.0)


def test_only_a_readout_of_the_prompt_gives_up_the_cache() -> None:
    assert sampling.scoring([7]).prompt_logprobs is None
    assert not sampling.scoring([7]).skip_reading_prefix_cache
    forced = sampling.scoring([], prompt=True)
    assert (forced.prompt_logprobs, forced.logprob_token_ids) == (0, None)
    assert forced.skip_reading_prefix_cache


def test_a_capture_takes_nothing_from_the_cache() -> None:
    assert sampling.capturing().skip_reading_prefix_cache


def test_a_completion_is_asked_for_as_it_was_wanted() -> None:
    wanted = GenerateRequest((1,), 9, (), 0.5, 0.9, -3, frozenset({4, 2}), (), 5)
    params = sampling.generating(wanted)
    assert (params.max_tokens, params.temperature, params.top_p) == (9, 0.5, 0.9)
    assert (params.stop_token_ids, params.logprobs, params.ignore_eos) == ([2, 4], 5, True)
    assert params.seed == 2**63 - 3


def test_13_limits_and_the_prompts_log_probabilities_are_vllms_own() -> None:
    wanted = GenerateRequest(
        (1,), temperature=1.0, top_k=4, min_p=0.2, min_tokens=3, repetition_penalty=1.5,
        prompt_logprobs=2,
    )  # fmt: skip
    params = sampling.generating(wanted)
    assert (params.top_k, params.min_p, params.min_tokens) == (4, 0.2, 3)
    assert (params.repetition_penalty, params.prompt_logprobs) == (1.5, 2)
    assert params.skip_reading_prefix_cache


def test_13_what_vllm_refuses_is_the_callers_to_change() -> None:
    with pytest.raises(BadRequest, match="vLLM refuses this request: temperature must be"):
        sampling.generating(GenerateRequest((1,), temperature=1e9))


def test_named_ids_take_the_place_of_the_likeliest() -> None:
    params = sampling.generating(GenerateRequest((1,), logprob_ids=(4, 4, 5)))
    assert (params.logprob_token_ids, params.logprobs) == ([4, 5], None)
    with pytest.raises(BadRequest, match="not of both"):
        sampling.generating(GenerateRequest((1,), logprob_ids=(4,), top_logprobs=2))


def test_more_ids_than_vllm_takes_are_refused() -> None:
    with pytest.raises(BadRequest, match="129 token ids.*at most 128"):
        sampling.scoring(range(129))
