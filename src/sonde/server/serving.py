"""From a loaded backend to a server that answers: parts, socket, uvicorn, signals.

    parts = assemble(backend, data_directory)
    with running_server(parts) as url:
        httpx.get(f"{url}/v1/capabilities")

`running_server` is for tests, examples and notebooks: a thread of this process and a free port.
`sonde serve` runs the same server in the foreground.
"""

import asyncio
import logging
import math
import os
import signal
import socket
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

import uvicorn

from sonde.backends.base import Backend
from sonde.engine import Limits
from sonde.errors import BadRequest, EngineLost
from sonde.results.provenance import versions
from sonde.runs.hub import Hub
from sonde.server.app import STOP_SECONDS, create_app, create_gateway
from sonde.server.dictionaries import Dictionaries
from sonde.server.jobs import JobThread
from sonde.server.memory import Trimming
from sonde.server.model_names import ModelNames
from sonde.server.parts import Gateway, Network, Parts
from sonde.server.pool import Loader, Pool
from sonde.server.protocol import GuardedProtocol
from sonde.server.stalled import StalledClients
from sonde.server.sweeps import Sweeps
from sonde.store.sweeps import SweepStore

ANSWERS_SECONDS = 3.5
"""When clients must have taken the end of their answers, after the server was asked to stop."""

LAST_SECONDS = 4.0
"""After so long the process ends, whatever it is in the middle of. With `HURRY_SECONDS` that
is half a second before the five that are promised, for a machine that is busy."""

HURRY_SECONDS = 0.5
"""How long it may take to write down what is cut off, when the process ends at once."""


def assemble(
    backend: Backend,
    store: Path | SweepStore,
    *,
    network: Network | None = None,
    limits: Limits | None = None,
    waiting: int = 256,
    runs: Hub | None = None,
    dictionaries: Mapping[str, Path] | None = None,
    names: ModelNames | None = None,
    loader: Loader | None = None,
    model_bytes: int | None = None,
) -> Parts:
    """The parts of a server, the engine's thread already running.

    `store` is the history, or the directory it is in; `waiting` is how many sweeps, and how many
    other jobs, may wait; `runs` are the run directories to show; `dictionaries` are folders by the
    name under which a sweep may ask for their features. `names` and `loader` are for further
    models, beside `backend`; `model_bytes` is what the weights of all may take together.
    """
    history = SweepStore(store) if isinstance(store, Path) else store
    engine = JobThread(waiting=waiting)
    limits = limits or Limits()
    used = versions()
    models = Pool(backend, engine, names=names, loader=loader, budget_bytes=model_bytes)
    return Parts(
        models=models,
        engine=engine,
        sweeps=Sweeps(models, engine, history, limits=limits, versions=used),
        limits=limits,
        network=network or Network(),
        versions=used,
        dictionaries=Dictionaries(dictionaries, runs=runs),
        runs=runs,
    )


UNSENT: int | None = getattr(socket, "TCP_NOTSENT_LOWAT", None)
UNSENT_BYTES = 512 * 1024
"""How much may wait in the kernel until it can be put on its way to a client."""


def bind(host: str, port: int) -> socket.socket:
    """A socket that holds a port but does not listen yet; port 0 is any free one."""
    try:
        [(family, kind, _, _, address), *_] = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        raise BadRequest(f"--host {host!r} is no address of this machine: {error}") from error
    held = socket.socket(family, kind)
    try:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(address)
    except OSError as error:
        held.close()
        raise _taken(host, port, error) from error
    return held


def listen(held: socket.socket) -> None:
    """Take connections from now on: those that come before uvicorn runs wait in line.

    What the kernel holds for a client that does not read is bounded, as what we hold is, and
    connections inherit that. How fast one that reads is served does not depend on it.
    """
    if UNSENT is not None:
        held.setsockopt(socket.IPPROTO_TCP, UNSENT, UNSENT_BYTES)
    try:
        held.listen(1024)
    except OSError as error:
        host, port = held.getsockname()[:2]
        raise _taken(host, port, error) from error


def url_of(held: socket.socket) -> str:
    """Where it can be reached from this machine."""
    host, port = held.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


UNHEALTHY_SECONDS = 10.0
"""How long a server whose engine is lost still says so, before it ends by itself."""

LOOK_TICKS = 20
"""How often engine and connections are looked after, in tenths of a second."""

