"""A process that writes sweeps until it is killed: `python -m tests.store.killed_writer DIR`."""

import sys
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from sonde.schema import SweepEntry
from sonde.store.sweeps import SweepStore
from tests.results.summaries import provenance, summary

CELLS = 400


def event(sweep: str, number: int) -> bytes:
    """An event that says whose it is and where it belongs."""
    return f'{{"sweep":"{sweep}","number":{number},"padding":"{"x" * 50}"}}'.encode()


def main(directory: Path) -> None:
    """Sweep after sweep, each begun, run and ended, and a line printed after each end."""
    store = SweepStore(directory)
    for number in count():
        sweep, now = f"sweep-{number}", datetime.now(UTC)
        store.begin(
            SweepEntry(
                id=sweep, state="waiting", created=now, ended=None, cells=None, done=0, error=None,
                provenance=provenance(),
            )
        )  # fmt: skip
        store.running(sweep, CELLS)
        store.end(
            sweep, state="finished", ended=now, cells=CELLS, done=CELLS, error=None,
            summary=summary(), events=[event(sweep, n) for n in range(CELLS)],
        )  # fmt: skip
        sys.stdout.write(f"{sweep}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
