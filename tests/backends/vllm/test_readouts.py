"""What vLLM can tell of a row, and what it refuses by name."""

from types import SimpleNamespace
from typing import Any

import pytest

from sonde.backends.base import Column, Quantity, Readout, Work, logprobs_of
from sonde.backends.vllm.readouts import check_told, reads_prompt, told
from sonde.errors import BadRequest, EngineError

TOKENS = (11, 12, 13, 14)


def work(*columns: Column) -> Work:
    return Work(TOKENS, (), Readout(columns))


def entry(token: int, value: float) -> dict[int, Any]:
    return {token: SimpleNamespace(logprob=value, rank=1)}


def output(*, prompt: Any = None) -> Any:
    last = {**entry(7, -1.0), **entry(3, -2.0)}
    return SimpleNamespace(outputs=[SimpleNamespace(logprobs=[last])], prompt_logprobs=prompt)


WHOLE = [None, entry(12, -0.1), entry(13, -0.2), entry(14, -0.3)]


def test_values_are_in_the_order_asked_for_and_may_repeat() -> None:
    asked = Work(TOKENS, (), logprobs_of([3, 7, 3]))
    check_told(asked)
    assert not reads_prompt(asked)
    assert told(output(), asked) == [-2, -1, -2]


def test_an_answer_of_several_tokens_is_read_where_each_was_expected() -> None:
    asked = work(Column("logprob", 13, 1), Column("logprob", 14, -2), Column("logprob", 7))
    check_told(asked)
    assert reads_prompt(asked)
    assert told(output(prompt=WHOLE), asked) == [-0.2, -0.3, -1.0]


@pytest.mark.parametrize("quantity", ["logit", "rank", "kl"])
def test_other_quantities_are_refused_by_name(quantity: Quantity) -> None:
    column = Column(quantity, None if quantity == "kl" else 7, against=TOKENS)
    with pytest.raises(BadRequest, match=f"{quantity} cannot be read on the vLLM backend; it tells "
                       "logprob.*use backend='torch'"):  # fmt: skip
        check_told(work(Column("logprob", 7), column))


def test_another_token_inside_the_prompt_is_refused_by_name() -> None:
    with pytest.raises(BadRequest, match=r"token 7 after position 1.*here 13.*backend='torch'"):
        check_told(work(Column("logprob", 7, 1)))


def test_more_tokens_than_vllm_takes_are_refused_before_anything_runs() -> None:
    with pytest.raises(BadRequest, match="at most 128"):
        check_told(Work(TOKENS, (), logprobs_of(range(129))))


@pytest.mark.parametrize("prompt", [None, WHOLE[:3], [None, None, None, None]])
def test_an_answer_that_lacks_what_was_asked_is_never_a_number(prompt: Any) -> None:
    with pytest.raises(EngineError, match="token 13 after position 1"):
        told(output(prompt=prompt), work(Column("logprob", 13, 1)))
