"""`kill -9` at every system call and at random moments: nothing counted is lost or doubled."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sonde.runs.layout import RunLayout
from sonde.training.metadata import last_checkpoint
from tests.runs.killed_writer import problems, torn, write_steps

PROGRAM = [sys.executable, "-m", "tests.runs.killed_writer"]


@pytest.mark.slow
def test_a_writer_killed_at_any_call_is_resumed_without_loss(tmp_path: Path) -> None:
    done = subprocess.run(
        [*PROGRAM, str(tmp_path / "run"), "every"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["calls"] > 60
    assert found["failures"] == []


@pytest.mark.slow
def test_a_writer_killed_at_twenty_random_moments_counts_every_step_once(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path / "run")
    draw = random.Random(7)
    reached = 0
    for _ in range(20):
        with subprocess.Popen([*PROGRAM, str(layout.directory), "forever"]) as writer:
            before = time.monotonic()
            while (last_checkpoint(layout) or 0) <= reached and time.monotonic() - before < 60:
                time.sleep(0.01)
            time.sleep(draw.random() * 0.05)
            writer.send_signal(signal.SIGKILL)
        assert torn(layout) == []
        reached = last_checkpoint(layout) or 0
    assert reached > 20
    write_steps(layout, reached + 1)
    assert problems(layout, reached + 1) == []
    aside = [path for path in layout.segments.iterdir() if path.name.startswith("abandoned")]
    assert aside  # work that was done again is kept, and not counted
