"""What a rank does around a step, and what its methods reply.

Rows that name tokens and rows that want the likeliest are in one batch.
"""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from sonde.backends.vllm.captured import RankRuns
from sonde.backends.vllm.heads import Shard
from sonde.backends.vllm.requests import Requests, Span
from sonde.backends.vllm.spec import ARGUMENT, CaptureSpec, RequestSpec
from sonde.backends.vllm.taps import Step
from sonde.backends.vllm.worker import Rank, SondeWorker, with_likeliest
from sonde.schema import Hook

CAPTURE = RequestSpec("u", (), CaptureSpec("run@1", ("mlp_in",), (0,), (0, 1)))


@pytest.fixture
def worker() -> SondeWorker:
    runs = RankRuns()
    requests = Requests(runs, [0], Shard(2), torch.float32, torch.device("cpu"))
    made = SondeWorker()
    made.sonde_rank = Rank(requests, runs, Step(), eager_on_demand=False, runner="V1")
    return made


def scheduled(*new: tuple[str, Any], finished: tuple[str, ...] = (), running: Any = ()) -> Any:
    params = [SimpleNamespace(req_id=r, sampling_params=p) for r, p in new]
    tokens = dict.fromkeys([*(r for r, _ in new), *running], 1)
    return SimpleNamespace(
        scheduled_new_reqs=params, finished_req_ids=set(finished), num_scheduled_tokens=tokens
    )


def with_spec(spec: RequestSpec) -> Any:
    return SimpleNamespace(extra_args={ARGUMENT: spec.to_plain()})


def test_a_step_with_a_spec_is_planned_and_nothing_is_left_after_it(worker: SondeWorker) -> None:
    rank = worker.sonde_rank
    rank.arriving(scheduled(("a", with_spec(CAPTURE)), ("b", SimpleNamespace(extra_args=None))))
    assert rank.busy
    rank.stepping([Span("a", 0, 2, 0)])
    assert list(rank.step.work) == [("mlp_in", 0)]
    rank.stepped()
    assert rank.step.work == {}


def test_a_step_without_one_costs_nothing(worker: SondeWorker) -> None:
    rank = worker.sonde_rank
    rank.arriving(scheduled(("b", SimpleNamespace(extra_args=None)), ("pooled", None)))
    rank.stepping([Span("b", 0, 2, 0)])
    assert not rank.busy
    assert rank.step.work == {}


def test_a_request_stays_until_the_scheduler_says_it_has_ended(worker: SondeWorker) -> None:
    rank = worker.sonde_rank
    rank.arriving(scheduled(("a", with_spec(CAPTURE))))
    rank.arriving(scheduled(running=["a"]))
    assert rank.busy
    rank.arriving(scheduled(finished=("a",), running=["b"]))
    assert not rank.busy


def test_source_runs_answer_to_the_contracts_names(worker: SondeWorker) -> None:
    worker.sonde_rank.arriving(scheduled(("a", with_spec(CAPTURE))))
    run = worker.sonde_rank.runs.held["run@1"]
    run.keep(("mlp_in", 0), [0, 1], torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert worker.get_patch_source_manifests()["run@1"]["layers"] == [0]
    assert worker.lease_patch_source_runs(["run@1", "other"]) == ["run@1"]
    sites: list[tuple[Hook, int, list[int], int | None]] = [
        ("mlp_in", 0, [1], None), ("mlp_in", 5, [1], None)
    ]  # fmt: skip
    rows, elsewhere = worker.sonde_read("run@1", sites)
    assert rows is not None
    assert torch.frombuffer(bytearray(rows), dtype=torch.float32).tolist() == [3.0, 4.0]
    assert elsewhere is None
    assert worker.drop_patch_source_run("run@1")
    assert not worker.drop_patch_source_run("run@1")
    assert worker.sonde_read("run@1", sites) == [None, None]


def test_rows_that_want_the_likeliest_get_them_beside_rows_that_name_theirs() -> None:
    logprobs = torch.tensor([[0.0, -1, -2, -3], [-3.0, -2, 0, -1], [-1.0, 0, -2, -3]])
    found = with_likeliest(logprobs, {0: [3]}, {1: 2, 2: 1})
    assert found == {0: [3], 1: [2, 3], 2: [1]}


def test_a_row_that_names_its_tokens_or_wants_none_is_left_as_it_is() -> None:
    logprobs = torch.zeros(2, 4)
    assert with_likeliest(logprobs, {0: [1]}, {0: 1, 1: 0}) == {0: [1]}


def test_more_than_there_are_is_all_of_them() -> None:
    assert sorted(with_likeliest(torch.zeros(1, 3), {}, {0: 99})[0]) == [0, 1, 2]
