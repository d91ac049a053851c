import pytest

from sonde.cli.training_view import TrainingView, describe_plan
from sonde.schema.records import GRPOMetrics
from sonde.settings import CheckpointConfig
from sonde.training.summary import StepSummary
from tests.training.test_plan import plan


def summary(step: int, reward: float, *alarms: str) -> StepSummary:
    metrics = GRPOMetrics(
        iteration=step,
        rewards_mean=reward,
        rewards_std=0.1,
        rewards_min=0.0,
        rewards_max=1.0,
        advantage_mean=0.0,
        advantage_std=1.0,
        r_a_pass_rate=0.5,
        n_invalid_compositions=0,
    )
    return StepSummary(step, metrics, None, alarms)


def test_a_step_has_a_line_with_an_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter([-9.0, 0.0, 6.0, 12.0])
    view = TrainingView(plan("smollm2-cpu"), 1, clock=lambda: next(clock))
    view.begin()
    view.step(summary(1, 0.25))
    view.step(summary(2, 0.5, "no reward variance: nothing is learnt"))
    said = capsys.readouterr().err.splitlines()
    assert "training smollm2 for 20 steps on 1 thread" in said[0]
    assert said[1] == f"watch it: sonde serve --output-dir {CheckpointConfig().output_dir}"
    assert said[2] == "step  1 of 20   R 0.25   gate 50%   6.00 s a step   1 min 54 s left"
    assert said[3] == "warning at step 2: no reward variance: nothing is learnt"
    assert said[4].endswith("6.00 s a step   1 min 48 s left")


def test_the_end_shows_the_curve_and_whether_it_rose(capsys: pytest.CaptureFixture[str]) -> None:
    view = TrainingView(plan("smollm2-cpu"), 1)
    for step in range(1, 21):
        view.step(summary(step, step / 20))
    view.end()
    said = capsys.readouterr().out
    assert "mean reward by step" in said
    assert "reward 0.12 in the first 4 steps, 0.93 in the last 4" in said


def test_a_run_that_did_nothing_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    TrainingView(plan("smollm2-cpu"), 1).end()
    assert capsys.readouterr().out == ""


def test_a_plan_says_what_where_and_how_much() -> None:
    text = "\n".join(describe_plan(plan("9b-fsdp-l0-50", dictionaries={0: "a", 16: "b"}), 1))
    for word in ("Qwen/Qwen3.5-9B-Base", "2 GPUs, fsdp, 2 processes", "layer 16", "GiB"):
        assert word in text
    off = "\n".join(describe_plan(plan("smollm2-cpu", layers=()), 2))
    assert "features are not recorded" in off
    assert "CPU, 2 threads" in off
