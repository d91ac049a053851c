"""Who may talk to the server: names, origins and the key. Nothing here reads a body.

A browser sends whatever page it shows to any address, this machine's own included. Two checks keep
foreign pages out, on every method and every route: the `Host` header must be a name of this server
(a page that had its own name resolve to 127.0.0.1 is found out by that), and the `Origin` header,
where there is one, must be this server itself, by scheme, name and port: another port of this
machine is another program. Pages that pass may read the answers: `origin` is named in
`Access-Control-Allow-Origin`, never `*`.

Addresses pass as names once the server listens beyond loopback: rebinding needs a name.
"""

import hmac
import ipaddress
import re
from dataclasses import dataclass
from typing import NamedTuple

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sonde.server.bodies import Incoming, refuse
from sonde.server.errors import refusal
from sonde.server.parts import KEYED, Network

GUARDED = ("/v1", "/v2", "/inference", "/api", "/metrics")
"""Beginnings of the paths that need the key, when there is one. `/tokenize` and `/detokenize` must
stay open: clients of the contract send no key there."""

SINGLE = (
    b"host",
    b"origin",
    b"authorization",
    b"content-type",
    b"content-length",
    b"content-encoding",
)
"""Headers that decide something here, so that two of them would be two decisions."""

UNSPECIFIED = frozenset({"0.0.0.0", "::"})
"""Addresses to listen on that are no name of anything."""

EXPOSED_HEADERS = "X-Request-Id, X-Sweep-Id, Retry-After, Location"
METHODS = "GET, HEAD, POST, PATCH, DELETE, OPTIONS"

PORTS = {"http": 80, "https": 443}
"""What an origin means that names no port."""

_AUTHORITY = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::([0-9]{1,5}))?")


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


class Origin(NamedTuple):
    """Where a page is from, as browsers compare it."""

    scheme: str
    name: str
    port: int


def origin_of(text: str) -> Origin | None:
    """The origin in `scheme://name:port`; None for what is none, or none that can be let in."""
    scheme, _, authority = text.partition("://")
    found = _AUTHORITY.fullmatch(authority.lower())
    if scheme not in PORTS or found is None:
        return None
    port = PORTS[scheme] if found[2] is None else int(found[2])
    return Origin(scheme, found[1].strip("[]").removesuffix("."), port)


def answers_to(host: str | None, network: Network) -> set[Origin | None]:
    """The origins of this server's own pages.

    What the request itself was addressed to, and the names that lead to the port it listens on. It
    speaks no TLS: behind a proxy that does, its pages are of another origin, to be allowed by name.
    """
    names = {network.host.lower(), *(name.lower() for name in network.allowed_hosts)}
    if is_loopback(network.host) or network.host in UNSPECIFIED:
        names |= {"localhost", "127.0.0.1"}
    own = {Origin("http", name.strip("[]"), network.port) for name in names - UNSPECIFIED}
    allowed = {origin_of(origin) for origin in network.allowed_origins}
    return {origin_of(f"http://{host}"), *own, *allowed} - {None}


def check_origin(origin: str | None, host: str | None, network: Network) -> Refused | None:
    """Whether the page behind a request, if there is one, is this server's own or allowed."""
    if origin is None or origin_of(origin) in answers_to(host, network):
        return None
    way = origin if origin_of(origin) is not None else "SCHEME://NAME:PORT"
    return Refused(
        403,
        f"pages of {origin[:100]!r} may not use this server; "
        f"to let them, start it with --allow-origin {way[:100]}",
    )


def has_key(authorization: str | None, network: Network) -> bool:
    """Whether a request has the key, or none is needed. As long for every wrong key."""
    if network.api_key is None:
        return True
    scheme, _, key = (authorization or "").partition(" ")
    same = hmac.compare_digest(key.strip().encode(), network.api_key.encode())
    return same and scheme.lower() == "bearer"


def check_key(path: str, authorization: str | None, network: Network) -> Refused | None:
    """Whether a request that needs the key has it."""
    if not path.startswith(GUARDED) or has_key(authorization, network):
        return None
    return Refused(401, "Unauthorized")


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
        refused = check_host(host, self._network) or check_origin(origin, host, self._network)
        key = _text(headers, b"authorization")
        if refused is None and scope["method"] != "OPTIONS":
            refused = check_key(scope["path"], key, self._network)
        scope[KEYED] = has_key(key, self._network)
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
