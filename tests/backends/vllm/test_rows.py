"""Rows of a step belong to positions of requests, in either runner, and a watcher hears of it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sonde.backends.vllm.requests import Span
from sonde.backends.vllm.rows import arrivals, kind_of, spans, watch


class RunnerV1:
    """What the V1 runner shows of itself; its step fails when asked to."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails
        self.input_batch = SimpleNamespace(
            req_ids=["decoding", "chunk", "left over"],
            num_reqs=2,
            num_computed_tokens_cpu=np.array([65, 14, 3]),
        )
        self.query_start_loc = SimpleNamespace(np=np.array([0, 1, 24, 24]))

    def execute_model(self, scheduled: Any) -> str:
        return self._model_forward(scheduled)

    def _model_forward(self, scheduled: Any) -> str:
        if self.fails:
            raise ValueError("a step that fails")
        return f"ran {scheduled}"


class RunnerV2:
    """The V2 runner keeps request states and returns a batch from `prepare_inputs`."""

    req_states = None

    def execute_model(self, scheduled: Any, dummy: bool = False) -> str:
        return self.prepare_inputs(scheduled).req_ids[0]

    def prepare_inputs(self, scheduled: Any) -> Any:
        return SimpleNamespace(
            req_ids=["a", "b"],
            query_start_loc_np=np.array([0, 1, 9]),
            num_computed_tokens_np=np.array([9, 1]),
        )


class Watcher:
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def arriving(self, scheduled: Any) -> None:
        self.heard.append(("arriving", scheduled))

    def stepping(self, spans: list[Span]) -> None:
        self.heard.append(spans)

    def stepped(self) -> None:
        self.heard.append("stepped")


def test_a_span_begins_after_what_was_computed_already() -> None:
    assert spans(["a", "b"], [0, 1, 24], [65, 14]) == [Span("a", 0, 1, 65), Span("b", 1, 23, 14)]


def test_a_decode_and_a_chunk_of_a_prefill_share_a_step_of_the_v1_runner() -> None:
    runner, watcher = RunnerV1(), Watcher()
    watch(runner, watcher)
    assert runner.execute_model("now") == "ran now"
    expected = [Span("decoding", 0, 1, 65), Span("chunk", 1, 23, 14)]
    assert watcher.heard == [("arriving", "now"), expected, "stepped"]


def test_the_v2_runner_is_watched_where_it_prepares_its_batch() -> None:
    runner, watcher = RunnerV2(), Watcher()
    watch(runner, watcher)
    assert runner.execute_model("now") == "a"
    expected = [Span("a", 0, 1, 9), Span("b", 1, 8, 1)]
    assert watcher.heard == [("arriving", "now"), expected, "stepped"]


def test_a_step_that_fails_is_over_too() -> None:
    runner, watcher = RunnerV1(fails=True), Watcher()
    watch(runner, watcher)
    with pytest.raises(ValueError, match="a step that fails"):
        runner.execute_model("now")
    assert watcher.heard[-1] == "stepped"


def test_the_runners_are_told_apart() -> None:
    assert (kind_of(RunnerV1()), kind_of(RunnerV2())) == ("V1", "V2")


def test_new_requests_come_with_their_parameters() -> None:
    new = [SimpleNamespace(req_id="a", sampling_params="p")]
    assert arrivals(SimpleNamespace(scheduled_new_reqs=new)) == [("a", "p")]
