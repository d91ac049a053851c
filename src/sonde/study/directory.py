"""A study's directory: what was asked, every pair as it was done, and what came of them.

    file.toml       the study's file, as it was (or file.json)
    study.json      what this directory is: the study, weights, environments, whether it is complete
    pairs.jsonl     the pairs
    done.jsonl      a line for each pair that is done, in the order in which they were
    again.jsonl     the same, while a complete study is run again
    table.csv, table.tex, result.json, result.parquet, page.html

A line is on disk before the next pair's is written, and half a line of a killed process is cut off.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from pydantic import JsonValue, TypeAdapter, ValidationError

from sonde.engine.pairs import PairEvent
from sonde.errors import BadRequest, RunInUse
from sonde.results import PairSweep
from sonde.runs import lock
from sonde.runs.append import AppendFile
from sonde.runs.atomic import replace, sync_directory, write_json
from sonde.schema.pair import PromptPair
from sonde.schema.study import StudyRecord
from sonde.schema.table import TableDropped, TablePair
from sonde.study.file import StudyFile
from sonde.study.worker import number_of
from sonde.tasks import Pairs
from sonde.tasks.files import as_line

RECORD: Final = "study.json"
PAIRS: Final = "pairs.jsonl"
DONE: Final = "done.jsonl"
AGAIN: Final = "again.jsonl"
RESULTS: Final = {
    "table.csv": "csv",
    "table.tex": "tex",
    "result.json": "json",
    "result.parquet": "parquet",
    "page.html": "html",
}
_EVENT: Final[TypeAdapter[PairEvent]] = TypeAdapter(TablePair | TableDropped)


class StudyDirectory:
    """One study's directory, held for writing until `close`."""

    def __init__(self, path: Path, file: StudyFile, pairs: Pairs) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = lock.WriterLock(path)
        except RunInUse as error:
            who = lock.holder(path) or "another process"
            said = f"{path} is being written by {who}; wait, or name another --out"
            raise BadRequest(said) from error
        except OSError as error:
            raise BadRequest(f"{path} cannot be written to: {error.strerror}") from error
        try:
            self.record = self._claim(file, pairs)
            self.again = self.record.state == "complete"
            """Whether the study is complete, so that this run of it is a second one."""
            self.known = _read(self.path / DONE)
            """Pairs that are done, by number."""
            self._lines = AppendFile(path / (AGAIN if self.again else DONE))
            self.new = _read(self._lines.path) if self.again else self.known
            """Those of this run."""
        except BaseException:
            self.close()
            raise

    def add(self, event: PairEvent) -> None:
        """Write a pair; it is on disk when this returns. One that is there already is left out."""
        if number_of(event) in self.new:
            return
        self._lines.append(line_of(event))
        self._lines.sync()
        self.new[number_of(event)] = event

    def note(self, **update: object) -> None:
        """Change what the directory says of itself."""
        self.record = StudyRecord.model_validate(dict(self.record) | update)
        write_json(self.path / RECORD, self.record.model_dump(mode="json"))

    def write_results(self, sweep: PairSweep) -> None:
        """Everything that is made of the tables, each file whole or not there."""
        for name, format in RESULTS.items():
            replace(self.path / name, sweep.encoded(format))

    def forget_again(self) -> None:
        """Let go of the lines of a second run, which has been compared."""
        self._lines.close()
        self._lines.path.unlink(missing_ok=True)
        sync_directory(self.path)

    def close(self) -> None:
        """Let others write."""
        lines = getattr(self, "_lines", None)
        if lines is not None:
            lines.close()
        self._lock.release()

    def _claim(self, file: StudyFile, pairs: Pairs) -> StudyRecord:
        """The record of a directory that is this study's, or is nobody's yet."""
        place = self.path / RECORD
        if place.exists():
            try:
                record = StudyRecord.model_validate_json(place.read_bytes())
            except ValidationError as error:
                raise BadRequest(f"{place} is no record of a study; name another --out") from error
            self._refuse_other(record, file, pairs)
            return record
        strangers = sorted(p.name for p in self.path.iterdir() if not p.name.startswith("."))
        ours = {PAIRS, f"file{file.path.suffix}"}  # of a process killed before it wrote the record
        if set(strangers) - ours:
            raise BadRequest(
                f"{self.path} holds {strangers[0]!r} and no study; name a new directory with --out"
            )
        replace(self.path / PAIRS, _lines_of(pairs))
        replace(self.path / f"file{file.path.suffix}", file.content)
        record = StudyRecord(
            state="begun",
            study=file.study,
            file=file.path.name,
            file_sha256=file.sha256,
            pairs=len(pairs),
            pairs_digest=pairs.digest,
        )
        write_json(place, record.model_dump(mode="json"))
        return record

    def _refuse_other(self, record: StudyRecord, file: StudyFile, pairs: Pairs) -> None:
        if record.study != file.study:
            there, here = (each.model_dump(mode="json") for each in (record.study, file.study))
            said = _first_difference(there, here)
            raise BadRequest(
                f"{self.path} is the directory of another study ({record.file}): {said}; name "
                "another --out"
            )
        if record.pairs_digest != pairs.digest:
            before = (self.path / PAIRS).read_bytes().splitlines()
            now = _lines_of(pairs).splitlines()
            first = next(
                (n for n, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), 0
            )
            raise BadRequest(
                f"{self.path} was made with other pairs: {record.pairs} with digest "
                f"{record.pairs_digest}, and now {len(pairs)} with {pairs.digest}; the first that "
                f"differs is pair {first}; name another --out"
            )


def line_of(event: PairEvent) -> bytes:
    """A pair as one line: the same bits whenever and wherever it was computed."""
    return event.model_dump_json().encode() + b"\n"


def digest_of(events: dict[int, PairEvent]) -> str:
    """Of all lines, in the order of the pairs."""
    made = hashlib.sha256()
    for number in sorted(events):
        made.update(line_of(events[number]))
    return made.hexdigest()


def _read(path: Path) -> dict[int, PairEvent]:
    """The whole lines of a file."""
    if not path.exists():
        return {}
    out: dict[int, PairEvent] = {}
    *lines, _ = path.read_bytes().split(b"\n")  # what follows the last newline is no line
    for number, line in enumerate(lines, 1):
        try:
            event = _EVENT.validate_json(line)
        except ValidationError as error:
            raise BadRequest(
                f"{path}, line {number} is no pair that was done; remove the line, and the pair is "
                "computed again"
            ) from error
        out.setdefault(number_of(event), event)
    return out


def _lines_of(pairs: Iterable[PromptPair]) -> bytes:
    return "".join(f"{as_line(pair)}\n" for pair in pairs).encode()


def _first_difference(there: JsonValue, here: JsonValue, at: str = "") -> str:
    """The first field that is not the same, with both values."""
    if isinstance(there, dict) and isinstance(here, dict):
        for name in there:
            if there[name] != here.get(name):
                return _first_difference(there[name], here.get(name), f"{at}.{name}".strip("."))
    return f"{at} is {there!r} there and {here!r} here"
