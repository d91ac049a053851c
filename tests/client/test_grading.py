"""From a completion to the number of a cell."""

from typing import Any

import pytest

from sonde.client.grading import FLOOR, Graded, Scale, checked_metric, logprobs_of, raw
from sonde.engine.metrics import Grading
from sonde.schema import Metric

PARIS, ROME = Graded(" Paris", 3), Graded(" Rome", 4)


def completion(
    top: dict[str, float] | None, tokens: list[str] | None = None, own: float = -9.0
) -> dict[str, Any]:
    logprobs = {
        "tokens": tokens,
        "token_logprobs": None if tokens is None else [own] * len(tokens),
        "top_logprobs": None if top is None else [top],
    }
    return {"choices": [{"text": "", "logprobs": logprobs}]}


def test_tokens_are_found_letter_for_letter_before_anything_else() -> None:
    said = completion({"Paris": -7.0, " Paris": -1.0, " Rome": -2.0, "token_id:9": -3.0})
    assert logprobs_of(said, [PARIS, ROME]) == [-1.0, -2.0]
    assert logprobs_of(said, [Graded("Paris", 8)]) == [-7.0]


def test_a_token_listed_by_its_id_is_not_taken_for_another_of_the_same_text() -> None:
    said = completion({" Paris": -7.0, "token_id:3": -1.0})
    assert logprobs_of(said, [PARIS]) == [-1.0]


def test_a_tokenizer_that_drops_the_blank_is_understood_as_long_as_it_is_clear() -> None:
    assert logprobs_of(completion({"Paris": -1.0, "Rome": -2.0}), [PARIS, ROME]) == [-1.0, -2.0]
    assert logprobs_of(completion({"Paris": -1.0, "Paris ": -2.0}), [PARIS]) == [None]
    assert logprobs_of(completion({"\n": -1.0}), [Graded(" ", 5)]) == [None]


def test_two_tokens_that_the_server_writes_alike_are_an_error() -> None:
    with pytest.raises(RuntimeError, match="cannot be told apart cell by cell; .*server_side=True"):
        logprobs_of(completion({"Paris": -1.0}), [PARIS, Graded("Paris", 8)])


def test_the_generated_token_counts_when_it_is_the_answer() -> None:
    assert logprobs_of(completion(None, [" Paris", " is"], own=-0.5), [PARIS]) == [-0.5]
    assert logprobs_of(completion(None, [" Lyon"]), [PARIS]) == [None]


def test_what_is_missing_or_nothing_at_all_is_null() -> None:
    assert logprobs_of(completion({" Rome": FLOOR, " Lyon": -1.0}), [PARIS, ROME]) == [None, None]
    assert logprobs_of({"choices": [{"logprobs": None}]}, [PARIS]) == [None]


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": None}])
def test_what_is_no_completion_is_an_error(body: dict[str, Any]) -> None:
    with pytest.raises(RuntimeError, match="not a completion"):
        logprobs_of(body, [PARIS])


@pytest.mark.parametrize("metric", ["logprob", "logit_diff", "recovered"])
@pytest.mark.parametrize("clean", [-1.0, -4.0])
def test_metrics_are_the_engines(metric: Metric, clean: float) -> None:
    scale, engine = Scale(metric, -4.0, clean), Grading(-4.0, clean)
    for cell in ([-4.0, -1.5], [-1.0, -2.0], [-2.25, 0.0]):
        assert scale.value(cell) == engine.value(metric, cell)
    assert scale.noise_floor(-4.0, -4.5) == 0.5 / engine.scale(metric)
    assert len(scale.warnings()) == (metric == "recovered" and clean == -4.0)


def test_a_number_is_null_only_for_want_of_what_it_is_made_of() -> None:
    assert Scale("logprob", -4.0, None).value([-1.0, None]) == -1.0
    assert Scale("recovered", -4.0, -2.0).value([-3.0, None]) == 0.5
    assert Scale("logit_diff", -4.0, None).value([-1.0, None]) is None
    assert Scale("logprob", -4.0, None).value([None]) is None
    assert Scale("recovered", None, -2.0).value([-1.0]) is None
    assert Scale("logprob", -4.0, None).noise_floor(None, -1.0) is None
    assert raw("recovered", [-1.0, -2.0]) == -1.0


def test_a_metric_that_cannot_be_is_refused() -> None:
    assert checked_metric("logit_diff", " Rome") == "logit_diff"
    with pytest.raises(ValueError, match="'prob' is none of logprob, logit_diff, recovered"):
        checked_metric("prob", None)
    with pytest.raises(ValueError, match="another word: foil_token"):
        checked_metric("logit_diff", None)
