"""What clients send, and how they read what comes back."""

import base64
import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np

SWEEP, SOURCE = "/v1/patch_sweep", "/v1/patch_source"

CLEAN = "The Eiffel Tower is in the city of"
CORRUPT = "The Rome Tower is in the city of"
"""As many tokens as the clean prompt."""
SHORT = "The Colosseum is in the city of"
"""One token fewer: 'Colosseum' has no counterpart."""
LONG = " is" * 100
"""More tokens than the tiny model takes."""

Body = dict[str, Any]

PATIENCE = 60.0
"""Seconds after which a test has failed, on any machine."""


def sweep_body(**fields: Any) -> Body:
    """A small sweep from a captured run, right as it stands; `...` leaves a field out."""
    given: Body = {
        "prompt": CORRUPT,
        "clean_prompt": CLEAN,
        "source_run": "clean",
        "layers": [0, 2],
        "positions": [2, 3, 7],
        "answer_token": " Paris",
    }
    return without_blanks(given | fields)


def vector_body(**fields: Any) -> Body:
    """A small sweep from a vector, right as it stands."""
    zeros = {"source_run": ..., "clean_prompt": ..., "source_module": "zeros"}
    return sweep_body(**(zeros | fields))


def without_blanks(fields: Body) -> Body:
    return {name: value for name, value in fields.items() if value is not ...}


def table(rows: int, width: int, *, fill: float = 0.5) -> Body:
    """A packed table of vectors."""
    raw = np.full((rows, width), fill, dtype="<f4").tobytes()
    return {
        "dtype": "float32",
        "shape": [rows, width],
        "data": base64.b64encode(raw).decode("ascii"),
    }


def strict(text: str | bytes) -> Any:
    """JSON without NaN and infinity, which it does not have."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def summary_of(http: httpx.Client, body: Body) -> dict[str, Any]:
    """The answer to a sweep that must succeed."""
    answer = http.post(SWEEP, json=body)
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = strict(answer.text)
    return made


def stream_lines(answer: httpx.Response) -> Iterator[str]:
    """Lines as the reference's client reads them: `data: ` and what follows, all else ignored."""
    for line in answer.iter_lines():
        if line.startswith("data: "):
            yield line.removeprefix("data: ")


def events_of(http: httpx.Client, body: Body) -> list[dict[str, Any]]:
    """All events of a stream that must succeed; the last line is the literal `[DONE]`."""
    with http.stream("POST", SWEEP, json=body | {"stream": True}) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        *events, last = stream_lines(answer)
    assert last == "[DONE]"
    return [strict(event) for event in events]


def broken_events_of(http: httpx.Client, body: Body) -> list[dict[str, Any]]:
    """All events of a stream that fails on its way: no summary, no `[DONE]`."""
    with http.stream("POST", SWEEP, json=body | {"stream": True}) as answer:
        assert answer.status_code == 200, answer.read()
        events = [strict(line) for line in stream_lines(answer)]
    assert "summary" not in {event["type"] for event in events}
    return events


def runs(http: httpx.Client) -> list[str]:
    """Names of the stored runs."""
    return sorted(run["run"] for run in http.get(SOURCE).json()["runs"])


def refused(answer: httpx.Response, status: int, fragment: str, *, plain: bool = True) -> str:
    """The message of an error: its status, its media type, its body's shape, its words."""
    assert answer.status_code == status, (answer.status_code, answer.text)
    assert answer.headers["content-type"].startswith("application/json")
    error = strict(answer.text)
    assert list(error) == ["error"]
    if plain:
        message = error["error"]
    else:
        assert set(error["error"]) == {"message", "type", "param", "code"}
        assert error["error"]["code"] == status
        message = error["error"]["message"]
    assert isinstance(message, str)
    assert fragment in message, message
    return message


def without(made: dict[str, Any], *keys: str) -> dict[str, Any]:
    """A body less what differs from run to run, and less some keys."""
    return {name: value for name, value in made.items() if name not in {"timing", *keys}}


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds; how long is no matter, as long as it is not for ever."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.005)


def caller(url: str, body: Body) -> socket.socket:
    """A client that has sent a sweep and holds its connection: closing it is leaving."""
    at = httpx.URL(url)
    connection = socket.create_connection((at.host, at.port or 80))
    content = json.dumps(body).encode()
    head = (
        f"POST {SWEEP} HTTP/1.1\r\nHost: {at.host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    connection.sendall(head.encode() + content)
    return connection
