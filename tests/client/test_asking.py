"""What a study sends, field by field."""

import re
from typing import Any

import pytest

from sonde.client.asking import Grid, body_of, cell_by_cell, from_run, from_vector
from sonde.client.result import CleanRun
from sonde.schema import SpanPosition

CLEAN = CleanRun("eiffel", 8, "post_block", " Paris", -1.0, 2.0, "The Eiffel Tower")


def grid(**changes: Any) -> Grid:
    fields: dict[str, Any] = {
        "model": "tiny",
        "prompt": "The Colosseum",
        "hook": "post_block",
        "hooks": None,
        "layers": [0, 1],
        "positions": [SpanPosition(span="Colosseum"), 0],
        "alpha": 1.0,
        "answer_token": " Paris",
        "foil_token": None,
        "metric": "logprob",
        "logprobs": 20,
    }
    return Grid(**(fields | changes))


def sent(given: Grid | None = None, **source: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"run": None, "clean": None, "clean_prompt": None, "keep_source": False}
    return body_of(from_run(given or grid(), **(usual | source)))


def ablated(given: Grid | None = None, **source: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"source_inline": None, "mask": None, "patch_vectors": None}
    return body_of(from_vector(given or grid(), **({"source": "zeros"} | usual | source)))


ALWAYS = {
    "model": "tiny",
    "prompt": "The Colosseum",
    "hook": "post_block",
    "layers": [0, 1],
    "positions": [{"span": "Colosseum"}, 0],
    "alpha": 1.0,
    "answer_token": " Paris",
    "foil_token": None,
    "metric": "logprob",
    "logprobs": 20,
    "stream": False,
}


def test_a_sweep_from_a_run_sends_these_fields_nulls_included_and_no_others() -> None:
    assert sent(run="r") == ALWAYS | {
        "source_run": "r",
        "clean_prompt": None,
        "clean_baseline": None,
        "keep_source": False,
    }


def test_hooks_are_sent_only_when_there_are_several_to_choose() -> None:
    body = sent(grid(hooks=("mlp_in", "mlp_out")), run="r")
    assert body["hooks"] == ["mlp_in", "mlp_out"]
    assert "hooks" not in sent(run="r")


@pytest.mark.parametrize(
    ("metric", "baseline"), [("logprob", -1.0), ("recovered", -1.0), ("logit_diff", 2.0)]
)
def test_a_clean_run_sends_its_prompt_and_the_metrics_baseline(
    metric: str, baseline: float
) -> None:
    body = sent(grid(metric=metric, foil_token=" Rome"), clean=CLEAN)
    assert (body["source_run"], body["clean_prompt"]) == ("eiffel", "The Eiffel Tower")
    assert body["clean_baseline"] == baseline


def test_the_run_is_the_one_named_then_the_clean_ones_then_a_new_one() -> None:
    assert sent(run="r", clean=CLEAN)["source_run"] == "r"
    assert sent(clean=CLEAN, clean_prompt="other")["clean_prompt"] == "other"
    names = {sent(clean_prompt="The Eiffel Tower")["source_run"] for _ in range(2)}
    assert len(names) == 2
    assert all(re.fullmatch("[0-9a-f]{32}", name) for name in names)
    with pytest.raises(ValueError, match="needs run, clean or clean_prompt"):
        sent()


def test_a_sweep_from_a_vector_sends_no_run_and_only_what_is_set() -> None:
    assert ablated() == ALWAYS | {"source_module": "zeros"}
    assert ablated(source="mean") == ALWAYS | {"source_module": "mean"}
    table = {"dtype": "float32", "shape": [1, 1], "data": "AAAAAA=="}
    body = ablated(source_inline=0, patch_vectors=table, mask={"indices": [3]})
    assert body == ALWAYS | {"source_inline": 0, "patch_vectors": table, "mask": {"indices": [3]}}
    with pytest.raises(ValueError, match="'mean', or source_inline, but not both"):
        ablated(source="mean", source_inline=0)


def test_what_no_server_would_take_is_a_value_error_at_once() -> None:
    for wrong in ({"alpha": float("nan")}, {"metric": "prob"}, {"layers": ["a"]}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            sent(grid(**wrong), run="r")


def test_cell_by_cell_a_run_must_be_there_already() -> None:
    asked = cell_by_cell(grid(), run=None, clean=CLEAN, clean_prompt=None)
    assert (asked.run, asked.metric, asked.answer) == ("eiffel", "logprob", " Paris")
    assert cell_by_cell(grid(), run="r", clean=CLEAN, clean_prompt=None).run == "r"
    with pytest.raises(ValueError, match="needs run or clean"):
        cell_by_cell(grid(), run=None, clean=None, clean_prompt=None)


def test_recovered_cell_by_cell_needs_a_clean_baseline() -> None:
    for clean in (None, CleanRun("eiffel", 8, "post_block")):
        with pytest.raises(ValueError, match="needs the clean prompt's log-probability"):
            cell_by_cell(grid(metric="recovered"), run="r", clean=clean, clean_prompt=None)
