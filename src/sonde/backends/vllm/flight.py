"""Requests on their way through the engine, checked when they come back.

A request is done when vLLM has answered and every rank has reported. Then, before its numbers are
believed: all of its source runs were there, each of its writes was made, at every position and on
every rank that has the layer, and nothing at or after its lowest written position came from the
cache.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import uuid4

from sonde.backends.vllm.collective import Outcome, united_outcome
from sonde.backends.vllm.driver import Driver
from sonde.backends.vllm.spec import CaptureSpec, RequestSpec, WriteSpec
from sonde.errors import HookNeverFired, SourceRunDropped


@dataclass(frozen=True, eq=False)
class RequestInFlight:
    """A request in flight."""

    uid: str
    spec: RequestSpec | None
    runs: Mapping[str, str]
    """Key on the ranks -> name of the run, for messages."""
    tag: Any = None
    """The caller's own note of what it is for."""


@dataclass(frozen=True)
class Answer:
    """A request that is done, and what the ranks did for it."""

    asked: RequestInFlight
    output: Any
    outcome: Outcome | None


class Flight:
    """Starts requests and hands out those that are done."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._numbers = count()
        self._own = uuid4().hex[:8]

    def start(
        self,
        tokens: Sequence[int],
        params: Any,
        *,
        writes: Sequence[WriteSpec] = (),
        runs: Mapping[str, str] | None = None,
        capture: CaptureSpec | None = None,
        plain: bool = False,
        tag: Any = None,
    ) -> RequestInFlight:
        """Queue a request; a `plain` one concerns no tap and may use compiled graphs."""
        uid = f"{self._own}-{next(self._numbers)}"
        spec = None if plain else RequestSpec(uid, tuple(writes), capture)
        self._driver.submit(spec, uid, tokens, params)
        return RequestInFlight(uid, spec, runs or {}, tag)

    def each(
        self, starts: Iterable[Callable[[], RequestInFlight]], at_once: int
    ) -> Iterator[list[Answer]]:
        """Start requests, so many at once, and yield those that are done, step by step.

        Closing the iterator stops what is in flight.
        """
        waiting, flying = iter(starts), dict[str, RequestInFlight]()
        try:
            while True:
                while len(flying) < at_once and (start := next(waiting, None)) is not None:
                    asked = start()
                    flying[asked.uid] = asked
                if not flying:
                    return
                done = self._done(list(flying.values()))
                for answer in done:
                    del flying[answer.asked.uid]
                if done:
                    yield done
                else:
                    self._driver.advance()
        finally:
            self._driver.abort(list(flying))

    def tokens(self, asked: RequestInFlight) -> Iterator[Any]:
        """The outputs of one request as they come; the last one is finished and checked."""
        ended = False
        try:
            while not ended:
                outputs = self._driver.take(asked.uid)
                if not outputs:
                    self._driver.advance()
                for output in outputs:
                    ended = output.finished
                    yield output
        finally:
            self._driver.abort([asked.uid])

    def outcome(self, asked: RequestInFlight) -> Outcome:
        """What the ranks did for a request that is done."""
        return self._outcomes([asked])[asked.uid]

    def _done(self, flying: Sequence[RequestInFlight]) -> list[Answer]:
        ended = {a.uid: outputs[-1] for a in flying if (outputs := self._driver.take(a.uid))}
        done = [asked for asked in flying if asked.uid in ended]
        outcomes = self._outcomes([asked for asked in done if asked.spec is not None])
        for asked in done:
            if asked.uid in outcomes:
                check_outcome(asked, outcomes[asked.uid], ended[asked.uid].num_cached_tokens)
        return [Answer(a, ended[a.uid], outcomes.get(a.uid)) for a in done]

    def _outcomes(self, done: Sequence[RequestInFlight]) -> dict[str, Outcome]:
        if not done:
            return {}
        replies = self._driver.call("sonde_report", [asked.uid for asked in done])
        return {asked.uid: united_outcome(replies, asked.uid) for asked in done}


def check_outcome(
    asked: RequestInFlight, outcome: Outcome, cached: int | None, last: int | None = None
) -> None:
    """Every write up to position `last` was really made; without it, every write."""
    assert asked.spec is not None
    for key in outcome.missing:
        raise SourceRunDropped(asked.runs.get(key, key))
    spots = asked.spec.spots()
    due = {i for i, (_, _, position) in enumerate(spots) if last is None or position <= last}
    if not due <= outcome.written:
        hook, layer, position = spots[min(due - outcome.written)]
        raise HookNeverFired(
            f"{len(due & outcome.written)} of {len(due)} patches were made; the one at "
            f"{hook}, layer {layer}, position {position} was never reached"
        )
    first = asked.spec.first_position()
    if first is not None and (cached or 0) > first:
        raise HookNeverFired(
            f"position {first} is patched, and vLLM took {cached} positions from its prefix cache; "
            "load the model with enable_prefix_caching=False"
        )
