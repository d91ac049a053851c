"""What many pairs have given so far: their rows of every table, and the events made of them.

Rows are kept by the pair's number, so neither the order in which pairs finish nor a restart in
between changes the tables. Means that are told on the way are for those who watch; what a result
says is made of its tables.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sonde.engine.candidates import Candidate, Candidates
from sonde.engine.prompt_results import Baseline, PromptResults
from sonde.errors import BadRequest
from sonde.schema import Control, PromptTokens, Timing
from sonde.schema.table import (
    Axis,
    DroppedPair,
    PairRecord,
    Table,
    TableDropped,
    TableMetric,
    TablePair,
    TableStart,
    TableSummary,
)

Row = list[dict[TableMetric, list[float | None]]]
"""One pair's values, for every table."""


class Gathered:
    """The tables of a sweep over pairs, as far as they are filled."""

    def __init__(self, asked: Candidates) -> None:
        request = asked.request
        self._asked = asked
        self._metric: TableMetric = request.metric or "logprob"
        self._metrics = list(dict.fromkeys([self._metric, *(request.metrics or [])]))
        self.records: dict[int, PairRecord] = {}
        self._rows: dict[int, Row] = {}
        self._dropped = {each.pair: each for each in asked.dropped}
        sizes = [
            len(asked.directions) * int(np.prod([len(axis.values) for axis in table.axes]))
            for table in asked.cells.tables
        ]
        self._sums = [np.zeros(size) for size in sizes]
        self._shares = [np.zeros(size) for size in sizes]

    @property
    def known(self) -> set[int]:
        """Pairs that need not be run."""
        return self.records.keys() | self._dropped.keys()

    @property
    def dropped(self) -> list[DroppedPair]:
        """Pairs that are in no table."""
        return [self._dropped[number] for number in sorted(self._dropped)]

    def start(self) -> TableStart:
        """The first event: the axes are final, but for pairs that turn out to be unfit."""
        numbers = [each.number for each in self._asked.fit]
        return TableStart(
            tables=[self._table(table, numbers, {}) for table in self._asked.cells.tables],
            metric=self._metric,
            cells=self._asked.cells_a_pair * len(numbers),
            corrupt={},
            clean=None,
            tokens=PromptTokens(prompt=[]),
            dropped=self._asked.dropped,
        )

    def take_over(self, event: TablePair | TableDropped) -> None:
        """Note a pair that was finished before."""
        if isinstance(event, TableDropped):
            self._dropped[event.dropped.pair] = event.dropped
        else:
            self._note(event.record, event.values)

    def so_far(self) -> Iterator[TablePair | TableDropped]:
        """The events of pairs that were finished before."""
        for number, record in self.records.items():
            yield TablePair(
                record=record, values=self._rows[number], means=self.means(), done=self._done
            )
        before = {each.pair for each in self._asked.dropped}
        for dropped in self._dropped.values():
            if dropped.pair not in before:
                yield TableDropped(dropped=dropped, done=self._done)

    def add(self, candidate: Candidate, told: Sequence[PromptResults]) -> TablePair:
        """A pair that is finished; `told` has what came out of it in each direction."""
        first = told[0]
        clean = first.clean()
        assert clean is not None
        corrupt, tokens = first.corrupt(), first.tokens
        if self._asked.directions[0] == "noise":  # there the clean prompt is the zero
            clean, corrupt = corrupt, clean
            tokens = PromptTokens(prompt=tokens.clean or [], clean=tokens.prompt)
        columns = first.cells.columns
        assert columns is not None
        record = PairRecord(
            pair=candidate.number,
            prompts=candidate.pair,
            corrupt=corrupt,
            clean=clean,
            noise_floor=_largest([each.noise() for each in told]),
            controls=[control for each in told for control in each.controls()],
            roles={str(column.value): list(column.positions) for column in columns.each},
            skipped=[skipped for each in told for skipped in each.setting.skipped],
            tokens=tokens,
        )
        rows: Row = [
            {m: [v for each in told for v in each.values[table][m]] for m in self._metrics}
            for table in range(len(self._asked.cells.tables))
        ]
        self._note(record, rows)
        return TablePair(record=record, values=rows, means=self.means(), done=self._done)

    def drop(self, candidate: Candidate, reason: str) -> TableDropped:
        """A pair that turned out to be unfit."""
        dropped = DroppedPair(pair=candidate.number, reason=reason)
        self._dropped[candidate.number] = dropped
        return TableDropped(dropped=dropped, done=self._done)

    def check_some(self) -> None:
        """A table without a pair says nothing: then the reasons are the error."""
        if not self.records:
            first = [self._dropped[number] for number in sorted(self._dropped)[:3]]
            said = "; ".join(f"pair {each.pair}: {each.reason}" for each in first)
            raise BadRequest(
                f"all {len(self._dropped)} pairs were dropped: {said}; pass drop_wrong=false to "
                "keep those that the model gets wrong"
            )

    def summary(self, timing: Timing) -> TableSummary:
        """The last event."""
        numbers = sorted(self.records)
        records = [self.records[number] for number in numbers]
        corrupt = _mean([record.corrupt for record in records])
        clean = _mean([record.clean for record in records])
        foils = [record.prompts.foil is not None for record in records]
        return TableSummary(
            tables=[
                self._table(table, numbers, self._values(n, numbers))
                for n, table in enumerate(self._asked.cells.tables)
            ],
            metric=self._metric,
            corrupt=corrupt,
            clean=clean,
            recovered_of="logit_diff" if foils and all(foils) else "logprob",
            noise_floor=_largest([record.noise_floor for record in records]),
            controls=_worst([control for record in records for control in record.controls]),
            skipped=[],
            alignment=None,
            notes=self._notes(records),
            warnings=self._asked.warnings,
            timing=timing,
            tokens=PromptTokens(prompt=[]),
            pairs=records,
            dropped=self.dropped,
        )

    @property
    def _done(self) -> int:
        return len(self.known)

    def _note(self, record: PairRecord, rows: Row) -> None:
        self.records[record.pair], self._rows[record.pair] = record, rows
        share = _gap(record) if self._metric == "recovered" else 1.0
        for n, row in enumerate(rows):
            values = np.array(row[self._metric], dtype=np.float64)
            there = ~np.isnan(values)
            self._sums[n] += np.where(there, values, 0.0) * share
            self._shares[n] += there * share

    def means(self) -> list[list[float | None]]:
        """Of every table the main metric over the pairs so far; for `recovered` the ratio."""
        return [_ratio(a, b) for a, b in zip(self._sums, self._shares, strict=True)]

    def _values(self, n: int, numbers: Sequence[int]) -> dict[TableMetric, list[float | None]]:
        return {
            metric: [value for number in numbers for value in self._rows[number][n][metric]]
            for metric in self._metrics
        }

    def _table(
        self,
        table: Table,
        numbers: Sequence[int],
        values: dict[TableMetric, list[float | None]],
    ) -> Table:
        """The table of one pair with the outer axes before its own."""
        outer = [Axis(name="pair", values=list(numbers), labels=[str(n) for n in numbers])]
        directions = self._asked.directions
        if len(directions) > 1:
            outer.append(Axis(name="direction", values=list(directions), labels=list(directions)))
        return table.model_copy(update={"axes": [*outer, *table.axes], "values": values})

    def _notes(self, records: Sequence[PairRecord]) -> dict[str, str]:
        asked, n = self._asked.request, len(records)
        said = f"{n} of {len(asked.pairs or [])}, {asked.direction}"
        clusters = {record.prompts.cluster for record in records} - {None}
        pairs = f"{said}, {len(clusters)} clusters" if clusters else said
        return {"pairs": pairs} | self._asked.cells.notes


