"""The requests a rank is working on that read or write activations, and what is due in a step.

1. **Arrive**  The spec is read once, its sources are summed up once, for the layers that are here.
2. **Plan**    Each step, the spans of the batch are matched with the specs: site -> rows.
3. **Report**  When a request is done, which of its spots were written, and what was missing.

Nothing here raises inside a step, since that would end the engine for everybody: what is missing
is noted, and the caller of the request makes an error of it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from sonde.backends.vllm.captured import RankRun, RankRuns
from sonde.backends.vllm.heads import Shard
from sonde.backends.vllm.spec import RequestSpec, Stored, WriteSpec, from_bytes
from sonde.backends.vllm.taps import SiteKey, SiteReads, SiteWork, SiteWrites
from sonde.schema import HOOK_TABLE, Hook


@dataclass(frozen=True)
class Span:
    """The rows of a step that belong to one request: `count` from `row` on, from `position` on."""

    request: str
    row: int
    count: int
    position: int


@dataclass(frozen=True)
class Due:
    """What is written at one position, once a step computes it."""

    site: SiteKey
    position: int
    value: Tensor
    """[width], float32."""
    weight: Tensor | None
    """[1] or [width]; None is 1 everywhere."""
    adds: bool
    place: int | None = None
    """Which of this rank's heads, where the hook has some."""


@dataclass
class Active:
    """One request on this rank."""

    spec: RequestSpec
    due: dict[int, Due]
    """Number among the request's spots -> what to do, for the layers that are here."""
    run: RankRun | None
    missing: list[str]
    elsewhere: set[int] = field(default_factory=set)
    """Spots of layers that are here, and of heads that other shares hold."""
    written: set[int] = field(default_factory=set)

    def wrote(self, index: int) -> None:
        """A tap has written that spot."""
        self.written.add(index)

    def report(self) -> dict[str, Any]:
        """What came of it, as plain data."""
        return {
            "written": sorted(self.written),
            "elsewhere": sorted(self.elsewhere),
            "captured": 0 if self.run is None else self.run.count(),
            "missing": self.missing,
        }


Entry = tuple[int, Active, int]
"""Row of the step, request, and number among its spots."""


