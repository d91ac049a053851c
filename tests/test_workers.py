"""A worker that dies ends the run within a minute, red, with the name of the test."""

import re
from pathlib import Path

import pytest

from tests import workers
from tests.children import ROOT, python

HOOKS = "from tests.workers import *\n"
DEADLY = """
import os, signal, time

def test_fine():
    pass

def test_that_dies():
    if os.fork() == 0:  # as engines do; it holds the worker's pipe open
        time.sleep(300)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGILL)

def test_of_the_same_file():
    pass
"""
BESIDE = """
import time

def test_one():
    pass

def test_that_takes_long():
    time.sleep({seconds})
"""
FLAG = "--max-worker-restart=0"


def run_of(folder: Path, *options: str, beside: float = 0.5) -> tuple[int, str]:
    """Status and output of a run with a test that dies; it has to end by itself."""
    (folder / "conftest.py").write_text(HOOKS)
    (folder / "test_deadly.py").write_text(DEADLY)
    (folder / "test_other.py").write_text(BESIDE.format(seconds=beside))
    done = python(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", 2, FLAG, *options),
        *("--rootdir", folder, "-c", "/dev/null", folder),
        timeout=120,
    )
    return done.returncode, done.stdout


def test_it_takes_less_than_a_minute() -> None:
    assert workers.NOTICE_SECONDS + workers.KILL_SECONDS < 60


def test_the_makefile_lets_no_worker_take_the_place_of_a_dead_one() -> None:
    text = (ROOT / "Makefile").read_text().replace("\\\n", "")
    runs = re.findall(r"^(?:VLLM_)?PYTEST\s*:=.*$", text, re.MULTILINE)
    assert len(runs) == 2
    assert all(FLAG in run for run in runs)


def test_a_dead_worker_ends_the_run_and_the_test_is_named(tmp_path: Path) -> None:
    """Though what it had forked holds its pipe: without the watch this run never ends."""
    status, said = run_of(tmp_path, "--dist", "loadfile")

    assert status == 1
    assert re.search(r"worker 'gw\d' crashed while running '.*test_that_dies'", said)


@pytest.mark.slow
@pytest.mark.parametrize("dist", ["load", "worksteal"])
def test_however_tests_are_shared_out(dist: str, tmp_path: Path) -> None:
    status, said = run_of(tmp_path, "--dist", dist)

    assert status == 1
    assert "test_that_dies" in said


@pytest.mark.slow
def test_the_others_are_not_waited_for(tmp_path: Path) -> None:
    status, said = run_of(tmp_path, "--dist", "loadfile", beside=300)

    assert status != 0
    assert "test_that_dies" in said