def _gap(record: PairRecord) -> float:
    """What a pair's `recovered` is a share of: its weight in the ratio of means."""
    one, zero = record.clean.get("recovered"), record.corrupt.get("recovered")
    return 0.0 if one is None or zero is None else one - zero


def _ratio(sums: NDArray[np.float64], shares: NDArray[np.float64]) -> list[float | None]:
    both = zip(sums.tolist(), shares.tolist(), strict=True)
    return [total / share if share else None for total, share in both]


def _largest(each: Sequence[Baseline]) -> Baseline:
    out: Baseline = {}
    for told in each:
        for metric, value in told.items():
            before = out.get(metric, 0.0)
            out[metric] = None if value is None or before is None else max(before, value)
    return out


def _mean(each: Sequence[Baseline]) -> Baseline:
    out: Baseline = {}
    for metric in each[0] if each else ():
        values = [value for told in each if (value := told[metric]) is not None]
        out[metric] = sum(values) / len(values) if len(values) == len(each) else None
    return out


def _worst(controls: Sequence[Control]) -> list[Control]:
    """Of every kind at every hook, the one that was farthest from its baseline."""
    out: dict[tuple[str, str], Control] = {}
    for control in controls:
        key = control.kind, control.hook
        if key not in out or control.difference > out[key].difference:
            out[key] = control
    return list(out.values())
