"""The models of a server: one that it began with and keeps, and others as they are asked for.

`find` turns the name in a request into a source, at the edge; `run` does work on the model that is
loaded from it. Loading, sharing and evicting happen on the engine's thread, inside the job that
needs the model: a step is a turn, so that other jobs go on in between. What a job works on is
leased to it and stays until the job ends, however it ends.

Jobs that need another model than the first stand in line, so that a model in steady use cannot keep
out the one behind it. The job at the head takes its model, or loads it as soon as there is room.
Only jobs that work hold leases, so those who wait for room wait for someone who gets on.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from sonde.backends import giving_up
from sonde.backends.base import Backend
from sonde.engine import NamedVectors
from sonde.errors import RequestTooLarge, UnknownModel
from sonde.runs.layout import RunLayout
from sonde.schema import ModelDescription
from sonde.schema.model import ModelEntry
from sonde.schema.sweep import Loading
from sonde.server.completion.work import Speech
from sonde.server.jobs import PAUSE, JobThread
from sonde.server.memory import trim
from sonde.server.model_names import ModelNames, ModelSource
from sonde.server.vectors import VectorRegister

T = TypeVar("T")
Say = Callable[[str], None]


class MayOpen(Protocol):
    """Raises where the base of an adapter may not be opened."""

    def __call__(self, adapter: Path, base: Path | str) -> None:
        """`base` is a directory, or an id that has not been looked up yet."""
        ...


class Loader(Protocol):
    """Loads models into this process, and knows what they take."""

    def locate(self, source: str, say: Say) -> Path:
        """The directory of a model."""
        ...

    def size(self, directory: Path, say: Say, may_open: MayOpen) -> int:
        """Bytes that it will take, before it is loaded."""
        ...

    def load(
        self, name: str, directory: Path, say: Say, may_open: MayOpen, beside: Sequence[Backend]
    ) -> Generator[None, None, Backend]:
        """Load it, step by step."""
        ...

    def held(self, backends: Sequence[Backend]) -> int:
        """Bytes that some models take together."""
        ...

    def rest(self, backend: Backend) -> None:
        """Nobody uses it for now."""
        ...

    def free(self) -> None:
        """A model was let go of."""
        ...


@dataclass(eq=False)
class ServedModel:
    """A model that is loaded, and what goes when it goes."""

    source: ModelSource
    backend: Backend
    vectors: VectorRegister = field(default_factory=VectorRegister)
    leases: int = 0
    """Jobs that work on it."""

    @cached_property
    def speech(self) -> Speech:
        """What turns its tokens into text."""
        return Speech.of(self.backend)


@dataclass(eq=False)
class _Load:
    """A model on its way: the request at the head of the line takes the next step."""

    source: ModelSource
    steps: Generator[Any, None, ServedModel]
    said: list[str]


@dataclass(eq=False)
class _Ticket:
    """A job's place in the line."""

    source: str
    error: Exception | None = None
    """Why the model cannot be loaded, where another job has tried."""


