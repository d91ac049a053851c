"""vLLM's sampling parameters for the three things this backend asks of it."""

from collections.abc import Sequence
from typing import Any, Final

from sonde.backends.base import GenerateRequest
from sonde.errors import BadRequest

MOST_IDS: Final = 128
"""vLLM's own limit on the tokens whose log-probability one request may name."""


def scoring(token_ids: Sequence[int], *, prompt: bool = False) -> Any:
    """The log-probabilities of some ids after the prompt; with `prompt`, of its own tokens, too."""
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    return SamplingParams(
        max_tokens=1,
        temperature=0.0,
        logprob_token_ids=distinct(token_ids) or None,
        prompt_logprobs=0 if prompt else None,
        detokenize=False,
        ignore_eos=True,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def capturing() -> Any:
    """A run for its activations alone, every position computed anew."""
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    return SamplingParams(
        max_tokens=1,
        temperature=0.0,
        detokenize=False,
        ignore_eos=True,
        output_kind=RequestOutputKind.FINAL_ONLY,
        skip_reading_prefix_cache=True,
    )


def generating(request: GenerateRequest) -> Any:
    """A completion, its tokens one by one."""
    from vllm import SamplingParams
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import RequestOutputKind

    ids = distinct(request.logprob_ids)
    if ids and request.top_logprobs:
        raise BadRequest(
            "the vLLM backend gives the log-probabilities of named tokens or of the likeliest, "
            "not of both at once; leave logprob_ids or top_logprobs out"
        )
    try:
        return SamplingParams(
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            top_p=request.top_p,
            top_k=request.top_k,
            min_p=request.min_p,
            min_tokens=request.min_tokens,
            repetition_penalty=request.repetition_penalty,
            seed=request.seed % 2**63,
            stop_token_ids=sorted(request.stop_ids),
            logprobs=None if ids else request.top_logprobs,
            logprob_token_ids=ids or None,
            prompt_logprobs=request.prompt_logprobs,
            detokenize=False,
            ignore_eos=True,
            output_kind=RequestOutputKind.DELTA,
        )
    except (ValueError, VLLMValidationError) as error:
        raise BadRequest(f"vLLM refuses this request: {error}") from error


def distinct(token_ids: Sequence[int]) -> list[int]:
    """Each id once."""
    ids = list(dict.fromkeys(token_ids))
    if len(ids) > MOST_IDS:
        raise BadRequest(
            f"{len(ids)} token ids; the vLLM backend grades at most {MOST_IDS} at a time"
        )
    return ids
