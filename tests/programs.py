"""Programs that tests start: however a test ends, they end with it."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psutil

PATIENCE = 300
"""Seconds for what takes a few; a program that hangs fails its test and not everybody's."""


@contextmanager
def started(program: Sequence[str], **options: Any) -> Iterator["subprocess.Popen[Any]"]:
    """A program; after the block it and all that it has started are gone.

    `Popen` alone would wait for its end, and a failed assertion would never be seen.
    """
    with subprocess.Popen(program, **options) as process:
        try:
            yield process
        finally:
            with suppress(psutil.NoSuchProcess):
                for each in psutil.Process(process.pid).children(recursive=True):
                    with suppress(psutil.NoSuchProcess):
                        each.kill()
            process.kill()
