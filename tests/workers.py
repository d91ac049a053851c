"""A test run whose worker dies ends within a minute, red, and names the test.

When a worker dies its pipe closes, and xdist reports the test that was running. Two things keep it
from ending:

- What the worker had forked holds the pipe open, and outlives it: the run would wait for ever, at
  no load. So processes that hold the pipe of a dead worker are ended.
- The other workers go on with what they were given. They are interrupted, and if need be killed.

With `--max-worker-restart=0`, which the Makefile gives, no other worker takes the dead one's place,
to die of the same test.
"""

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

NOTICE_SECONDS = 3.0
"""After a worker's death, for xdist to notice it by itself."""
INTERRUPT_SECONDS = 20.0
KILL_SECONDS = 40.0
"""After a death that was noticed, for the other workers to end."""


@dataclass
class Watch:
    """Looks after the workers of a run, in a thread of the process that started them."""

    nodes: list[Any] = field(default_factory=list)
    died: dict[str, float] = field(default_factory=dict)
    """Worker -> when it was first seen dead."""
    noticed: float | None = None
    interrupted: bool = False
    over: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> None:
        """Look, until the run is over."""
        while not self.over.wait(0.5):
            for node in list(self.nodes):
                self._bury(node, process_of(node))
            if self.noticed is not None:
                self._hurry(time.monotonic() - self.noticed)

    def _bury(self, node: Any, process: Any) -> None:
        if process is None or process.poll() is None:
            return
        since = self.died.setdefault(node.gateway.id, time.monotonic())
        if time.monotonic() - since > NOTICE_SECONDS:
            for holder in holders(process.stdout):
                with suppress(ProcessLookupError):
                    os.kill(holder, signal.SIGKILL)

    def _hurry(self, seconds: float) -> None:
        if seconds > KILL_SECONDS:
            self._send(signal.SIGKILL)
        elif seconds > INTERRUPT_SECONDS and not self.interrupted:
            self.interrupted = True
            self._send(signal.SIGINT)

    def _send(self, what: signal.Signals) -> None:
        for node in list(self.nodes):
            process = process_of(node)
            if process is not None and process.poll() is None:
                process.send_signal(what)


KEY = pytest.StashKey[Watch]()


def process_of(node: Any) -> Any:
    """The process of a worker on this machine, as execnet has started it."""
    return getattr(node.gateway._io, "popen", None)


def holders(pipe: Any) -> list[int]:
    """The other processes that have this pipe open, where the system tells."""
    if not sys.platform.startswith("linux") or pipe.closed:
        return []
    name = f"pipe:[{os.fstat(pipe.fileno()).st_ino}]"
    found = set()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if os.readlink(link) == name:
                found.add(int(link.parts[2]))
    return sorted(found - {os.getpid()})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodeready(node: Any) -> None:
    """A worker is there: look after it."""
    stash = node.config.stash
    if KEY not in stash:
        stash[KEY] = Watch()
        threading.Thread(target=stash[KEY], daemon=True).start()
    stash[KEY].nodes.append(node)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """A worker has ended; if by a death, the others have to end as well."""
    watch = node.config.stash.get(KEY, None)
    if watch is None:
        return
    if node in watch.nodes:
        watch.nodes.remove(node)
    if error and watch.noticed is None:
        watch.noticed = time.monotonic()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The run is over."""
    watch = session.config.stash.get(KEY, None)
    if watch is not None:
        watch.over.set()