class Requests:
    """The requests of one rank."""

    def __init__(
        self,
        runs: RankRuns,
        layers: Iterable[int],
        shard: Shard,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self._runs, self._layers = runs, frozenset(layers)
        self._shard, self._dtype, self._device = shard, dtype, device
        self._active: dict[str, Active] = {}
        self._by_uid: dict[str, Active] = {}

    def arrive(self, request: str, spec: RequestSpec) -> None:
        """Take a request on. One that was preempted and comes again keeps what it has."""
        known = self._by_uid.get(spec.uid)
        if known is None:
            known = self._by_uid[spec.uid] = self._take(spec)
        self._active[request] = known

    def leave(self, requests: Iterable[str]) -> None:
        """These have ended; their reports stay until they are asked for."""
        for request in requests:
            self._active.pop(request, None)

    def any_of(self, requests: Iterable[str]) -> bool:
        """Whether one of them carries a spec."""
        return any(request in self._active for request in requests)

    def report(self, uids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """What came of these requests. They are forgotten with it."""
        found = {uid: self._by_uid.pop(uid, None) for uid in uids}
        return {uid: active.report() for uid, active in found.items() if active is not None}

    def plan(self, spans: Iterable[Span]) -> dict[SiteKey, SiteWork]:
        """What the taps have to do in a step of these spans."""
        work: dict[SiteKey, SiteWork] = defaultdict(SiteWork)
        entries: dict[SiteKey, list[Entry]] = defaultdict(list)
        for span in spans:
            active = self._active.get(span.request)
            if active is None:
                continue
            self._plan_reads(active, span, work)
            for number, due in active.due.items():
                offset = due.position - span.position
                if 0 <= offset < span.count:
                    entries[due.site].append((span.row + offset, active, number))
        self._plan_writes(entries, work)
        return dict(work)

    def _plan_reads(self, active: Active, span: Span, work: dict[SiteKey, SiteWork]) -> None:
        if active.run is None:
            return
        within = [
            (span.row + position - span.position, column)
            for position, column in active.run.positions.items()
            if 0 <= position - span.position < span.count
        ]
        if not within:
            return
        rows = torch.tensor([row for row, _ in within], device=self._device)
        reads = SiteReads(rows, [column for _, column in within], active.run)
        for hook in active.run.activations:
            for layer in active.run.layers:
                work[hook, layer].reads.append(reads)

    def _plan_writes(
        self, entries: Mapping[SiteKey, list[Entry]], work: dict[SiteKey, SiteWork]
    ) -> None:
        """The sites whose values are of one width are planned together."""
        alike: dict[int, dict[SiteKey, list[Entry]]] = defaultdict(dict)
        for site, some in entries.items():
            alike[self._shard.value_width(site[0])][site] = some
        for sites in alike.values():
            self._plan_alike(sites, work)

    def _plan_alike(
        self, entries: Mapping[SiteKey, list[Entry]], work: dict[SiteKey, SiteWork]
    ) -> None:
        """One index, one table of values and one of weights a step; sites take slices of them."""
        every = [entry for some in entries.values() for entry in some]
        each = [active.due[number] for _, active, number in every]
        rows = torch.tensor([row for row, _, _ in every], device=self._device)
        values = torch.stack([due.value for due in each])
        weight = _weights([due.weight for due in each], values)
        adds = torch.tensor([[due.adds] for due in each], device=self._device)
        places = torch.tensor([due.place or 0 for due in each], device=self._device)
        start = 0
        for site, some in entries.items():
            part = slice(start, start + len(some))
            start = part.stop
            work[site].writes = SiteWrites(
                rows[part],
                values[part],
                None if weight is None else weight[part],
                adds[part] if any(due.adds for due in each[part]) else None,
                tuple((active, number) for _, active, number in some),
                None if HOOK_TABLE[site[0]].per == "model" else places[part],
            )

    def _take(self, spec: RequestSpec) -> Active:
        active, first = Active(spec, {}, None, []), 0
        for write in spec.writes:
            numbers = range(first, first + len(write.positions))
            first = numbers.stop
            if write.layer not in self._layers:
                continue
            if not self._shard.has(write.hook, write.head):
                active.elsewhere.update(numbers)
                continue
            due = self._due(write, active.missing)
            active.due |= dict(zip(numbers, due, strict=bool(due)))
        if spec.capture is not None:
            active.run = RankRun.empty(spec.capture, self._layers, self._shard, self._dtype)
            self._runs.held[spec.capture.key] = active.run
        return active

    def _due(self, write: WriteSpec, missing: list[str]) -> list[Due]:
        """What is written at each position of a write; nothing when some of it is missing."""
        total: Tensor | None = None
        for term in write.terms:  # in order, so that a sum has the same bits on every rank
            value = self._value(term.value, write.hook)
            if value is None:
                assert isinstance(term.value, Stored)
                missing.append(term.value.key)
                return []
            part = term.sign * value / term.of
            total = part if total is None else total + part
        assert total is not None
        rows = total.to(self._device).expand(len(write.positions), -1)
        weight, adds = self._weight(write), write.how == "add"
        place = self._shard.place(write.hook, write.head)
        return [
            Due((write.hook, write.layer), position, value, weight, adds, place)
            for position, value in zip(write.positions, rows, strict=True)
        ]

    def _value(self, value: Stored | bytes, hook: Hook) -> Tensor | None:
        """What is written at `hook`: [1 or positions, width] in float32; None when not here."""
        if isinstance(value, bytes):
            return torch.from_numpy(from_bytes(value)).view(-1, self._shard.value_width(hook))
        run = self._runs.held.get(value.key)
        if run is None:
            return None
        return run.rows(value.hook, value.layer, value.positions, value.head)

    def _weight(self, write: WriteSpec) -> Tensor | None:
        if write.mask is None:
            return None if write.alpha == 1 else torch.tensor([write.alpha], device=self._device)
        return (write.alpha * torch.from_numpy(from_bytes(write.mask))).to(self._device)


def _weights(each: Sequence[Tensor | None], like: Tensor) -> Tensor | None:
    """One weight a row, [n, 1] or [n, width]; None when every row replaces outright."""
    if all(weight is None for weight in each):
        return None
    one = like.new_ones(1)
    given = [one if weight is None else weight for weight in each]
    width = max(len(weight) for weight in given)
    return torch.stack([weight.expand(width) for weight in given])
