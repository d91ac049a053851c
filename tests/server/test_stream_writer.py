"""The real writer, killed and resumed, under a gateway: listeners end with what counts, once."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sonde.runs.layout import RunLayout
from sonde.training.metadata import last_checkpoint
from tests.runs.killed_writer import records_of, write_steps
from tests.server.listening import STREAM, Event, Page, gateway

WRITER = [sys.executable, "-m", "tests.runs.killed_writer"]


def counted(events: list[Event]) -> list[dict[str, Any]]:
    """The records that stand: after a resume, what follows replaces steps from there on."""
    found: list[dict[str, Any]] = []
    replaces = False
    for event in events:
        if event.name == "source":
            replaces = replaces or "resumed" in event.data.get("reason", "")
        elif event.name == "message":
            if replaces:
                found = [record for record in found if record["step"] < event.data["step"]]
                replaces = False
            found.append(event.data)
    return found


def wanted(until: int) -> list[dict[str, int]]:
    return [record for step in range(1, until + 1) for record in records_of(step)]


def test_a_listener_of_the_real_writer_gets_every_record_through_rotations(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path)
    include = f"{STREAM}?from=start&include=metrics,generation"
    with gateway(tmp_path) as url, Page(url) as plain, Page(url, include) as both:
        for page in (plain, both):
            page.until(lambda page: page.named("idle"))
        write_steps(layout, 40, wait=0.001)
        for page in (plain, both):
            page.has(len(wanted(40)))
            assert counted(page.events) == wanted(40)
        both.until(lambda page: len(page.named("metrics")) == 40)
        assert [line["iteration"] for line in both.named("metrics")] == list(range(1, 41))
        assert [line["iteration"] for line in both.named("generation")] == list(range(1, 41))
        assert len(both.named("source")) == 1


@pytest.mark.slow
def test_a_writer_killed_again_and_again_leaves_listeners_with_what_counts(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path / "run")
    draw, reached = random.Random(3), 0
    with gateway(layout.directory) as url, Page(url, f"{STREAM}?from=start") as page:
        for _ in range(8):
            with subprocess.Popen([*WRITER, str(layout.directory), "forever"]) as writer:
                ends = time.monotonic() + 60
                while (last_checkpoint(layout) or 0) <= reached and time.monotonic() < ends:
                    time.sleep(0.01)
                time.sleep(draw.random() * 0.05)
                page.hang_up()
                writer.send_signal(signal.SIGKILL)
            reached = last_checkpoint(layout) or 0
        last = reached + 5
        write_steps(layout, last)
        page.until(lambda page: counted(page.events)[-1:] == wanted(last)[-1:])
    assert counted(page.events) == wanted(last), json.dumps(page.named("source"))
    assert page.connections >= 8
