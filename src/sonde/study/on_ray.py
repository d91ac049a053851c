"""A study's crew on Ray: one actor a device, each with its model.

Ray starts the actors, wherever it has room, and tells when one dies; what is handed to whom is
`handing_out`'s. Actors give back lines and never raise: an error of ours may not survive the way.
Every actor needs Sonde, and the model under the same name.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from sonde.engine.pairs import PairEvent
from sonde.errors import (
    BadRequest,
    EngineError,
    MissingExtra,
    RequestError,
    SondeError,
    WorkersLost,
)
from sonde.schema.study import Environment, StudyModel
from sonde.schema.table import SweepRequest, TableSummary
from sonde.study.handing_out import Finished, HandingOut, Lost, Ready
from sonde.study.worker import Begun, Worker

if TYPE_CHECKING:
    from sonde.study.worker import Say

T = TypeVar("T")

BATCH = 16
"""Pairs that are handed out at once, at most: what is lost with a worker."""
TURNS = 4
"""How often each worker is handed some, at least: so that they end together."""


@dataclass(frozen=True)
class Refused:
    """An error of ours, on its way back."""

    message: str
    fixable: bool

    def raised(self) -> SondeError:
        """The error again."""
        return BadRequest(self.message) if self.fixable else EngineError(self.message)


class Actor:
    """A worker in a process of Ray's."""

    def __init__(self, model: StudyModel, request: SweepRequest) -> None:
        self._worker = Worker(model, request)

    def name(self) -> str:
        """Process and machine, known before the model is loaded."""
        return f"process {os.getpid()} on {socket.gethostname()}"

    def begin(self) -> Begun | Refused:
        """Load, and check."""
        return _told(self._worker.begin)

    def run(self, numbers: Sequence[int]) -> list[PairEvent] | Refused:
        """Compute a batch."""
        return _told(lambda: list(self._worker.run(numbers)))

    def finish(self, events: Sequence[PairEvent]) -> TableSummary | Refused:
        """The tables of pairs that are done."""
        return _told(lambda: self._worker.finish(events))


def _told(call: Callable[[], T]) -> T | Refused:
    try:
        return call()
    except SondeError as error:
        return Refused(str(error), isinstance(error, RequestError))


class RayHands:
    """Actors as `handing_out` sees them."""

    def __init__(
        self, ray: Any, options: dict[str, Any], model: StudyModel, request: SweepRequest, say: Say
    ) -> None:
        self._ray, self._say = ray, say
        self._actor = ray.remote(Actor).options(max_restarts=0, **options)
        self._asked = model, request
        known = ray.exceptions
        self._deaths = known.RayActorError, known.WorkerCrashedError, known.OutOfMemoryError
        self._actors: dict[int, Any] = {}
        self._names: dict[int, str] = {}
        self._heard: dict[Any, tuple[int, str]] = {}
        """What is under way -> whose it is, and what."""

    def start(self, worker: int) -> None:
        """Place an actor; its name comes first, then it is ready."""
        actor = self._actor.remote(*self._asked)
        self._actors[worker], self._names[worker] = actor, f"worker {worker + 1}"
        self._heard[actor.name.remote()] = worker, "name"
        self._heard[actor.begin.remote()] = worker, "begin"

    def give(self, worker: int, numbers: Sequence[int]) -> None:
        """Hand it a batch."""
        self._heard[self._actors[worker].run.remote(list(numbers))] = worker, "run"

    def hear(self) -> Ready | Finished | Lost:
        """The next that is ready, has finished, or is lost."""
        while True:
            (ref, *_), _ = self._ray.wait(list(self._heard), num_returns=1)
            worker, what = self._heard.pop(ref)
            try:
                found = self._ray.get(ref)
            except self._deaths as error:
                return self._lost(worker, error)
            if isinstance(found, Refused):
                raise found.raised()
            if what == "name":
                self._names[worker] = f"worker {worker + 1} ({found})"
                self._say(f"worker {worker + 1} is {found}")
            elif what == "begin":
                return Ready(worker, found)
            else:
                return Finished(worker, found)

    def finish(self, worker: int, events: Iterable[PairEvent]) -> TableSummary:
        """Let one make the tables. It is the last that is asked: what is done is on disk."""
        try:
            found = self._ray.get(self._actors[worker].finish.remote(list(events)))
        except self._deaths as error:
            lost = self._lost(worker, error)
            raise WorkersLost(f"{lost.name} died at the end of the study: {lost.why}") from error
        if isinstance(found, Refused):
            raise found.raised()
        made: TableSummary = found
        return made

    def close(self) -> None:
        """End the actors."""
        for actor in self._actors.values():
            self._ray.kill(actor)

    def _lost(self, worker: int, error: Exception) -> Lost:
        for ref in [ref for ref, (whose, _) in self._heard.items() if whose == worker]:
            del self._heard[ref]
        self._ray.kill(self._actors[worker])  # one that is only out of reach keeps no device
        name, why = self._names[worker], _reason(error)
        self._say(f"{name} died ({why}); its pairs are computed by another")
        return Lost(worker, name, why)


