"""Source runs over all ranks: decided once here, done by the ranks.

The store's own logic (budget, least recently used out first, leases, generations) holds for the
ranks together, because its bytes are those of all ranks and because nothing else tells a rank what
to forget. What it holds of a run is the key under which the ranks have the activations.

A rank hears of a drop before its next step, not at once; that a run is gone is true from the moment
it is decided, since no request is made with its key after that.
"""

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Protocol

from sonde.schema import SourceRun
from sonde.store.source_runs import Contents, Handle, SourceRuns


class Teller(Protocol):
    """Reaches all ranks."""

    def tell(self, method: str, *args: Any) -> None:
        """Call a method on all ranks soon."""
        ...


class RankedRuns:
    """The store, and news of it for the ranks."""

    def __init__(self, budget_bytes: int, ranks: Teller) -> None:
        self._runs: SourceRuns[str] = SourceRuns(budget_bytes, setting="source_budget")
        self._ranks = ranks
        self._keys: dict[int, str] = {}
        self._lock = Lock()

    @property
    def budget_bytes(self) -> int:
        """What all stored runs together may take, on all ranks."""
        return self._runs.budget_bytes

    def check(self, run: str, n_bytes: int) -> None:
        """Refuse now what `put` would refuse."""
        self._runs.check(run, n_bytes)

    def put(self, run: str, contents: Contents, key: str) -> SourceRun:
        """Keep what the ranks hold under `key`, in place of the run of that name."""
        with self._lock:
            handle = self._runs.put(run, contents, key)
            self._keys[handle.generation] = key
        return self.manifests()[run]

    def manifests(self) -> dict[str, SourceRun]:
        """The stored runs by name, next to be evicted first."""
        with self._lock:
            stored = self._runs.manifests()
            live = {run.generation for run in stored.values()}
            gone = [self._keys.pop(n) for n in list(self._keys) if n not in live]
        for key in gone:
            self._ranks.tell("drop_patch_source_run", key)
        return stored

    def keys(self, meant: Mapping[str, int | None], weights: str) -> Callable[[], dict[str, str]]:
        """Reads the keys of these runs, each time anew: one dropped meanwhile raises.

        `meant` gives the generation that is meant, or None for whichever is there now.
        """
        handles = {
            run: self._runs.find(run, weights=weights) if n is None else Handle(run, n)
            for run, n in meant.items()
        }
        return lambda: {
            run: self._runs.read(handle, weights=weights) for run, handle in handles.items()
        }

    def lease(self, run: str, holder: str) -> bool:
        """Protect a run from eviction; False when there is none."""
        held = self._runs.lease(run, holder)
        self._tell_leases()
        return held

    def release(self, run: str, holder: str) -> bool:
        """Give back that holder's lease; False when it had none."""
        had = self._runs.release(run, holder)
        self._tell_leases()
        return had

    def drop(self, run: str, generation: int | None = None) -> bool:
        """Forget a run; with a generation, that very one and once nobody leases it."""
        if generation is None:
            found = self._runs.drop(run)
        else:
            found = self._runs.give_up(Handle(run, generation))
        self.manifests()
        return found

    def _tell_leases(self) -> None:
        leased = [run.generation for run in self.manifests().values() if run.lease_seconds]
        with self._lock:
            keys = [self._keys[n] for n in leased if n in self._keys]
        self._ranks.tell("lease_patch_source_runs", keys)
