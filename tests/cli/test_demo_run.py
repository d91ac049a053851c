"""What the demo says of a run that it hears through a gateway."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sonde.cli import demo_run
from sonde.errors import EngineError
from tests.runs.analytics.made import made_run


def record(step: int, feature: int, activation: float | None = 1.0, layer: int = 15) -> Any:
    return {
        "step": step,
        "layer_index": layer,
        "top_feature_indices": [feature, 4000],
        "top_feature_activations": [activation, 0.25],
    }


def metrics(step: int, mean: float | None = 0.5) -> Any:
    return {"iteration": step, "rewards_mean": mean, "r_a_pass_rate": 0.25}


HEARD: list[tuple[str, Any]] = [
    ("source", {"source": "live"}),
    ("message", record(1, 7)),
    ("message", record(1, 7)),
    ("message", record(1, 9, 1.5)),
    ("metrics", metrics(1)),
    ("heartbeat", {}),
    ("message", record(2, 9, None)),
    ("metrics", metrics(2, 0.75)),
]


def test_a_line_a_step_with_what_was_heard_of_it() -> None:
    first, second = demo_run.lines(iter(HEARD), 2)
    assert first.startswith("step  1 of 2   R 0.50   gate 25%   3 records   strongest 15:7 (2.00)")
    assert second.startswith("step  2 of 2   R 0.75   gate 25%   1 records   strongest 15:4000")
    assert "promotes" in first


def test_steps_are_told_in_order_and_once_though_the_stream_goes_on() -> None:
    def endless() -> Iterator[tuple[str, Any]]:
        yield from HEARD
        raise AssertionError("listened on after the last step")

    assert len(list(demo_run.lines(endless(), 2))) == 2


def test_a_step_without_records_or_reward_is_told_as_such() -> None:
    (only,) = demo_run.lines(iter([("metrics", {**metrics(1, None), "r_a_pass_rate": None})]), 1)
    assert "gate -   0 records" in only


def test_what_an_earlier_tour_left_is_not_taken_for_the_new_run(tmp_path: Path) -> None:
    assert not demo_run.begun(tmp_path / "run", 0.0)
    made = made_run(tmp_path / "run", steps=1)
    started = json.loads((made.layout.directory / "run.json").read_text())["started"]
    assert not demo_run.begun(tmp_path / "run", started + 1)
    assert demo_run.begun(tmp_path / "run", started)


@pytest.mark.slow
def test_a_gateway_streams_a_run_and_ends_with_the_block(tmp_path: Path) -> None:
    made_run(tmp_path / "run", steps=3)
    with demo_run.gateway(tmp_path / "run") as url:
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        told = list(demo_run.lines(demo_run.events(url, ended), 3))
    assert [line[:12] for line in told] == ["step  1 of 3", "step  2 of 3", "step  3 of 3"]


@pytest.mark.slow
def test_a_gateway_that_does_not_start_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "aegir.conf").write_text("not { HOCON")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EngineError, match="did not start"), demo_run.gateway(tmp_path / "run"):
        pass
