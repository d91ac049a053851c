"""What a server is made of. Parts are passed in, never looked up."""

from dataclasses import dataclass, field

from sonde.backends.base import Backend
from sonde.engine import Limits
from sonde.runs.hub import Hub
from sonde.server.jobs import Engine
from sonde.server.metrics import Metrics
from sonde.server.sweeps import Sweeps
from sonde.server.vectors import VectorRegister


@dataclass(frozen=True)
class Network:
    """Who may talk to the server, and how much they may say."""

    host: str = "127.0.0.1"
    port: int = 8091
    api_key: str | None = field(default=None, repr=False)
    allowed_hosts: tuple[str, ...] = ()
    """Names by which the server may be addressed, beside loopback names and `host`."""
    max_body_bytes: int = 64 * 2**20
    body_seconds: float = 30.0
    """A request whose body takes longer to arrive is refused."""
    heartbeat_seconds: float = 10.0


@dataclass(frozen=True)
class Gateway:
    """What a server without a model is made of: run directories to list and listen to."""

    runs: Hub
    network: Network = field(default_factory=Network)
    metrics: Metrics = field(default_factory=Metrics)


@dataclass(frozen=True)
class Parts:
    """A loaded model and what serves it."""

    backend: Backend
    engine: Engine
    sweeps: Sweeps
    vectors: VectorRegister
    limits: Limits = field(default_factory=Limits)
    network: Network = field(default_factory=Network)
    versions: dict[str, str] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=Metrics)
    runs: Hub | None = None
    """Run directories, where the server shows any."""
