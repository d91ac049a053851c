"""A server that says what a test tells it to, over a real socket: refusals, broken streams."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    """By lower-case name."""
    body: Any


@dataclass(frozen=True)
class Reply:
    """One answer. Several parts are sent one by one; `cut` ends them in mid-air."""

    parts: Sequence[bytes]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False


Answer = Callable[[Asked], Reply]


def said(body: Any, status: int = 200, **headers: str) -> Reply:
    """A JSON answer; in names of headers `_` stands for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply([json.dumps(body).encode()], status, {"content-type": "application/json"} | named)


def sse(*events: Any, cut: bool = False, first: int | None = None, **headers: str) -> Reply:
    """A stream of events, numbered from `first` if that is given; text is sent as it is."""
    parts = []
    for n, event in enumerate(events):
        number = "" if first is None else f"id: {first + n}\n"
        text = event if isinstance(event, str) else f"{number}data: {json.dumps(event)}\n\n"
        parts.append(text.encode())
    return Reply(parts, 200, {"content-type": "text/event-stream"} | headers, cut)


@dataclass
class Canned:
    """Answers by path; an answer that is a list gives its members in turn."""

    url: str
    answers: dict[str, Answer | list[Reply]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def answer(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        known = self.answers.get(asked.path.partition("?")[0])
        if known is None:
            return said({"error": "there is no such route"}, 404)
        return known.pop(0) if isinstance(known, list) else known(asked)

    def bodies(self, path: str) -> list[Any]:
        """What was sent there."""
        return [each.body for each in self.asked if each.path == path]


@contextmanager
def canned_server() -> Iterator[Canned]:
    """A canned server on a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do(self) -> None:
            length = int(self.headers.get("content-length", 0))
            raw = self.rfile.read(length)
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = json.loads(raw) if raw else None
            reply = canned.answer(Asked(self.command, self.path, headers, body))
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for part in reply.parts:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
                self.wfile.flush()
            if reply.cut:
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")

        do_GET = do_POST = do_DELETE = do

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        canned = Canned(f"http://127.0.0.1:{server.server_address[1]}")
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield canned
        finally:
            server.shutdown()
            thread.join()
