"""The requests a rank is working on that read or write activations, and what is due in a step.

1. **Arrive**  The spec is read once, its sources are fetched once, for the layers that are here.
2. **Plan**    Each step, the spans of the batch are matched with the specs: site -> rows.
3. **Report**  When a request is done, which of its patches were written, and what was missing.

Nothing here raises inside a step, since that would end the engine for everybody: what is missing
is noted, and whoever asked for the request makes an error of it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from sonde.backends.vllm.captured import RankRun, RankRuns
from sonde.backends.vllm.spec import PatchSpec, RequestSpec, from_bytes
from sonde.backends.vllm.taps import SiteKey, SiteReads, SiteWork, SiteWrites


@dataclass(frozen=True)
class Span:
    """The rows of a step that belong to one request: `count` from `row` on, from `position` on."""

    request: str
    row: int
    count: int
    position: int


@dataclass
class Active:
    """One request on this rank."""

    spec: RequestSpec
    local: dict[int, tuple[Tensor, Tensor | None]]
    """Patch number -> value [width] and weight [1] or [width] (None: 1), for patches here."""
    run: RankRun | None
    missing: list[str]
    written: set[int] = field(default_factory=set)

    def wrote(self, index: int) -> None:
        """A tap has written that patch."""
        self.written.add(index)

    def report(self) -> dict[str, Any]:
        """What came of it, as plain data."""
        return {
            "written": sorted(self.written),
            "captured": 0 if self.run is None else self.run.count(),
            "missing": self.missing,
        }


class Requests:
    """The requests of one rank."""

    def __init__(
        self,
        runs: RankRuns,
        layers: Iterable[int],
        width: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self._runs, self._layers = runs, frozenset(layers)
        self._width, self._dtype, self._device = width, dtype, device
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
        due: dict[SiteKey, list[tuple[int, Active, int]]] = defaultdict(list)
        for span in spans:
            active = self._active.get(span.request)
            if active is None:
                continue
            self._plan_reads(active, span, work)
            for index in active.local:
                patch = active.spec.patches[index]
                offset = patch.position - span.position
                if 0 <= offset < span.count:
                    due[patch.hook, patch.layer].append((span.row + offset, active, index))
        self._plan_writes(due, work)
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
        self,
        due: Mapping[SiteKey, list[tuple[int, Active, int]]],
        work: dict[SiteKey, SiteWork],
    ) -> None:
        """One index, one table of values and one of weights a step; sites take slices of them."""
        every = [entry for entries in due.values() for entry in entries]
        if not every:
            return
        rows = torch.tensor([row for row, _, _ in every], device=self._device)
        values = torch.stack([active.local[index][0] for _, active, index in every])
        weight = _weights([active.local[index][1] for _, active, index in every], values)
        start = 0
        for site, entries in due.items():
            part = slice(start, start + len(entries))
            start = part.stop
            work[site].writes = SiteWrites(
                rows[part],
                values[part],
                None if weight is None else weight[part],
                tuple((active, index) for _, active, index in entries),
            )

    def _take(self, spec: RequestSpec) -> Active:
        active = Active(spec, {}, None, [])
        for index, patch in enumerate(spec.patches):
            if patch.layer in self._layers:
                value = self._value(patch)
                if value is None:
                    active.missing.append(patch.key or "")
                else:
                    active.local[index] = (value.to(self._device), self._weight(patch))
        if spec.capture is not None:
            active.run = RankRun.empty(spec.capture, self._layers, self._width, self._dtype)
            self._runs.held[spec.capture.key] = active.run
        return active

    def _value(self, patch: PatchSpec) -> Tensor | None:
        """[width] in float32; None when it is not here."""
        if patch.vector is not None:
            return torch.from_numpy(from_bytes(patch.vector))
        run = self._runs.held.get(patch.key or "")
        rows = None if run is None else run.rows(patch.hook, patch.layer, patch.sources)
        if rows is None:
            return None
        return rows[0] if len(rows) == 1 else rows.mean(0)

    def _weight(self, patch: PatchSpec) -> Tensor | None:
        if patch.mask is None:
            return None if patch.alpha == 1 else torch.tensor([patch.alpha], device=self._device)
        return (patch.alpha * torch.from_numpy(from_bytes(patch.mask))).to(self._device)


def _weights(each: Sequence[Tensor | None], like: Tensor) -> Tensor | None:
    """One weight a row, [n, 1] or [n, width]; None when every row replaces outright."""
    if all(weight is None for weight in each):
        return None
    one = like.new_ones(1)
    given = [one if weight is None else weight for weight in each]
    width = max(len(weight) for weight in given)
    return torch.stack([weight.expand(width) for weight in given])
