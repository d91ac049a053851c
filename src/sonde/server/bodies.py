"""Bodies of requests: whole, in time, of a bearable size, and JSON, before any route sees them.

Size is refused by what the client declares, and by counting where it declares nothing or less; who
has no key where there is one may send little. Compressed bodies are refused by name. So
is the number of values: a body is cheap to send and dear to parse, and parsing stops every other
request. Text that is no text (half of a surrogate pair, bytes that are not UTF-8) is refused here,
because it could neither be written down nor answered. How deeply a body is nested and how long its
numbers are is the parser's to refuse.

A refusal comes before the body has been read. The answer is sent, a little more is read so that
the client gets to see it, and the connection is closed: never the rest of a body that nobody wants.
"""

import asyncio
import codecs
import re
from dataclasses import dataclass, field

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sonde.server.errors import bad_body
from sonde.server.parts import KEYED, Network
from sonde.server.schema_failures import Failure

MOST_VALUES = 200_000
"""Commas in a body. The largest request that makes sense has 100,000 positions."""

LINGER_BYTES = 2**20
LINGER_SECONDS = 1.0
"""How much of a refused body is read, so that its sender sees the refusal."""

WITH_CONTENT = ("POST", "PUT", "PATCH")

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")


class Incoming:
    """A request's body on its way."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        self.headers = dict(scope["headers"])
        length = self.headers.get(b"content-length", b"0")
        self.more = length != b"0" or b"transfer-encoding" in self.headers
        """Whether there is more to read."""

    async def __call__(self) -> Message:
        """The next message."""
        message = await self._receive()
        self.more = message.get("more_body", False)
        return message


class Bodies:
    """Reads each request's body, and then lets the app have it."""

    def __init__(self, app: ASGIApp, network: Network) -> None:
        self._app = app
        self._network = network

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        incoming = Incoming(scope, receive)
        if not incoming.more:
            await self._app(scope, receive, send)
            return
        most = self._most(scope)
        try:
            _check_head(scope["method"], incoming.headers, most)
            async with asyncio.timeout(self._network.body_seconds):
                body = await _read(incoming, most)
        except TimeoutError:
            late = f"the body took longer than {self._network.body_seconds:g} seconds to arrive"
            await refuse(bad_body(408, Failure(late)), scope, incoming, send)
        except _Refused as refused:
            answer = bad_body(refused.status, Failure(str(refused)))
            await refuse(answer, scope, incoming, send)
        else:
            if body is not None:
                await self._app(scope, _Replay(body, receive), send)

    def _most(self, scope: Scope) -> "_Most":
        """How large a body this caller may send."""
        most = self._network.max_body_bytes
        keyless = self._network.keyless_body_bytes
        if scope.get(KEYED, True) or keyless >= most:
            return _Most(most, "")
        return _Most(keyless, " of callers without the key: send Authorization: Bearer KEY")


@dataclass(frozen=True)
class _Most:
    """The largest body, and whose that is."""

    size: int
    whose: str

    def check(self, size: int) -> None:
        """Refuse what is larger."""
        if size > self.size:
            raise _Refused(
                413, f"a body of {size:,} bytes or more; at most {self.size:,} are read{self.whose}"
            )


def _check_head(method: str, headers: dict[bytes, bytes], most: _Most) -> None:
    length = headers.get(b"content-length", b"0")
    if not length.isdigit():
        raise _Refused(400, "Content-Length is not a number")
    most.check(int(length[:20]))
    encoding = headers.get(b"content-encoding", b"identity").strip().lower()
    if encoding not in (b"", b"identity"):
        said = repr(encoding.decode("latin-1")[:60])
        raise _Refused(415, f"Content-Encoding is {said}; send the body as it is, without one")
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    is_json = kind == b"application/json" or kind.endswith(b"+json")
    if method in WITH_CONTENT and not is_json:
        said = repr(kind.decode("latin-1")[:60]) if kind else "missing"
        raise _Refused(400, f"Content-Type is {said}; send application/json")


async def _read(incoming: Incoming, most: _Most) -> bytes | None:
    """All of it; None when the client left."""
    pieces: list[bytes] = []
    text = codecs.getincrementaldecoder("utf-8")()
    size = values = 0
    while incoming.more:
        message = await incoming()
        if message["type"] == "http.disconnect":
            return None
        piece = message.get("body", b"")
        size += len(piece)
        values += piece.count(b",")
        most.check(size)
        if values > MOST_VALUES:
            raise _Refused(413, f"a body of more than {MOST_VALUES:,} values; send fewer")
        pieces.append(piece)
        try:
            text.decode(piece, final=not incoming.more)
        except UnicodeDecodeError as error:
            raise _Refused(400, f"the body is not UTF-8: {error.reason}") from error
    body = b"".join(pieces)
    if has_half_a_pair(body):
        raise _Refused(400, "the body has half of a surrogate pair, which stands for nothing")
    return body


class _Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class _Replay:
    """`receive` as if the body came now, in one piece; then what really comes."""

    body: bytes
    receive: Receive
    given: bool = field(default=False)

    async def __call__(self) -> Message:
        if self.given:
            return await self.receive()
        self.given, body, self.body = True, self.body, b""
        return {"type": "http.request", "body": body, "more_body": False}


def has_half_a_pair(body: bytes) -> bool:
    """Whether JSON text escapes half of a surrogate pair and not the other half."""
    if _SURROGATE.search(body) is None:
        return False
    escaped = body.count(b"\\ud") + body.count(b"\\uD")
    if escaped > MOST_VALUES:
        raise _Refused(413, f"a body of more than {MOST_VALUES:,} escaped surrogates; send UTF-8")
    unescaped = body.replace(rb"\\", b"/")  # a backslash of the text escapes nothing
    return _SURROGATE.search(_PAIR.sub(b"/", unescaped)) is not None


async def refuse(answer: Response, scope: Scope, incoming: Incoming, send: Send) -> None:
    """Send an answer; if more of the body is on its way, close the connection after it."""
    if not incoming.more:
        await answer(scope, incoming, send)
        return
    headers = [*answer.raw_headers, (b"connection", b"close")]
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": True})
    if b"expect" not in incoming.headers:  # to read would be to ask for the body
        await _linger(incoming)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _linger(incoming: Incoming) -> None:
    """Read and drop a little: closed at once, a connection may lose the answer."""
    left = LINGER_BYTES
    try:
        async with asyncio.timeout(LINGER_SECONDS):
            while left > 0 and incoming.more:
                left -= len((await incoming()).get("body", b""))
    except TimeoutError:
        return
