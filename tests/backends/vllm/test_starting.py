"""An engine that does not start is given up, with a word on what to look at."""

import subprocess
import sys
import time

import pytest

pytest.importorskip("psutil")

from sonde.backends.vllm.starting import time_limit
from sonde.errors import EngineError

SLEEPS = "import time; time.sleep(600)"
WITH_A_CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SLEEPS!r}])"


def wait_for(command: str) -> None:
    """As vLLM waits for the processes that it begins, and fails when one ends."""
    subprocess.run([sys.executable, "-c", command], check=True)


@pytest.mark.parametrize("command", [SLEEPS, WITH_A_CHILD])
def test_processes_begun_in_vain_are_ended_and_the_error_says_what_to_look_at(command: str) -> None:
    began = time.monotonic()
    with (
        pytest.raises(EngineError, match=r"within 0\.5 seconds; see that all 2 nodes") as raised,
        time_limit(0.5, nodes=2),
    ):
        wait_for(command)
    assert time.monotonic() - began < 300, "it did not wait for the sleeper"
    assert "VLLM_CPU_KVCACHE_SPACE" in str(raised.value)
    assert "start_seconds" in str(raised.value)


def test_one_machine_is_told_of_the_limit_only() -> None:
    with pytest.raises(EngineError) as raised, time_limit(0.2, nodes=1):
        wait_for(SLEEPS)
    assert "start_seconds" in str(raised.value)
    assert "nodes" not in str(raised.value)


def test_what_was_there_before_is_left_alone() -> None:
    with subprocess.Popen([sys.executable, "-c", SLEEPS]) as earlier:
        with pytest.raises(EngineError), time_limit(0.2, nodes=1):
            wait_for(SLEEPS)
        assert earlier.poll() is None
        earlier.kill()


def test_in_time_nothing_happens_and_an_error_stays_what_it_is() -> None:
    with time_limit(600, nodes=1):
        pass
    with pytest.raises(ValueError, match="mine"), time_limit(600, nodes=1):
        raise ValueError("mine")
