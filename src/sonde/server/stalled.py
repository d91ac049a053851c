"""Clients that have stopped taking what they asked for, found and let go.

A slow reader is served for as long as it takes; one that reads nothing at all would hold a
connection, and what is buffered for it, for ever: also when the answer itself is long complete. The
kernel knows how many bytes a client has confirmed (`TCP_INFO`), so the slowest of readers is told
from one that is gone. What was cut can be asked for again: streams have numbers to come back with.
"""

import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakKeyDictionary

TCP_INFO: int | None = getattr(socket, "TCP_INFO", None)
_ACKED = struct.Struct("Q")
_ACKED_AT = 120
"""Where `tcpi_bytes_acked` stands, on Linux since 4.1."""


class Transport(Protocol):
    """What is asked of a connection's transport."""

    def get_write_buffer_size(self) -> int:
        """Bytes that wait for the client here, beside those in the kernel."""
        ...

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """The socket, by `socket`."""
        ...

    def abort(self) -> None:
        """Let it go, with what waits."""
        ...


@dataclass
class _Progress:
    """How far a client was when something first waited for it, and when that was."""

    taken: int
    since: float


@dataclass
class StalledClients:
    """Looks at connections every now and then."""

    seconds: float
    _seen: WeakKeyDictionary[Transport, _Progress] = field(default_factory=WeakKeyDictionary)

    def cut(self, transports: Iterable[Transport], now: float) -> int:
        """Let go of those that have taken nothing for too long. -> how many"""
        gone = 0
        for transport in transports:
            if not transport.get_write_buffer_size():
                self._seen.pop(transport, None)
                continue
            taken = bytes_taken(transport)
            seen = self._seen.get(transport)
            if seen is None or seen.taken != taken:
                self._seen[transport] = _Progress(taken, now)
            elif now - seen.since >= self.seconds:
                transport.abort()
                gone += 1
        return gone


def bytes_taken(transport: Transport) -> int:
    """A number that grows as the client takes what it is sent."""
    connected = transport.get_extra_info("socket")
    if connected is not None and TCP_INFO is not None:
        try:
            info = connected.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 256)
        except OSError:  # not TCP, or closed
            info = b""
        if len(info) >= _ACKED_AT + _ACKED.size:
            acked: int = _ACKED.unpack_from(info, _ACKED_AT)[0]
            return acked
    return -transport.get_write_buffer_size()
