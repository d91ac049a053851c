"""Signals end a run with everything written down."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sonde.runs.lock import holder
from sonde.training.stopping import SIGNALS, exit_status, stoppable
from tests.programs import PATIENCE, started
from tests.training.tiny_run import joined, lines


def signalled(first: int, second: int | None = None) -> list[str]:
    """What happens when these come: one while it works, one while it cleans up."""
    happened = []
    try:
        with stoppable():
            try:
                os.kill(os.getpid(), first)
                time.sleep(60)
            finally:
                if second is not None:
                    os.kill(os.getpid(), second)
                happened.append("cleaned up")
    except KeyboardInterrupt as error:
        happened += [type(error).__name__, str(exit_status(error))]
    return happened


def test_the_first_signal_raises_and_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]

    assert signalled(signal.SIGTERM) == ["cleaned up", "Terminated", "143"]
    assert signalled(signal.SIGINT) == ["cleaned up", "KeyboardInterrupt", "130"]
    assert before == [signal.getsignal(number) for number in SIGNALS]


def test_a_second_sigterm_lets_cleaning_up_finish_and_a_second_interrupt_does_not() -> None:
    for first in SIGNALS:
        assert "cleaned up" in signalled(first, signal.SIGTERM)
        assert "cleaned up" not in signalled(first, signal.SIGINT)


LAUNCH = "from sonde.training.launch import run; import os, sys; run(sys.argv[1:], os.environ)"
TWO = [
    *(sys.executable, "-c", LAUNCH),
    *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"),
]


@pytest.mark.slow
@pytest.mark.parametrize("launcher", [[sys.executable], TWO], ids=["one process", "two"])
def test_a_terminated_run_says_so_and_has_all_its_lines(
    tmp_path: Path, launcher: list[str]
) -> None:
    told = os.environ | {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true", "PYTHONPATH": "."}
    directory, log = tmp_path / "run", tmp_path / "said"
    program = [*launcher, "-m", "tests.training.stopped_training", str(directory)]
    ends = time.monotonic() + PATIENCE
    with log.open("w") as errors, started(program, env=told, stderr=errors) as run:
        while run.poll() is None and not steps(directory)[1:]:
            assert time.monotonic() < ends, log.read_text()
            time.sleep(0.1)
        run.terminate()
        run.wait(PATIENCE)

    said = log.read_text()
    assert steps(directory)[1:], said
    if launcher is not TWO:
        assert run.returncode == 143, said
    assert f"--output-dir {directory} --resume" in said
    info: dict[str, Any] = json.loads((directory / "run.json").read_text())
    assert (info["status"], info["error"]) == ("stopped", "terminated")
    assert info["ended"] >= info["started"]
    assert holder(directory) is None
    done = steps(directory)
    assert done == list(range(1, len(done) + 1))
    assert {each["step"] for each in lines(directory / "generations.jsonl")} == set(done)
    assert {record["step"] for record, _ in joined(directory)} == set(done)


def steps(directory: Path) -> list[int]:
    path = directory / "grpo_metrics.jsonl"
    return [each["iteration"] for each in lines(path)] if path.exists() else []
