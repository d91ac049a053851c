"""A trainer whose disk is full every now and then.

    python -m tests.soak.trainer DIRECTORY SEED     # until its standard input ends

It writes numbered records with the real writer. The disk is full by the kernel's own word: a limit
on the size of files (`RLIMIT_FSIZE`), set a little above what is written, so that writes come back
short and then fail. In the end there is room again, and it says what it has written.
"""

import json
import random
import resource
import signal
import sys
import threading
import time
from pathlib import Path

from sonde.runs.layout import RunLayout
from sonde.runs.spool import Chunk
from sonde.runs.writer import RunWriter
from sonde.training.metadata import Task, metadata

PER_SPILL = 20
PAUSE_SECONDS = 0.04
SAVE_EVERY = 50
FULL_EVERY, FULL_FOR = 60, 15
"""Spills between two full disks, and of each."""


def line(number: int) -> bytes:
    """A record of about the usual length."""
    values = {
        "step": number // PER_SPILL + 1,
        "token_index": number,
        "layer_index": (0, 15)[number % 2],
        "top_feature_indices": list(range(number % 17)),
        "top_feature_activations": [0.5] * (number % 17),
        "reconstruction_loss": number / 7,
    }
    return json.dumps(values).encode() + b"\n"


def fill_disk(room: int | None) -> None:
    """No file may be larger than this; None: as large as it likes."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard if room is None else room, hard))


def main(directory: Path, seed: int) -> None:
    """Write until told to stop."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    draw = random.Random(seed)
    layout = RunLayout(directory)
    stop = threading.Event()
    threading.Thread(target=wait_for_end, args=(stop,), daemon=True).start()
    writer = RunWriter.begin(layout)
    layout.run_info.touch()
    number = step = full = failed = 0
    while not stop.wait(PAUSE_SECONDS):
        step += 1
        if step % FULL_EVERY == 0:
            size = layout.live.stat().st_size if layout.live.exists() else 0
            fill_disk(size + draw.randrange(2000))
            full += 1
        if step % FULL_EVERY == FULL_FOR:
            fill_disk(None)
        lines = [line(each) for each in range(number, number + PER_SPILL)]
        number += PER_SPILL
        writer.add(records=[Chunk(b"".join(lines), PER_SPILL)])
        failed += not writer.spill()
        if step % SAVE_EVERY == 0:
            save(writer, step)
    fill_disk(None)
    time.sleep(PAUSE_SECONDS)
    writer.close()
    said = {"records": number, "dropped": writer.records.dropped, "full": full, "failed": failed}
    sys.stdout.write(json.dumps(said) + "\n")


def wait_for_end(stop: threading.Event) -> None:
    """Of the standard input: its parent wants it to stop, or is gone."""
    sys.stdin.read()
    stop.set()


def save(writer: RunWriter, step: int) -> None:
    """A checkpoint, if the disk lets us; the records wait for the next one otherwise."""
    try:
        writer.layout.checkpoint(step).mkdir(exist_ok=True)
        writer.checkpoint(step, metadata("soak", Task(), step=step, started=0.0, commit=None))
    except OSError:
        return


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
