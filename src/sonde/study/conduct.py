"""Run a study to its end, or from where it was; or once more, and say what differs.

The same for any crew: what is done is read, the rest is handed to a crew, every pair is on disk
before the next one is, and at the end the tables are made of the lines alone.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sonde.engine.pairs import PairEvent
from sonde.errors import BadRequest
from sonde.results import PairSweep, Provenance
from sonde.results.numbers import count
from sonde.schema import Timing
from sonde.schema.study import Environment, StudyModel, StudySession
from sonde.schema.table import SweepRequest, TablePair
from sonde.study.directory import StudyDirectory, digest_of
from sonde.study.environment import differences
from sonde.study.file import StudyFile
from sonde.study.worker import Begun, Crew

MakeCrew = Callable[[StudyModel, SweepRequest], Crew]


class Watcher:
    """Hears how far a study is; this one says nothing."""

    def begun(self, begun: Begun, left: int, again: bool) -> None:
        """The model is loaded, and so many pairs are left."""

    def done(self, event: PairEvent) -> None:
        """A pair is on disk."""


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    directory: Path
    sweep: PairSweep
    computed: int
    """Pairs that were computed now."""
    numbers: str
    """SHA-256 of all pairs' lines."""
    differs: list[str] | None
    """Of a study that was complete already: what is different now."""
    same: bool = True
    """Whether it has the numbers of the first run, bit for bit."""


def conduct(
    file: StudyFile, out: Path, make_crew: MakeCrew, watcher: Watcher | None = None
) -> Outcome:
    """Run a study. The directory's results are those of its first complete run."""
    pairs = file.pairs()
    request = file.request(pairs)
    with (
        closing(StudyDirectory(out, file, pairs)) as directory,
        closing(make_crew(file.model, request)) as crew,
    ):
        return _conducted(file, request, directory, crew, watcher or Watcher())


def _conducted(
    file: StudyFile,
    request: SweepRequest,
    directory: StudyDirectory,
    crew: Crew,
    watcher: Watcher,
) -> Outcome:
    begun = crew.begin()
    began = time.perf_counter()
    before = directory.record
    if not directory.again:
        _refuse_other_weights(directory, begun)
        directory.note(
            weights=begun.model.weights,
            environments=_all([*before.environments, begun.environment]),
        )
    left = [number for number in begun.fit if number not in directory.new]
    watcher.begun(begun, len(left), directory.again)
    for event in crew.run(left) if left else ():
        directory.add(event)
        watcher.done(event)
    here = _all([begun.environment, *crew.environments()])
    found = crew.finish(directory.new.values())
    seconds = time.perf_counter() - began
    cells = begun.cells * sum(n in directory.new for n in begun.fit) // max(1, len(begun.fit))
    timing = Timing(
        baseline_seconds=0.0,
        capture_seconds=0.0,
        cells_seconds=seconds,
        total_seconds=seconds,
        cells=cells,
        computed_cells=begun.cells * len(left) // max(1, len(begun.fit)),
        cells_per_second=begun.cells * len(left) / max(1, len(begun.fit)) / seconds,
    )
    source = Provenance.of(begun.model, request, versions=begun.environment.versions)
    sweep = PairSweep.over(found.model_copy(update={"timing": timing}), source)
    sweep = sweep.statistics(**file.study.statistics.model_dump())
    numbers = digest_of(directory.new)
    session = StudySession(ended=datetime.now(UTC), seconds=seconds, pairs=len(left))
    sessions = [*directory.record.sessions, session]
    if directory.again:
        differs = _differences(directory, begun, here, numbers)
        directory.note(differs=differs, sessions=sessions)
        directory.forget_again()
        same = directory.record.numbers == numbers
        return Outcome(directory.path, sweep, len(left), numbers, differs, same)
    directory.write_results(sweep)
    directory.note(
        state="complete",
        numbers=numbers,
        sessions=sessions,
        environments=_all([*directory.record.environments, *here]),
    )
    return Outcome(directory.path, sweep, len(left), numbers, None)


def _refuse_other_weights(directory: StudyDirectory, begun: Begun) -> None:
    before = directory.record.weights
    if before is not None and before != begun.model.weights and directory.known:
        raise BadRequest(
            f"{directory.path} has {count(len(directory.known), 'pair')} of the weights {before}, "
            f"and {begun.model.weights} are loaded: load those, or name another --out"
        )


def _differences(
    directory: StudyDirectory, begun: Begun, here: Sequence[Environment], numbers: str
) -> list[str]:
    """What a second run has other than the first."""
    record = directory.record
    out = []
    if record.weights != begun.model.weights:
        out.append(f"weights were {record.weights} and are {begun.model.weights}")
    if list(record.environments) != list(here):
        told = [
            line
            for now in here
            if now not in record.environments
            for line in differences(record.environments[0], now)
        ]
        out += list(dict.fromkeys(told))
    if record.numbers != numbers:
        out.append(_numbers(directory.known, directory.new))
    return out


def _numbers(before: dict[int, PairEvent], now: dict[int, PairEvent]) -> str:
    """In how many pairs, in how many numbers, and by how much at the most."""
    pairs = values = 0
    most = 0.0
    for number in sorted({*before, *now}):
        one, other = before.get(number), now.get(number)
        pairs += one != other
        if not isinstance(one, TablePair) or not isinstance(other, TablePair):
            continue
        for table, again in zip(one.values, other.values, strict=True):
            for metric in table:
                for a, b in zip(table[metric], again[metric], strict=True):
                    values += a != b
                    if a is not None and b is not None:
                        most = max(most, abs(a - b))
    told = f"numbers differ in {count(pairs, 'pair')}"
    return f"{told}: {count(values, 'value')}, by {most:.3g} at the most"


def _all(environments: Sequence[Environment]) -> list[Environment]:
    """Each once."""
    out: list[Environment] = []
    for each in environments:
        if each not in out:
            out.append(each)
    return out
