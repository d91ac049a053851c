"""A trainer that is killed cannot say so: its process is asked after, elsewhere its silence."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sonde.runs.layout import RunLayout
from sonde.runs.lock import LOCK_NAME, WriterLock, last_holder
from sonde.runs.pulse import POINTS, Pulse, Pulses
from sonde.runs.reader import run_row
from sonde.runs.unended import AT_LEAST, STEPS, UNKNOWN_PACE, how_to_resume, unended
from sonde.runs.writer import line
from sonde.schema.records import GRPOMetrics, RunInfo, Telemetry
from tests.runs.analytics.made import RUN_ID, run_info

NOW = 1_000_000.0
HERE = socket.gethostname()


@pytest.fixture
def layout(tmp_path: Path) -> RunLayout:
    return RunLayout(tmp_path)


def running(**given: object) -> RunInfo:
    return run_info().model_copy(update={"status": "running", "ended": None} | given)


def locked_by(layout: RunLayout, host: str) -> None:
    (layout.directory / LOCK_NAME).write_text(f"process 4711 on {host}\n")


def told(layout: RunLayout, steps: int, *, pace: float, until: float = NOW) -> Pulse:
    """A run of so many steps, the last line written at `until`."""
    with layout.telemetry.open("wb") as file:
        for step in range(1, steps + 1):
            at = until - (steps - step) * pace
            file.write(line(Telemetry(run_id=RUN_ID, step=step, time=at)))
    os.utime(layout.telemetry, (until, until))
    return Pulses().of(layout)


def test_here_a_run_without_its_process_is_over_at_once(layout: RunLayout) -> None:
    locked_by(layout, HERE)
    pulse = told(layout, 7, pace=60)
    found = unended(layout, running(), pulse, NOW + 0.1)
    assert found is not None
    assert (found.step, found.since) == (7, NOW)
    assert "4711" in found.why


def test_here_a_run_that_has_its_process_may_be_silent_for_long(layout: RunLayout) -> None:
    lock = WriterLock(layout.directory)
    pulse = told(layout, 7, pace=1)
    assert unended(layout, running(), pulse, NOW + 1e6) is None
    lock.release()
    assert unended(layout, running(), pulse, NOW + 1e6) is not None


def test_a_process_that_is_killed_is_missed(layout: RunLayout) -> None:
    code = (
        "import sys, time; from pathlib import Path; from sonde.runs.lock import WriterLock\n"
        "lock = WriterLock(Path(sys.argv[1])); print('held', flush=True); time.sleep(600)"
    )
    words = [sys.executable, "-c", code, str(layout.directory)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as trainer:
        assert trainer.stdout is not None
        assert trainer.stdout.readline() == b"held\n"
        layout.run_info.write_bytes(line(running()))
        assert run_row(layout, "one").unended is None
        trainer.send_signal(signal.SIGKILL)
        trainer.wait()
    row = run_row(layout, "one")
    assert row.unended is not None
    assert str(trainer.pid) in row.unended.why
    assert row.status == "running", "what the file says is left alone"


@pytest.mark.parametrize("lock", ["elsewhere", "none"])
def test_elsewhere_silence_means_something_after_three_steps(layout: RunLayout, lock: str) -> None:
    if lock == "elsewhere":
        locked_by(layout, "another-host")
    pulse = told(layout, 9, pace=20)
    assert pulse.step_seconds == pytest.approx(20)
    assert unended(layout, running(), pulse, NOW + STEPS * 20 - 1) is None
    found = unended(layout, running(), pulse, NOW + STEPS * 20 + 1)
    assert found is not None
    assert found.why == "nothing was written for 61 s, and a step takes 20 s"
    quick = told(layout, 9, pace=0.1)
    assert unended(layout, running(), quick, NOW + AT_LEAST - 1) is None, "clocks differ"


def test_before_two_steps_nobody_knows_what_a_step_takes(layout: RunLayout) -> None:
    pulse = told(layout, 1, pace=1)
    assert pulse.step_seconds is None
    assert unended(layout, running(), pulse, NOW + UNKNOWN_PACE - 1) is None
    assert unended(layout, running(), pulse, NOW + UNKNOWN_PACE + 1) is not None


@pytest.mark.parametrize("status", ["finished", "stopped", "failed"])
def test_a_run_that_says_how_it_ended_did(layout: RunLayout, status: str) -> None:
    locked_by(layout, HERE)
    assert unended(layout, running(status=status), Pulse(), NOW) is None
    assert unended(layout, None, Pulse(), NOW) is None


def test_what_goes_on_with_it_is_a_command_where_a_command_began_it(layout: RunLayout) -> None:
    info = running(preset="smollm2-cpu", max_steps=20, seed=3, task="catalog")
    command, is_command = how_to_resume(layout, info)
    assert is_command
    assert command == (
        f"sonde train --policy-preset smollm2-cpu --output-dir {layout.directory} --resume "
        "--max-steps 20 --seed 3"
    )
    words, is_command = how_to_resume(layout, running(preset=None, task=None))
    assert not is_command
    assert "resume_from_checkpoint" in words


def test_a_lock_that_says_something_else_names_nobody(layout: RunLayout) -> None:
    assert last_holder(layout.directory) is None
    (layout.directory / LOCK_NAME).write_text("somebody\n")
    assert last_holder(layout.directory) is None


def test_a_run_that_has_just_begun_lacks_nothing(layout: RunLayout) -> None:
    layout.run_info.write_bytes(line(running()))
    lock = WriterLock(layout.directory)
    assert run_row(layout, "one").missing == []
    lock.release()
    assert run_row(layout, "one").missing == [
        "generations.jsonl", "grpo_metrics.jsonl", "sae_health.jsonl",
    ]  # fmt: skip


def metrics(step: int, reward: float | None) -> bytes:
    return line(
        GRPOMetrics(
            iteration=step, rewards_mean=reward, rewards_std=None, rewards_min=None,
            rewards_max=None, advantage_mean=None, advantage_std=None, r_a_pass_rate=None,
            n_invalid_compositions=0,
        )
    )  # fmt: skip


def test_rewards_of_a_list_are_means_of_stretches_and_of_a_long_run_samples(
    layout: RunLayout,
) -> None:
    layout.metrics.write_bytes(b"".join(metrics(n, n / 10) for n in range(4)))
    assert Pulses().of(layout).rewards == (0.0, 0.1, 0.2, 0.3)
    layout.metrics.write_bytes(b"".join(metrics(n, float(n % 2)) for n in range(2 * POINTS)))
    assert Pulses().of(layout).rewards == (0.5,) * POINTS
    pulses = Pulses()
    layout.metrics.write_bytes(b"".join(metrics(n, n / 20_000) for n in range(20_000)))
    found = pulses.of(layout)
    assert found.step == 19_999
    assert len(found.rewards) == POINTS
    each = [(n, value) for n, value in enumerate(found.rewards) if value is not None]
    assert all(value == pytest.approx(n / POINTS, abs=0.01) for n, value in each)
    began = time.perf_counter()
    assert pulses.of(layout) == found
    assert time.perf_counter() - began < 60
