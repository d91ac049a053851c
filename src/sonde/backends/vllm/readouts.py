"""What vLLM can tell of a row: log-probabilities, by two ways.

After the last position it tells those of any tokens that are named. After an earlier one it tells
that of the prompt's own next token only, which is what an answer of several tokens needs: it is
appended to the prompt, and each of its tokens is read where it was expected. Logits and whole
distributions never leave the engine, and the ranks that it gives named tokens are their numbers in
the request: such columns are refused by name.
"""

from collections.abc import Sequence
from typing import Any, Final

from sonde.backends.base import Column, Quantity, Work
from sonde.backends.vllm import sampling
from sonde.errors import BadRequest, EngineError

TOLD: Final[tuple[Quantity, ...]] = ("logprob",)


def check_told(work: Work) -> None:
    """Every column of the readout is one that vLLM can tell."""
    for column in dict.fromkeys(work.readout.columns):
        if column.quantity not in TOLD:
            raise BadRequest(
                f"{column.quantity} cannot be read on the vLLM backend; it tells logprob (a "
                "difference of logits is one of logprobs, too); use backend='torch'"
            )
        _check_position(column, work.tokens)
    sampling.distinct(_last(work))


def _check_position(column: Column, tokens: Sequence[int]) -> None:
    position = column.position % len(tokens)
    if position < len(tokens) - 1 and column.token != tokens[position + 1]:
        raise BadRequest(
            f"the logprob of token {column.token} after position {position} cannot be read on the "
            "vLLM backend; it tells logprob of any token after the last position, and of the "
            f"prompt's own next token, here {tokens[position + 1]}, after an earlier one; "
            "use backend='torch'"
        )


def reads_prompt(work: Work) -> bool:
    """Whether something is read before the prompt's end, for which every position is computed."""
    last = len(work.tokens) - 1
    return any(column.position % len(work.tokens) != last for column in work.readout.columns)


def asking(work: Work) -> Any:
    """The sampling parameters of one row's request."""
    return sampling.scoring(_last(work), prompt=reads_prompt(work))


def told(output: Any, work: Work) -> list[float]:
    """The numbers of the readout's columns."""
    return [_one(output, column, len(work.tokens)) for column in work.readout.columns]


def _last(work: Work) -> list[int]:
    """The tokens that are read after the last position."""
    n = len(work.tokens)
    at_end = [c.token for c in work.readout.columns if c.position % n == n - 1]
    return [token for token in at_end if token is not None]


def _one(output: Any, column: Column, n_tokens: int) -> float:
    position = column.position % n_tokens
    if position == n_tokens - 1:
        return float(output.outputs[0].logprobs[0][column.token].logprob)
    found = output.prompt_logprobs
    if found is None or len(found) != n_tokens or column.token not in (found[position + 1] or {}):
        raise EngineError(
            f"vLLM answered without the logprob of token {column.token} after position {position}; "
            "load the model with enable_prefix_caching=False"
        )
    return float(found[position + 1][column.token].logprob)