class RayCrew:
    """Workers on Ray, as a study sees them."""

    def __init__(
        self,
        address: str,
        model: StudyModel,
        request: SweepRequest,
        say: Say,
        *,
        workers: int | None = None,
    ) -> None:
        self._ray = _connected(address)
        try:
            whole = self._ray.cluster_resources()
            gpus = model.tensor_parallel_size * model.pipeline_parallel_size
            on_gpu = whole.get("GPU", 0) >= gpus and not (model.device or "").startswith("cpu")
            nodes = sum(node["Alive"] for node in self._ray.nodes())
            self._workers = workers or (int(whole["GPU"] // gpus) if on_gpu else nodes)
            kind, each = ("GPU", gpus) if on_gpu else ("CPU", 1)
            most = int(whole.get(kind, 0) // each)
            if self._workers > most:  # Ray would wait for more machines, for ever
                raise BadRequest(
                    f"{self._workers} workers, and Ray has {kind}s for {most}: --workers {most}"
                )
            cpus = max(1, most // self._workers)
            share: dict[str, Any] = {"num_gpus": gpus} if on_gpu else {"num_cpus": cpus}
            self._hands = RayHands(self._ray, share, model, request, say)
            self._out = HandingOut(self._hands, self._workers)
        except BaseException:
            self._ray.shutdown()
            raise

    def begin(self) -> Begun:
        """Wait for the first worker; the others join in when they are ready."""
        return self._out.first()

    def run(self, numbers: Sequence[int]) -> Iterator[PairEvent]:
        """Compute these pairs, batch by batch."""
        size = max(1, min(BATCH, len(numbers) // (self._workers * TURNS)))
        yield from self._out.run([numbers[n : n + size] for n in range(0, len(numbers), size)])

    def finish(self, events: Iterable[PairEvent]) -> TableSummary:
        """The tables, made by a worker: this process has no model."""
        return self._hands.finish(self._out.idle[0], events)

    def environments(self) -> list[Environment]:
        """Of every worker that was ready."""
        return [begun.environment for begun in self._out.begun]

    def close(self) -> None:
        """End the actors, and what was started for them."""
        self._hands.close()
        self._ray.shutdown()


def _connected(address: str) -> Any:
    """Ray, connected: `auto` takes a cluster that runs, or starts one on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a study tells nobody of itself
    try:
        import ray
        import ray.exceptions
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "ray":
            raise
        raise MissingExtra("--ray", "ray") from error
    try:
        ray.init(
            address=None if address == "auto" else address,
            log_to_driver=False,
            logging_level="ERROR",
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        why = " ".join(str(error).split())[:200]
        raise BadRequest(
            f"--ray {address!r} leads to no cluster ({why}); auto starts one on this machine"
        ) from error
    return ray


def _reason(error: Exception) -> str:
    """The line of Ray's message that says what happened."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = next((line for line in lines if line.startswith("The actor is dead")), lines[0])
    return told.partition(" Some common causes")[0][:200]
