"""What a server is made of. Parts are passed in, never looked up."""

from dataclasses import dataclass, field

from sonde.backends.base import Backend
from sonde.engine import Limits
from sonde.runs.hub import Hub
from sonde.server.dictionaries import Dictionaries
from sonde.server.jobs import JobThread
from sonde.server.lanes import Lanes
from sonde.server.metrics import Metrics
from sonde.server.past import History
from sonde.server.pool import Pool
from sonde.server.sweeps import Sweeps

KEYED = "sonde.keyed"
"""In a request's scope: whether it brings the key, or there is none to bring."""


@dataclass(frozen=True)
class Network:
    """Who may talk to the server, and how much they may say."""

    host: str = "127.0.0.1"
    port: int = 8091
    api_key: str | None = field(default=None, repr=False)
    allowed_hosts: tuple[str, ...] = ()
    """Names by which the server may be addressed, beside loopback names and `host`."""
    allowed_origins: tuple[str, ...] = ()
    """Pages that may use the server beside its own: `https://lab.example`."""
    max_body_bytes: int = 64 * 2**20
    keyless_body_bytes: int = 256 * 2**10
    """Where there is a key: what those may send who do not have it."""
    body_seconds: float = 30.0
    """A request whose body takes longer to arrive is refused."""
    stalled_seconds: float = 120.0
    """A client that takes nothing of its answer for so long is let go."""
    heartbeat_seconds: float = 10.0


@dataclass(frozen=True)
class Gateway:
    """What a server without a model is made of: run directories to list and listen to."""

    runs: Hub
    network: Network = field(default_factory=Network)
    metrics: Metrics = field(default_factory=Metrics)
    sweeps: History | None = None
    """Sweeps of servers with a model, to be read."""


@dataclass(frozen=True)
class Parts:
    """Loaded models and what serves them."""

    models: Pool
    engine: JobThread
    sweeps: Sweeps
    limits: Limits = field(default_factory=Limits)
    network: Network = field(default_factory=Network)
    versions: dict[str, str] = field(default_factory=dict)
    lanes: Lanes = field(default_factory=Lanes)
    metrics: Metrics = field(default_factory=Metrics)
    dictionaries: Dictionaries = field(default_factory=Dictionaries)
    """Those whose features a sweep may name."""
    runs: Hub | None = None
    """Run directories, where the server shows any."""

    @property
    def backend(self) -> Backend:
        """The model that is always there: the one that is meant where none is named."""
        return self.models.default.backend
