"""Activations captured from clean prompts, kept until a sweep has used them.

Authoritative, not a cache: a missing run is an error the caller sees, never a silent second run.
Kept and evicted whole: a run that lost some of its sites would void cells in mid-sweep.
A hard budget, not a hint: a run that does not fit is refused, and the refusal evicts nothing.
A lease is no lock: it holds off eviction for a while, but neither a drop nor a new run of the name.

What a run is made of is the backend's affair: the payload is opaque here, and only its size counts.
"""

import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

from sonde.errors import (
    BadRequest,
    RequestTooLarge,
    SourceRunDropped,
    StaleSourceRun,
    UnknownSourceRun,
)
from sonde.schema import Hook, SourceRun
from sonde.schema.source_run import NAME

T = TypeVar("T")

LEASE_SECONDS = 300.0
_NAME = re.compile(NAME)


@dataclass(frozen=True)
class Contents:
    """What was captured, beside the activations themselves."""

    prompt: str
    """Digest of the token ids it was captured from."""
    n_tokens: int
    hooks: tuple[Hook, ...]
    layers: tuple[int, ...]
    positions: tuple[int, ...]
    n_bytes: int
    weights: str
    """Fingerprint of the weights it was captured under."""


@dataclass(frozen=True)
class Handle:
    """One stored run, not just its name.

    The generation is new for every run ever stored, so a sweep that holds a handle notices when
    the run was dropped, evicted or replaced. It keeps no activations alive.
    """

    run: str
    generation: int


@dataclass
class _Entry(Generic[T]):
    handle: Handle
    contents: Contents
    payload: T
    stored_at: float
    leases: dict[str, float] = field(default_factory=dict)
    """Holder -> when its lease runs out."""
    given_up: bool = False
    """Its owner is done with it: it goes with its last lease."""

    def lease_left(self, now: float) -> float | None:
        """Seconds until the last lease runs out; None when none is left."""
        left = max(self.leases.values(), default=now) - now
        return left if left > 0 else None

    def described(self, now: float) -> SourceRun:
        """What clients see of it."""
        contents = self.contents
        return SourceRun(
            run=self.handle.run,
            generation=self.handle.generation,
            prompt=contents.prompt,
            n_tokens=contents.n_tokens,
            hooks=list(contents.hooks),
            layers=list(contents.layers),
            positions=list(contents.positions),
            bytes=contents.n_bytes,
            weights=contents.weights,
            age_seconds=now - self.stored_at,
            lease_seconds=self.lease_left(now),
        )