log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """uvicorn around our app. The first signal asks it to stop, the second ends it.

    It also ends when the engine is lost: `lost` says why, and its supervisor starts it again.
    """

    def __init__(self, parts: Parts | Gateway) -> None:
        self.app = create_app(parts) if isinstance(parts, Parts) else create_gateway(parts)
        config = uvicorn.Config(
            self.app,
            http=GuardedProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=math.ceil(ANSWERS_SECONDS),
        )
        super().__init__(config)
        self._parts = parts
        self.stopped_by: int | None = None
        self._last: threading.Timer | None = None
        self._ends: float | None = None
        self._stalled = StalledClients(parts.network.stalled_seconds)
        self._trimming = Trimming()
        self._looking: asyncio.Future[bool] | None = None

    @property
    def lost(self) -> EngineLost | None:
        """What happened to the engine; None while it is well."""
        return self._parts.engine.lost if isinstance(self._parts, Parts) else None

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second. -> whether to stop."""
        if counter % LOOK_TICKS == 0:
            self._look()
            self._cut_stalled()
            self._give_memory_back()
        if self.lost is not None:
            self._ends = self._ends or time.monotonic() + UNHEALTHY_SECONDS
            self.should_exit = self.should_exit or time.monotonic() > self._ends
        return await super().on_tick(counter)

    def _give_memory_back(self) -> None:
        """On another thread, and not waited for: it may take a second."""
        if self._looking is None or self._looking.done():
            look = partial(self._trimming.look, time.monotonic(), idle=self._idle)
            self._looking = asyncio.get_running_loop().run_in_executor(None, look)

    @property
    def _idle(self) -> bool:
        """Whether the model and the tokenizer have nothing to do."""
        if not isinstance(self._parts, Parts):
            return True
        return self._parts.engine.idle and self._parts.lanes.idle

    def _look(self) -> None:
        """Learn of an engine that died while it had nothing to do; asks no work of it."""
        if not isinstance(self._parts, Parts) or self.lost is not None:
            return
        try:
            self._parts.backend.describe()
        except EngineLost as error:
            self._parts.engine.lose(error)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop what streams first: they then end with a word, not with a broken connection."""
        if self._parts.runs is not None:
            self._parts.runs.stop()
        cutting = asyncio.create_task(self._cut_all())
        stopping = asyncio.create_task(self._stop_engine())
        await super().shutdown(sockets)
        await stopping
        cutting.cancel()

    async def _stop_engine(self) -> None:
        """On a thread of its own: those that answer requests may all be busy."""
        if not isinstance(self._parts, Parts):
            return
        engine, lanes = self._parts.engine, self._parts.lanes
        loop = asyncio.get_running_loop()
        stopped = loop.create_future()

        def stop() -> None:
            until = time.monotonic() + STOP_SECONDS
            engine.stop(STOP_SECONDS)
            while not lanes.idle and time.monotonic() < until:
                time.sleep(0.02)
            lanes.interrupt()
            loop.call_soon_threadsafe(stopped.set_result, None)

        threading.Thread(target=stop, name="sonde-stop", daemon=True).start()
        await stopped

    def _transports(self) -> list[asyncio.Transport]:
        connections = list(self.server_state.connections)
        transports = (getattr(each, "transport", None) for each in connections)
        return [transport for transport in transports if transport is not None]

    def _cut_stalled(self) -> None:
        gone = self._stalled.cut(self._transports(), time.monotonic())
        if gone:
            log.warning("%d clients took nothing of their answers and were let go", gone)

    async def _cut_all(self) -> None:
        """Connections whose clients have not taken what is left for them when the server ends."""
        await asyncio.sleep(ANSWERS_SECONDS)
        for transport in self._transports():
            transport.abort()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Until it is asked to stop. Signals are heard until all of its threads have ended, too."""
        with self.hearing_signals():
            super().run(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Not here: uvicorn would give them back before the last threads have ended."""
        yield

    @contextmanager
    def hearing_signals(self) -> Generator[None, None, None]:
        """Signals stop the server; `stopped_by` says which. They are not raised again after.

        Once one has stopped it, this stays in force: the program that ran the server ends too, or
        says what signals do from then on.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        caught = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in caught}
        try:
            yield
        finally:
            if self._last is not None:
                self._last.cancel()
            if self.stopped_by is None:
                for number, handler in before.items():
                    signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ask politely once, and wait so long; the second time, end as soon as it is written down.

        Never in the handler itself: it may have interrupted a thread that holds a lock.
        """
        if self.should_exit:
            threading.Thread(target=self._end_now, name="sonde-end", daemon=True).start()
            return
        self.stopped_by = sig
        self.should_exit = True
        self._last = threading.Timer(LAST_SECONDS, self._end_now)
        self._last.daemon = True
        self._last.start()

    def _end_now(self) -> None:
        """End the process with the status that fits; the history says what was cut off."""
        writing = threading.Thread(target=self._write_down, name="sonde-history", daemon=True)
        writing.start()
        writing.join(HURRY_SECONDS)
        os._exit(exit_status(self.stopped_by))

    def _write_down(self) -> None:
        if isinstance(self._parts, Parts):
            self._parts.engine.interrupt()
            self._parts.lanes.interrupt()
            self._parts.sweeps.close()


def exit_status(stopped_by: int | None) -> int:
    """130 after Ctrl-C, as shells expect; 0 when it was asked to stop in another way."""
    return 130 if stopped_by == signal.SIGINT else 0


@contextmanager
def running_server(parts: Parts | Gateway) -> Iterator[str]:
    """Serve from a thread of this process, on a free port. -> the URL."""
    held = bind(parts.network.host, 0)
    listen(held)
    server = Server(parts)
    thread = threading.Thread(target=server.run, args=([held],), name="sonde-server", daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        yield url_of(held)
    finally:
        server.should_exit = True
        thread.join()
        held.close()


def _taken(host: str, port: int, error: OSError) -> BadRequest:
    return BadRequest(
        f"cannot listen on {host} port {port}: {error.strerror}; "
        "choose another with --port, or --port 0 for any that is free"
    )
