"""A server's parts over the scripted backend, and ways to talk to them."""

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from sonde.server.app import stop
from sonde.server.parts import Network, Parts
from sonde.server.serving import assemble
from tests.scripted import Scripted

SWEEP: dict[str, Any] = {
    "prompt": "The Colosseum is in the city of",
    "clean_prompt": "The Eiffel is in the city of",
    "source_run": "a",
    "layers": [0, 1],
    "answer_token": " Paris",
}


@contextmanager
def parts_over(backend: Scripted, directory: Path, **network: Any) -> Iterator[Parts]:
    """Parts that are stopped in the end, whatever happened to them."""
    parts = assemble(backend, directory, network=Network(**network))
    try:
        yield parts
    finally:
        stop(parts, 0)


@asynccontextmanager
async def client_of(app: FastAPI, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client that calls the app without a network between them."""
    transport = httpx.ASGITransport(app)
    options = {"base_url": "http://127.0.0.1:8091"} | options
    async with httpx.AsyncClient(transport=transport, **options) as http:
        yield http


@contextmanager
def connection(url: str) -> Iterator[socket.socket]:
    """A bare connection to a server that runs."""
    at = httpx.URL(url)
    with socket.create_connection((at.host, at.port or 80), timeout=20) as connected:
        yield connected


def received_on(connected: socket.socket) -> bytes:
    """All that comes until the connection ends."""
    received = b""
    try:
        while piece := connected.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return received


def answer_on(connected: socket.socket) -> tuple[int, bytes]:
    """The status of the answer that comes, and all of it; (0, b"") when there is none."""
    received = received_on(connected)
    status = received.split(b" ", 2)[1] if received else b"0"
    return int(status), received