class SourceRuns(Generic[T]):
    """Source runs within `budget_bytes`, least recently used out first. Safe across threads.

    SourceRuns(2 * 2**30)      # two GiB
    SourceRuns(0)              # no store: every run is refused
    """

    def __init__(
        self,
        budget_bytes: int,
        *,
        lease_seconds: float = LEASE_SECONDS,
        setting: str = "source_run_gib",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`setting` is what a refusal tells the user to raise."""
        if budget_bytes < 0:
            raise BadRequest(f"{setting} is {budget_bytes} bytes; use 0 for no store, or more")
        self._budget = budget_bytes
        self._lease_seconds = lease_seconds
        self._setting = setting
        self._clock = clock
        self._lock = Lock()
        self._entries: OrderedDict[str, _Entry[T]] = OrderedDict()
        self._generation = 0

    def check(self, run: str, n_bytes: int) -> None:
        """Refuse now what `put` would refuse: call it before the capture. Changes nothing."""
        with self._lock:
            self._victims(run, n_bytes)

    def put(self, run: str, contents: Contents, payload: T) -> Handle:
        """Keep a run, in place of the one of that name if there is one: never merged with it.

        A replaced run's leases go with it; they were taken for other activations.
        """
        with self._lock:
            for victim in self._victims(run, contents.n_bytes):
                del self._entries[victim]
            self._entries.pop(run, None)
            self._generation += 1
            handle = Handle(run, self._generation)
            self._entries[run] = _Entry(handle, contents, payload, self._clock())
            return handle

    def find(self, run: str, *, weights: str) -> Handle:
        """The run of that name, provided it was captured under `weights`."""
        check_run_name(run)
        with self._lock:
            entry = self._entries.get(run)
            if entry is None:
                raise UnknownSourceRun(
                    f"patch source not found: no run {run!r} is stored "
                    f"(stored: {sorted(self._entries)}); capture it, or pass clean_prompt"
                )
            return self._touch(entry, weights).handle

    def read(self, handle: Handle, *, weights: str) -> T:
        """The activations of exactly that run; `SourceRunDropped` when they are gone."""
        with self._lock:
            entry = self._current(handle)
            if entry is None:
                raise SourceRunDropped(handle.run)
            return self._touch(entry, weights).payload

    def lease(self, run: str, holder: str = "") -> bool:
        """Protect a run from eviction for the lease time from now; False when there is none.

        Each holder has its own lease, renewed by asking again, so that one sweep that ends does
        not leave another unprotected.
        """
        with self._lock:
            entry = self._entries.get(run)
            if entry is not None:
                entry.leases[holder] = self._clock() + self._lease_seconds
            return entry is not None

    def release(self, run: str, holder: str = "") -> bool:
        """Give back that holder's lease; False when it had none."""
        with self._lock:
            entry = self._entries.get(run)
            had = entry is not None and entry.leases.pop(holder, None) is not None
            self._forget_given_up()
            return had

    def drop(self, run: str) -> bool:
        """Forget a run and its leases, all of them; False when there is none."""
        with self._lock:
            return self._entries.pop(run, None) is not None

    def give_up(self, handle: Handle) -> bool:
        """Forget exactly that run as soon as nobody leases it; False when it is gone already.

        For a sweep that ends and drops what it captured: another that found the run meanwhile goes
        on to its end, and a newer run of the same name is somebody else's and stays.
        """
        with self._lock:
            entry = self._current(handle)
            if entry is not None:
                entry.given_up = True
                self._forget_given_up()
            return entry is not None

    def manifests(self) -> dict[str, SourceRun]:
        """The stored runs by name, next to be evicted first. Listing is not a use."""
        with self._lock:
            self._forget_given_up()
            now = self._clock()
            return {run: entry.described(now) for run, entry in self._entries.items()}

    def used_bytes(self) -> int:
        """Bytes of all stored runs together."""
        with self._lock:
            return sum(entry.contents.n_bytes for entry in self._entries.values())

    @property
    def budget_bytes(self) -> int:
        """What all stored runs together may take."""
        return self._budget

    def _forget_given_up(self) -> None:
        now = self._clock()
        for run, entry in list(self._entries.items()):
            if entry.given_up and entry.lease_left(now) is None:
                del self._entries[run]

    def _current(self, handle: Handle) -> _Entry[T] | None:
        entry = self._entries.get(handle.run)
        return entry if entry is not None and entry.handle == handle else None

    def _touch(self, entry: _Entry[T], weights: str) -> _Entry[T]:
        """Make the run the most recent; refuse it when it belongs to other weights."""
        run, captured = entry.handle.run, entry.contents.weights
        if captured != weights:
            raise StaleSourceRun(run, captured, weights)
        self._entries.move_to_end(run)
        return entry

    def _victims(self, run: str, n_bytes: int) -> list[str]:
        """Runs to evict so that `run` fits, oldest first; raises when none would be enough."""
        check_run_name(run)
        what = f"source run {run!r}"
        if n_bytes > self._budget or self._budget == 0:
            raise RequestTooLarge(what, n_bytes, self._budget, self._remedy())
        now = self._clock()
        others = {name: entry for name, entry in self._entries.items() if name != run}
        total = n_bytes + sum(entry.contents.n_bytes for entry in others.values())
        victims: list[str] = []
        for name, entry in others.items():
            if total > self._budget and entry.lease_left(now) is None:
                victims.append(name)
                total -= entry.contents.n_bytes
        if total > self._budget:
            leased = sorted(others.keys() - set(victims))
            remedy = f"wait until the sweeps that use {leased} end, drop one, or {self._remedy()}"
            raise RequestTooLarge(f"{what} beside the leased runs", total, self._budget, remedy)
        return victims

    def _remedy(self) -> str:
        if self._budget == 0:
            return f"this store keeps no source runs: set {self._setting} above 0"
        return f"capture fewer hooks, layers or positions, or raise {self._setting}"


def check_run_name(run: str) -> None:
    """Names go into URLs and messages: refuse what could be anything but a name there."""
    if not _NAME.fullmatch(run):
        raise BadRequest(
            f"source run name {run[:128]!r} is not allowed; "
            "use 1 to 128 letters, digits, '.', '_' or '-', and no '.' first"
        )
