from dataclasses import replace

import numpy as np
import pytest

from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.curves import (
    alarm_spans,
    health_curves,
    reward_curves,
    telemetry_curves,
)
from sonde.runs.analytics.steplines import HealthLine, TelemetryLine
from sonde.schema.analytics import Curves, Series
from tests.runs.analytics import plain
from tests.runs.analytics.conftest import Read


def series(curves: Curves, name: str, layer: int | None = None) -> Series:
    return next(one for one in curves.series if (one.name, one.layer) == (name, layer))


@pytest.mark.parametrize("columns", [256, 3])
@pytest.mark.parametrize("name", ["rewards_mean", "rewards_std", "r_a_pass_rate"])
def test_the_reward_curve_is_what_the_trainer_wrote(run: Read, name: str, columns: int) -> None:
    curves = reward_curves(run.known, columns=columns)
    one = series(curves, name)
    expected = plain.cells(
        ((line["iteration"] - curves.start) // curves.width, line[name])
        for line in run.made.metrics
    )
    assert (curves.first_step, curves.last_step) == (1, 12)
    for column in range(curves.columns):
        count, mean, low, high = expected.get(column, (0, None, None, None))
        assert one.count[column] == count
        assert one.mean[column] == (None if mean is None else pytest.approx(mean))
        assert (one.low[column], one.high[column]) == (low, high)


def test_a_number_that_was_never_there_is_null_throughout(run: Read) -> None:
    one = series(reward_curves(run.known), "advantage_std")
    assert set(one.mean) == {None}


def test_health_is_given_layer_by_layer(run: Read) -> None:
    curves = health_curves(run.known, first_step=4, last_step=9)
    assert (curves.start, curves.columns) == (4, 6)
    for layer in (0, 15):
        written = [
            one["fvu"]
            for line in run.made.health
            for one in line["layers"]
            if one["layer_index"] == layer and 4 <= line["step"] <= 9
        ]
        assert series(curves, "fvu", layer).mean == written
        assert set(series(curves, "dead_share", layer).mean) == {None}
    assert series(curves, "sidecar_ms").mean == [1.5] * 6


def test_warnings_are_told_from_when_to_when(run: Read) -> None:
    (alarm,) = health_curves(run.known).alarms
    assert (alarm.first_step, alarm.last_step, alarm.standing) == (3, 4, False)
    lines = [
        HealthLine(1, alarms=("gate never passed: 5 steps",)),
        HealthLine(2, alarms=("gate never passed: 6 steps", "other: x")),
    ]
    first, second = alarm_spans(lines)
    assert (first.alarm, first.first_step, first.standing) == (
        "gate never passed: 6 steps",
        1,
        True,
    )
    assert second.first_step == 2
    assert alarm_spans([]) == []


def test_what_is_missing_is_named(reference: Read) -> None:
    curves = reward_curves(reference.known)
    assert curves.series == []
    assert curves.first_step is None
    assert curves.reason is not None
    assert "grpo_metrics.jsonl" in curves.reason
    health = health_curves(reference.known)
    assert health.reason is not None
    assert "sae_health.jsonl" in health.reason
    assert reward_curves(RunContents()).reason == "grpo_metrics.jsonl has no lines yet"


def test_rewards_are_spread_as_the_completions_of_each_step_say(run: Read) -> None:
    curves = reward_curves(run.known)
    for quantile in (10, 25, 50, 75, 90):
        expected = [
            np.quantile([one["R"] for one in of_step], quantile / 100)
            for step in range(1, 13)
            if (of_step := [one for one in run.made.generations if one["step"] == step])
        ]
        assert series(curves, f"reward_p{quantile}").mean == pytest.approx(expected)


def test_telemetry_is_what_its_file_says_and_nothing_where_there_is_none(run: Read) -> None:
    none = telemetry_curves(run.known)
    assert none.series == []
    assert "no telemetry.jsonl" in (none.reason or "")
    lines = (TelemetryLine(1, entropy=1.5, kl=None), TelemetryLine(2, entropy=1.25))
    curves = telemetry_curves(replace(run.known, telemetry=lines))
    assert series(curves, "entropy").mean == [1.5, 1.25]
    assert series(curves, "kl").mean == [None, None]
