"""`sonde serve` as users start it: a process of its own, that can be killed."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.local import LOCAL


@dataclass(frozen=True)
class Serve:
    """A server process, and a client that talks to it."""

    process: subprocess.Popen[str]
    http: httpx.Client

    def kill(self) -> None:
        """As the kernel does when memory runs out: no word, no time."""
        self.process.kill()
        self.process.wait()


def command(model: str | Path, directory: Path) -> list[str]:
    """The command line."""
    options = ["--model", str(model), "--data-dir", str(directory), "--port", "0"]
    return [sys.executable, "-m", "sonde", "serve", *options]


@contextmanager
def serve(model: str | Path, directory: Path, log: Path) -> Iterator[Serve]:
    """Start it and wait until it says where it listens; in the end it is gone in any case."""
    with (
        log.open("a") as errors,
        subprocess.Popen(
            command(model, directory), stdout=subprocess.PIPE, stderr=errors, text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        ) as process,
    ):  # fmt: skip
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            listens = re.search(r"http://\S+", said)
            assert listens, f"{said!r}\n{log.read_text()}"
            with httpx.Client(base_url=listens[0], timeout=60, **LOCAL) as http:
                yield Serve(process, http)
        finally:
            process.kill()
