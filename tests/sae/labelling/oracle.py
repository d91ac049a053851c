"""A small real server that speaks OpenAI's protocol and answers as a test tells it."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[str, str], str]
"""From what the system and the user say to what is answered."""


@contextmanager
def serving(
    answer: Answer, *, models: tuple[str, ...] = ("oracle",), key: str | None = None
) -> Iterator[str]:
    """-> its base address"""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_args: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._say(200, {"data": [{"id": name} for name in models]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if key is not None and self.headers.get("Authorization") != f"Bearer {key}":
                self._say(401, {"error": {"message": "no such key"}})
                return
            system, user = (each["content"] for each in body["messages"])
            said = answer(system, user)
            if said == "REDIRECT":
                self.send_response(307)
                self.send_header("Location", "http://127.0.0.1:9/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self._say(200, {"choices": [{"message": {"role": "assistant", "content": said}}]})

        def _say(self, status: int, body: Any) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
