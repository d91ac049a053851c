"""Drives one vLLM engine from whichever thread has the turn.

Requests of several jobs are in the engine at once and advance together: the thread that takes a
step moves all of them on, and outputs wait here until the job that they belong to has its turn. So
a completion shares its steps with the cells of a sweep.

vLLM's engine is not made for two threads: one lock, held for a step or a call. News for the ranks
that may come from any thread (a run was dropped) is put down without waiting, and delivered before
the next step, at once when nobody is driving.
"""

import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock, Thread
from typing import Any, Final

from sonde.backends.vllm.spec import ARGUMENT, RequestSpec
from sonde.errors import EngineError, EngineLost

News = tuple[str, tuple[Any, ...]]
FAILED = {"abort", "error"}
LOOK_SECONDS: Final = 0.5
"""How often the note of an engine's death is looked at."""


class Driver:
    """One engine, its lock, and the outputs nobody has taken yet."""

    def __init__(self, engine: Any, *, salted: bool = False) -> None:
        """`salted` keeps patched requests out of the prefix cache altogether."""
        self._engine = engine
        self._salted = salted
        self._lock = RLock()
        self._outputs: dict[str, list[Any]] = defaultdict(list)
        self._live: set[str] = set()
        self._news: deque[News] = deque()
        self._stopped: str | None = None

    @property
    def config(self) -> Any:
        """The configuration that vLLM runs with."""
        return self._engine.vllm_config

    def check_alive(self) -> None:
        """Raise when the engine has stopped, now or earlier."""
        resources = getattr(self._engine.engine_core, "resources", None)
        if self._stopped is None and getattr(resources, "engine_dead", False):
            self._stopped = "one of its processes ended"
        if self._stopped is not None:
            raise EngineLost(self._stopped)

    def submit(
        self, spec: RequestSpec | None, uid: str, tokens: Sequence[int], params: Any
    ) -> None:
        """Queue a request; `params` are vLLM's sampling parameters."""
        prompt: dict[str, Any] = {"prompt_token_ids": list(tokens)}
        if spec is not None:
            params.extra_args = {ARGUMENT: spec.to_plain()}
            if self._salted and spec.writes:
                prompt["cache_salt"] = uid
        with self._driving():
            self._engine.add_request(uid, prompt, params)
            self._live.add(uid)

    def take(self, uid: str) -> list[Any]:
        """What a request has given since it was last asked; an ended one is then forgotten."""
        with self._lock:
            outputs = self._outputs.pop(uid, [])
            if outputs and outputs[-1].finished:
                self._live.discard(uid)
        for output in outputs:
            reason = output.outputs[0].finish_reason
            if reason in FAILED:
                raise EngineError(f"vLLM ended a request with {reason!r}; its log says more")
        return outputs

    def advance(self) -> None:
        """One step for everybody."""
        with self._driving():
            if not self._engine.has_unfinished_requests():
                raise EngineError("a request is lost: vLLM has no unfinished one to work on")
            with self._failing():
                outputs = self._engine.step()
            for output in outputs:
                if output.request_id in self._live:
                    self._outputs[output.request_id].append(output)

    def abort(self, uids: Iterable[str]) -> None:
        """Stop requests that nobody waits for, and forget them on all ranks."""
        with self._lock:
            gone = [uid for uid in uids if uid in self._live]
            self._live.difference_update(gone)
            for uid in gone:
                self._outputs.pop(uid, None)
            if not gone or self._stopped is not None:
                return
            with self._driving():
                self._engine.abort_request(gone)
            self.tell("sonde_report", gone)

    def call(self, method: str, *args: Any) -> list[Any]:
        """Call a method on all ranks now. -> one reply a rank."""
        with self._driving():
            with self._failing():
                replies: list[Any] = self._engine.collective_rpc(method, args=args)
            return replies

    def tell(self, method: str, *args: Any) -> None:
        """Call a method on all ranks soon, from any thread, without waiting for the engine."""
        self._news.append((method, args))
        if self._stopped is None and self._lock.acquire(blocking=False):
            try:
                self._deliver()
            finally:
                self._lock.release()

    def close(self) -> None:
        """End the engine and its processes."""
        with self._lock:
            self._stopped = self._stopped or "it was closed"
            self._engine.engine_core.shutdown()

    @contextmanager
    def _driving(self) -> Iterator[None]:
        """Alone with the engine, its ranks up to date."""
        with self._lock:
            self.check_alive()
            self._deliver()
            yield

    def _deliver(self) -> None:
        while self._news:
            method, args = self._news.popleft()
            with self._failing():
                self._engine.collective_rpc(method, args=args)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """An engine whose step or call failed is in no known state: it is done for."""
        fine = False
        try:
            yield
            fine = True
        except Exception as error:
            if not _is_the_engines(error):
                raise
            self._stopped = f"{type(error).__name__}: {error}"[:500]
            self.check_alive()
        finally:
            if not fine and self._stopped is None:
                self._stopped = "a step of it failed"


def _is_the_engines(error: Exception) -> bool:
    """Whether vLLM raised it. A call that failed in another process comes as a bare `Exception`."""
    from vllm.v1.engine.exceptions import EngineDeadError

    known = isinstance(error, EngineDeadError | RuntimeError | OSError | TimeoutError)
    return known or type(error) is Exception


def wake_on_death(client: Any) -> None:
    """From now on, end what waits for this engine client once its engine is dead.

    vLLM's client of an engine in another process notes its death, and refuses what is asked after
    that. What was asked before is left waiting for ever: a call on the ranks always, a step when
    the engine was killed too hard to say goodbye. So the note is looked at.
    """
    if getattr(client, "resources", None) is None:
        return  # the engine is in this process
    parts = (client.resources, client.utility_results, client.outputs_queue)  # not the client:
    Thread(target=_watch, args=parts, name="sonde-waking", daemon=True).start()  # it may be freed


def _watch(resources: Any, calls: dict[Any, Any], outputs: Any) -> None:
    while not resources.engine_dead:
        time.sleep(LOOK_SECONDS)
    _wake(calls, outputs)


def _wake(calls: dict[Any, Any], outputs: Any) -> None:
    """End the calls that wait for a reply, and the step that waits for outputs."""
    from vllm.v1.engine.exceptions import EngineDeadError

    for waiting in list(calls.values()):
        if not waiting.done():
            waiting.set_exception(EngineDeadError())
    outputs.put_nowait(EngineDeadError())
