"""A line a step of two halves: what the sidecar counts, and what the trainer logs of that step."""

from dataclasses import replace

import pytest

from sonde.training.pieces import Sample
from sonde.training.telemetry import Meter, Moments

SAMPLE = Sample(
    batch=0, index=0, group=0, prompt_tokens=10, completion_tokens=6, truncated=False, prompt="",
    completion="", reward=0.5, parts=(None, None, None, None), advantage=None, invalid=False,
)  # fmt: skip
LOGS = {
    "loss": 0.25, "grad_norm": 1.5, "learning_rate": 2e-4, "entropy": 1.1, "kl": 0.01,
    "completions/mean_length": 6.0, "epoch": 1,
}  # fmt: skip


def samples(*rewards: float | None) -> list[Sample]:
    return [replace(SAMPLE, reward=reward, index=n) for n, reward in enumerate(rewards)]


def meter(max_steps: int | None = 10) -> Meter:
    return Meter("run", max_steps, 100.0)


def test_the_two_halves_of_a_step_become_one_line() -> None:
    made = meter()
    assert made.done(1, Moments(5000.0, 104.0), [SAMPLE, replace(SAMPLE, truncated=True)]) is None
    line = made.logged(1, LOGS)
    assert line is not None
    assert (line.step, line.time, line.step_seconds) == (1, 5000.0, 4.0)
    assert (line.policy_loss, line.grad_norm, line.learning_rate) == (0.25, 1.5, 2e-4)
    assert (line.entropy, line.kl) == (1.1, 0.01)
    assert (line.completion_length, line.truncated_share) == (6.0, 0.5)
    assert line.tokens_per_second == 32 / 4
    assert line.seconds_left == 9 * 4
    assert made.rest() is None


def test_a_step_that_is_not_logged_has_its_own_half() -> None:
    made = meter()
    made.done(1, Moments(0.0, 101.0), samples(1.0))
    first = made.done(2, Moments(1.0, 103.0), samples(1.0))
    assert first is not None
    assert (first.step, first.policy_loss, first.step_seconds) == (1, None, 1.0)
    assert made.logged(1, LOGS) is None, "its line is written already"
    second = made.rest()
    assert second is not None
    assert (second.step, second.step_seconds, second.seconds_left) == (2, 2.0, 8 * 1.5)


def test_the_summary_that_a_trainer_logs_at_its_end_is_no_step() -> None:
    made = meter()
    made.done(1, Moments(0.0, 101.0), samples(1.0))
    assert made.logged(1, {"train_runtime": 3.0, "train_loss": 0.1}) is None
    assert made.logged(1, {"loss": float("nan")}) is None
    assert made.rest() is not None


def test_rewards_are_told_by_quantiles_of_those_that_there_are() -> None:
    made = meter(None)
    made.done(1, Moments(0.0, 101.0), samples(*(n / 10 for n in range(11)), None, float("nan")))
    line = made.rest()
    assert line is not None
    assert line.reward_quantiles == pytest.approx([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
    assert line.seconds_left is None
    made.done(2, Moments(0.0, 102.0), [])
    line = made.rest()
    assert line is not None
    assert (line.reward_quantiles, line.completion_length, line.tokens_per_second) == (
        None, None, None,
    )  # fmt: skip