class Pool:
    """All models of a server. Methods without a word about threads may be called from any."""

    def __init__(
        self,
        backend: Backend,
        engine: JobThread,
        *,
        names: ModelNames | None = None,
        loader: Loader | None = None,
        budget_bytes: int | None = None,
    ) -> None:
        """`backend` is the default. Without `names` and a loader there is no other."""
        self._engine = engine
        self._names, self._loader = names, loader
        self._budget = budget_bytes
        name = backend.describe().name
        self.default = ServedModel(self._own(name), backend)
        self._others: dict[str, ServedModel] = {}
        """By source, the least recently used first."""
        self._line: list[_Ticket] = []
        self._load: _Load | None = None

    def find(self, name: str | None) -> ModelSource:
        """The model that a request means: none, the default; `UnknownModel` where there is none."""
        own = self.default.source
        if name is None or name in (own.name, self.default.backend.describe().name):
            return own
        if self._names is None or self._loader is None:
            raise _only(name, self.default.backend.describe())
        found = self._names.find(name)
        return own if found.source == own.source else found

    def steps(self, run: str) -> list[int]:
        """The steps of a run's checkpoints, which `find` knows by `RUN@checkpoint-STEP`."""
        if self._names is None or self._loader is None:
            raise _only(run, self.default.backend.describe())
        return self._names.steps(run)

    def layout(self, run: str) -> RunLayout:
        """Where the files of a run are; as `steps`."""
        if self._names is None:
            raise _only(run, self.default.backend.describe())
        return self._names.layout(run)

    def find_or_default(self, name: str | None) -> ModelSource:
        """The same for those who may send any name, and get the default for one that is unknown."""
        try:
            return self.find(name)
        except UnknownModel:
            return self.default.source

    def find_loaded(self, name: str | None) -> ServedModel:
        """One that is there now, for those who may not have one loaded, nor learn what there is."""
        loaded = self.all_loaded()
        for served in loaded if name is not None else loaded[:1]:
            if name in (None, served.source.name, served.backend.describe().name):
                return served
        raise _only(name or "", self.default.backend.describe())

    def loaded(self, source: ModelSource) -> ServedModel | None:
        """The model, if it is there now."""
        if source.source == self.default.source.source:
            return self.default
        return self._others.get(source.source)

    def vectors(self, source: ModelSource) -> NamedVectors:
        """What has a name on a model now: nothing on one that is not loaded."""
        served = self.loaded(source)
        return {} if served is None else served.vectors.snapshot()

    def all_loaded(self) -> list[ServedModel]:
        """Those that are there now, the default first."""
        return [self.default, *list(self._others.values())]

    def listing(self, created: int) -> list[ModelEntry]:
        """What is loaded, and what can be."""
        there = self.all_loaded()
        entries = [_entry(served, created) for served in there]
        known = {entry.id for entry in entries} | {served.source.name for served in there}
        names = [] if self._names is None or self._loader is None else self._names.names()
        others = [name for name in names if name not in known]
        return entries + [_absent(name, created) for name in others]

    def entry(self, name: str, created: int) -> ModelEntry:
        """One of them."""
        source = self.find(name)
        served = self.loaded(source)
        return _absent(source.name, created) if served is None else _entry(served, created)

    @property
    def budget_bytes(self) -> int | None:
        """What all weights together may take; None where nothing is ever loaded."""
        return self._budget

    def held_bytes(self) -> int | None:
        """What they take; None where that is not known."""
        return None if self._loader is None else self._loader.held(self._backends())

    async def ready(self, source: ModelSource) -> ServedModel:
        """The model, loaded if it was not. It is not leased: `run` what needs it."""
        served = self.loaded(source)
        return served if served is not None else await self.call(source, lambda made: made)

    async def call(self, source: ModelSource, work: Callable[[ServedModel], T]) -> T:
        """One call on a model, between the turns of other jobs."""

        def once(served: ServedModel) -> Iterator[T]:
            yield work(served)

        stream = self._engine.stream(lambda: self.run(source, once))
        try:
            async for made in stream:
                return made
        finally:
            stream.cancel()
        raise AssertionError("a call yields once")

    # On the engine's thread.

    def run(
        self,
        source: ModelSource,
        work: Callable[[ServedModel], Iterator[T]],
        tell: Callable[[Loading], None] | None = None,
    ) -> Iterator[T]:
        """What `work` yields of a model, which stays until that has ended.

        `tell` hears how loading goes, if it has to be loaded. To be submitted as a job, because it
        pauses where it has to wait.
        """
        served = yield from self._leased(source, tell)
        try:
            with closing(cast(Generator[T, None, None], work(served))) as made:
                yield from made
        finally:
            served.leases -= 1
            if not served.leases and served is not self.default and self._loader is not None:
                self._loader.rest(served.backend)

    def _leased(
        self, source: ModelSource, tell: Callable[[Loading], None] | None
    ) -> Generator[Any, None, ServedModel]:
        served = self.default if self.loaded(source) is self.default else None
        if served is None:
            ticket = _Ticket(source.source)
            self._line.append(ticket)
            try:
                served = yield from self._in_line(ticket, source, tell)
            finally:
                self._line.remove(ticket)
                self._give_up_load()
        served.leases += 1
        return served

    def _in_line(
        self, ticket: _Ticket, source: ModelSource, tell: Callable[[Loading], None] | None
    ) -> Generator[Any, None, ServedModel]:
        heard = 0
        while True:
            load = self._load
            if self._line[0] is ticket:
                served = self._others.get(source.source) or self._step(source)
                if served is not None:
                    self._others[source.source] = self._others.pop(source.source)
                    return served
                load = self._load
            if load is not None and load.source.source == source.source and tell is not None:
                for line in load.said[heard:]:
                    tell(Loading(model=source.name, message=line))
                heard = len(load.said)
            if ticket.error is not None:
                raise ticket.error
            yield PAUSE

    def _step(self, source: ModelSource) -> ServedModel | None:
        """One step of loading; the model, with the last."""
        load = self._load
        if load is None:
            said: list[str] = []
            load = self._load = _Load(source, self._steps(source, said.append), said)
        try:
            with giving_up.asking(giving_up.nobody):
                next(load.steps)
        except StopIteration as ended:
            self._load = None
            served: ServedModel = ended.value
            return served
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to those who wait
            self._load = None
            if self._loader is not None:
                self._loader.free()
            for ticket in self._line:  # they need not try the same in vain
                if ticket.source == source.source:
                    ticket.error = error
        return None

    def _steps(self, source: ModelSource, say: Say) -> Generator[Any, None, ServedModel]:
        loader, names, budget = self._loader, self._names, self._budget
        assert loader is not None
        assert names is not None
        directory = loader.locate(source.source, say)
        yield
        needed = loader.size(directory, say, names.may_open)
        kept = loader.held([self.default.backend])
        if budget is not None and kept + needed > budget:
            own = self.default.source.name
            raise RequestTooLarge(
                f"the model {source.name!r} beside {own!r}, which stays", kept + needed, budget,
                "raise --model-memory, or take a smaller dtype",
            )  # fmt: skip
        if not self._make_room(needed):
            say(f"{source.name} waits until there is room for it: other models are in use")
            yield
            while not self._make_room(needed):
                yield
        backend = yield from loader.load(
            source.name, directory, say, names.may_open, self._backends()
        )
        served = self._others[source.source] = ServedModel(source, backend)
        served.leases += 1
        self._make_room(0)
        served.leases -= 1
        return served

    def _make_room(self, needed: int) -> bool:
        """Let go of models that nobody uses, the least recently used first. -> if it is enough"""
        assert self._loader is not None
        while self._budget is not None and self._held() + needed > self._budget:
            idle = next((key for key, one in self._others.items() if not one.leases), None)
            if idle is None:
                return False
            del self._others[idle]
            self._loader.free()
            trim()
        return True

    def _held(self) -> int:
        assert self._loader is not None
        return self._loader.held(self._backends())

    def _give_up_load(self) -> None:
        """Stop loading what nobody waits for any more."""
        load = self._load
        if load is not None and all(each.source != load.source.source for each in self._line):
            self._load = None
            load.steps.close()
            if self._loader is not None:
                self._loader.free()

    def _backends(self) -> list[Backend]:
        return [served.backend for served in self.all_loaded()]

    def _own(self, name: str) -> ModelSource:
        """The default's source: what the server was given for its name."""
        try:
            known = None if self._names is None else self._names.find(name)
        except UnknownModel:
            known = None
        return known or ModelSource(name, name)


def _only(name: str, model: ModelDescription) -> UnknownModel:
    why = ", and a vLLM engine holds no other" if model.backend == "vllm" else ""
    return UnknownModel(
        f"the model {name[:200]!r} does not exist here; {model.name!r} is loaded{why}"
    )


def _entry(served: ServedModel, created: int) -> ModelEntry:
    model = served.backend.describe()
    return ModelEntry(id=model.name, created=created, max_model_len=model.max_tokens)


def _absent(name: str, created: int) -> ModelEntry:
    return ModelEntry(id=name, created=created, loaded=False)
