"""From a loaded backend to a server that answers: parts, socket, uvicorn, signals.

    parts = assemble(backend, data_directory)
    with running_server(parts) as url:
        httpx.get(f"{url}/v1/capabilities")

`running_server` is for tests, examples and notebooks: a thread of this process and a free port.
`sonde serve` runs the same server in the foreground.
"""

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import uvicorn

from sonde.backends.base import Backend
from sonde.engine import Limits
from sonde.errors import BadRequest, EngineLost
from sonde.model import versions
from sonde.runs.hub import Hub
from sonde.server.app import STOP_SECONDS, create_app, create_gateway
from sonde.server.jobs import Engine
from sonde.server.parts import Gateway, Network, Parts
from sonde.server.protocol import GuardedProtocol
from sonde.server.sweeps import Sweeps
from sonde.server.vectors import VectorRegister
from sonde.store.sweeps import SweepStore

LAST_SECONDS = 2 * STOP_SECONDS
"""A chunk cannot be stopped half way; after so long the process ends in the middle of one."""


def assemble(
    backend: Backend,
    store: Path | SweepStore,
    *,
    network: Network | None = None,
    limits: Limits | None = None,
    waiting: int = 256,
    runs: Hub | None = None,
) -> Parts:
    """The parts of a server, the engine's thread already running.

    `store` is the history, or the directory it is in; `waiting` is how many sweeps, and how many
    other jobs, may wait; `runs` are the run directories to show.
    """
    history = SweepStore(store) if isinstance(store, Path) else store
    engine = Engine(waiting=waiting)
    limits = limits or Limits()
    used = versions()
    return Parts(
        backend=backend,
        engine=engine,
        sweeps=Sweeps(backend, engine, history, limits=limits, versions=used),
        vectors=VectorRegister(),
        limits=limits,
        network=network or Network(),
        versions=used,
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


STALLED_SECONDS = 2.0
"""How long clients may take to read the end of their streams when the server stops."""


UNHEALTHY_SECONDS = 10.0
"""How long a server whose engine is lost still says so, before it ends by itself."""

LOOK_TICKS = 20
"""How often the engine is looked after when nobody asks anything of it, in tenths of a second."""


class Server(uvicorn.Server):
    """uvicorn around our app. The first signal asks it to stop, the second ends it.

    It also ends when the engine is lost: `lost` says why, and whoever started it starts it again.
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
            timeout_graceful_shutdown=int(STOP_SECONDS) + 2,
        )
        super().__init__(config)
        self._parts = parts
        self.stopped_by: int | None = None
        self._last: threading.Timer | None = None
        self._ends: float | None = None

    @property
    def lost(self) -> EngineLost | None:
        """What happened to the engine; None while it is well."""
        return self._parts.engine.lost if isinstance(self._parts, Parts) else None

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second. -> whether to stop."""
        if counter % LOOK_TICKS == 0:
            self._look()
        if self.lost is not None:
            self._ends = self._ends or time.monotonic() + UNHEALTHY_SECONDS
            self.should_exit = self.should_exit or time.monotonic() > self._ends
        return await super().on_tick(counter)

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
        cutting = asyncio.create_task(self._cut_stalled())
        stopping = asyncio.create_task(self._stop_engine())
        await super().shutdown(sockets)
        await stopping
        cutting.cancel()

    async def _stop_engine(self) -> None:
        if isinstance(self._parts, Parts):
            await asyncio.to_thread(self._parts.engine.stop, STOP_SECONDS)

    async def _cut_stalled(self) -> None:
        """Connections that were closed long ago, but whose clients do not take what is left."""
        await asyncio.sleep(STALLED_SECONDS)
        for connection in list(self.server_state.connections):
            transport = getattr(connection, "transport", None)
            if transport is not None and transport.is_closing():
                transport.abort()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Signals stop the server; `stopped_by` says which. They are not raised again after."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        caught = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in caught}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if self._last is not None:
                self._last.cancel()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ask politely once, and wait so long. What is in the history is safe, whatever is cut."""
        if self.should_exit:
            os._exit(128 + sig)
        self._last = threading.Timer(LAST_SECONDS, os._exit, [exit_status(sig)])
        self._last.daemon = True
        self._last.start()
        self.stopped_by = sig
        self.should_exit = True


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
