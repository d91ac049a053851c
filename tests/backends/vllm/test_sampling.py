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


def test_a_capture_takes_nothing_from_the_cache() -> None:
    assert sampling.capturing().skip_reading_prefix_cache


def test_a_completion_is_asked_for_as_it_was_wanted() -> None:
    wanted = GenerateRequest((1,), 9, (), 0.5, 0.9, -3, frozenset({4, 2}), (), 5)
    params = sampling.generating(wanted)
    assert (params.max_tokens, params.temperature, params.top_p) == (9, 0.5, 0.9)
    assert (params.stop_token_ids, params.logprobs, params.ignore_eos) == ([2, 4], 5, True)
    assert params.seed == 2**63 - 3


def test_named_ids_take_the_place_of_the_likeliest() -> None:
    params = sampling.generating(GenerateRequest((1,), logprob_ids=(4, 4, 5)))
    assert (params.logprob_token_ids, params.logprobs) == ([4, 5], None)
    with pytest.raises(BadRequest, match="not of both"):
        sampling.generating(GenerateRequest((1,), logprob_ids=(4,), top_logprobs=2))


def test_more_ids_than_vllm_takes_are_refused() -> None:
    with pytest.raises(BadRequest, match="129 token ids.*at most 128"):
        sampling.scoring(range(129))
