"""Something that writes records as trainers do, well and badly.

Not the real writer: this one also tears, cuts and replaces files, which the real one never would.
"""

import json
import os
from pathlib import Path

from sonde.runs.layout import RunLayout


class Trainer:
    """Writes records that are numbered from 0, each once."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.layout = RunLayout(directory)
        self.written = 0
        """How many records are whole."""
        self._rest = b""
        self.step = 0
        """What records say; 0 for a tenth of their number."""
        self.begins_with = b""
        """What every new live file has as its first line: no record, and always the same."""
        self.width = 0
        """How long lines are at least: all alike where it is more than any would be."""

    def line(self, number: int) -> bytes:
        """A record of about the usual length, some longer than others."""
        values = {
            "step": self.step or number // 10,
            "token_index": number,
            "layer_index": (0, 15)[number % 2],
            "top_feature_indices": list(range(number % 17)),
            "top_feature_activations": [0.5] * (number % 17),
            "reconstruction_loss": None if number % 5 == 0 else number / 7,
        }
        return json.dumps(values).ljust(self.width).encode() + b"\n"

    def append(self, data: bytes) -> None:
        """As one write to the live file."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        descriptor = os.open(self.layout.live, flags, 0o644)
        try:
            if not os.fstat(descriptor).st_size:
                data = self.begins_with + data
            os.write(descriptor, data)
        finally:
            os.close(descriptor)

    def write(self, count: int = 1) -> None:
        """Whole records, in one write; first the rest of one that was torn."""
        self.mend()
        first = self.written
        self.append(b"".join(self.line(number) for number in range(first, first + count)))
        self.written += count

    def tear(self, share: float = 0.5) -> None:
        """Part of a record."""
        line = self.line(self.written)
        place = max(1, min(len(line) - 1, int(share * len(line))))
        self.append(line[:place])
        self._rest = line[place:]

    def mend(self) -> None:
        """The rest of it."""
        if self._rest:
            self.append(self._rest)
            self._rest = b""
            self.written += 1

    @property
    def torn(self) -> bool:
        """Whether there is half a record at the end."""
        return bool(self._rest)

    def crash(self) -> None:
        """End and come back: what was torn is cut off, as the real writer does."""
        if self._rest:
            size = self.layout.live.stat().st_size
            torn = len(self.line(self.written)) - len(self._rest)
            os.truncate(self.layout.live, size - torn)
            self._rest = b""

    def rotate(self, step: int) -> None:
        """Close the live file at a checkpoint: rename, then link."""
        self.crash()
        self.layout.segments.mkdir(exist_ok=True)
        self.layout.live.rename(self.layout.segment(step))
        self.layout.checkpoint(step).mkdir(exist_ok=True)
        os.link(self.layout.segment(step), self.layout.snapshot(step))

    def snapshot(self, step: int, count: int) -> None:
        """A checkpoint of a run without segments, with records that no other file has."""
        self.layout.checkpoint(step).mkdir(parents=True)
        first = self.written
        lines = b"".join(self.line(number) for number in range(first, first + count))
        self.layout.snapshot(step).write_bytes(lines)
        self.written += count

    def truncate(self) -> None:
        """Begin the live file anew, in place."""
        os.truncate(self.layout.live, 0)
        self._rest = b""

    def replace(self, count: int) -> None:
        """Put a new file with new records in the live file's place."""
        beside = self.layout.directory / "new"
        first = self.written
        lines = [self.begins_with, *(self.line(n) for n in range(first, first + count))]
        beside.write_bytes(b"".join(lines))
        self.written += count
        beside.replace(self.layout.live)
        self._rest = b""
