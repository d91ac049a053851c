"""Who may talk to the server: names, origins and the key. Nothing here reads a body.

A browser sends whatever page it shows to any address, this machine's own included. Two checks keep
foreign pages out, on every method and every route: the `Host` header must be a name of this server
(a page that had its own name resolve to 127.0.0.1 is found out by that), and the `Origin` header,
where there is one, must be such a name too. Pages that pass may read the answers: `origin` is named
in `Access-Control-Allow-Origin`, never `*`.

Addresses pass as names once the server listens beyond loopback: rebinding needs a name.
"""

import hmac
import ipaddress
import re
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sonde.server.bodies import Incoming, refuse
from sonde.server.errors import refusal
from sonde.server.parts import Network

GUARDED = ("/v1", "/v2", "/inference", "/api", "/metrics")
"""Beginnings of the paths that need the key, when there is one. `/tokenize` and `/detokenize` must
stay open: clients of the contract send no key there."""

SINGLE = (b"host", b"origin", b"authorization", b"content-type", b"content-length")
"""Headers that decide something here, so that two of them would be two decisions."""

EXPOSED_HEADERS = "X-Request-Id, X-Sweep-Id, Retry-After, Location"
METHODS = "GET, HEAD, POST, DELETE, OPTIONS"

_AUTHORITY = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::[0-9]{1,5})?")


@dataclass(frozen=True)
class Refused:
    """Why a request goes no further."""

    status: int
    message: str


def is_loopback(host: str) -> bool:
    """Whether an address, or `localhost`, can be reached from this machine only."""
    if host == "localhost":
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def name_of(authority: str) -> str | None:
    """The name or address in `name:port`; None when it is neither."""
    found = _AUTHORITY.fullmatch(authority.lower())
    return None if found is None else found[1].strip("[]").removesuffix(".")


def is_ours(name: str, network: Network) -> bool:
    """Whether this server may be addressed by a name."""
    if is_loopback(name) or name in {host.lower() for host in network.allowed_hosts}:
        return True
    return not is_loopback(network.host) and (
        name == network.host.lower() or _address(name) is not None
    )


def check_host(host: str | None, network: Network) -> Refused | None:
    """Whether a `Host` header names this server."""
    if host is None:
        return Refused(400, "the request has no Host header")
    name = name_of(host)
    if name is not None and is_ours(name, network):
        return None
    return Refused(
        403,
        f"{host[:100]!r} is not a name of this server; use 127.0.0.1 or localhost, or start it "
        f"with --allow-host {(name or 'NAME')[:100]}",
    )


def check_origin(origin: str | None, network: Network) -> Refused | None:
    """Whether the page behind a request, if there is one, is this server's own or allowed."""
    if origin is None:
        return None
    scheme, _, authority = origin.partition("://")
    name = name_of(authority) if scheme in ("http", "https") else None
    if name is not None and is_ours(name, network):
        return None
    return Refused(
        403,
        f"pages of {origin[:100]!r} may not use this server; "
        f"to let them, start it with --allow-host {(name or 'NAME')[:100]}",
    )


def check_key(path: str, authorization: str | None, network: Network) -> Refused | None:
    """Whether a request that needs the key has it. Takes the same time for every wrong key."""
    if network.api_key is None or not path.startswith(GUARDED):
        return None
    scheme, _, key = (authorization or "").partition(" ")
    same = hmac.compare_digest(key.strip().encode(), network.api_key.encode())
    return None if same and scheme.lower() == "bearer" else Refused(401, "Unauthorized")


class Gate:
    """The checks above, before anything else sees the request."""

    def __init__(self, app: ASGIApp, network: Network) -> None:
        self._app = app
        self._network = network

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        refused = self._refused(scope, headers)
        if refused is not None:
            answer = _answer(scope["path"], refused)
            await refuse(answer, scope, Incoming(scope, receive), send)
            return
        origin = headers.get(b"origin")
        if origin is not None:
            send = _readable_by(origin, send)
        if _is_preflight(scope, headers):
            await _preflight(headers)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refused(self, scope: Scope, headers: dict[bytes, bytes]) -> Refused | None:
        """The first check that fails."""
        names = [name for name, _ in scope["headers"]]
        for name in SINGLE:
            if names.count(name) > 1:
                return Refused(400, f"the request has more than one {name.decode()} header")
        host, origin = _text(headers, b"host"), _text(headers, b"origin")
        refused = check_host(host, self._network) or check_origin(origin, self._network)
        if refused is None and scope["method"] != "OPTIONS":
            key = _text(headers, b"authorization")
            refused = check_key(scope["path"], key, self._network)
        return refused


def _answer(path: str, refused: Refused) -> Response:
    if refused.status == 401:  # the contract has one body for it, on all routes
        headers = {"WWW-Authenticate": "Bearer"}
        return Response(b'{"error": "Unauthorized"}', 401, headers, "application/json")
    return refusal(path, refused.status, refused.message)


def _is_preflight(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    return scope["method"] == "OPTIONS" and b"access-control-request-method" in headers


def _preflight(headers: dict[bytes, bytes]) -> Response:
    """Tells a browser that a page, which has passed, may send what it is about to."""
    wanted = _text(headers, b"access-control-request-headers") or ""
    return Response(
        status_code=204,
        headers={
            "Access-Control-Allow-Methods": METHODS,
            "Access-Control-Allow-Headers": wanted,
            "Access-Control-Max-Age": "600",
        },
    )


def _readable_by(origin: bytes, send: Send) -> Send:
    """Let the page that asked, which has passed, read the answer."""
    added = [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", EXPOSED_HEADERS.encode()),
        (b"vary", b"Origin"),
    ]

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await send(message)

    return sent


def _text(headers: dict[bytes, bytes], name: bytes) -> str | None:
    value = headers.get(name)
    return None if value is None else value.decode("latin-1")


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return None
