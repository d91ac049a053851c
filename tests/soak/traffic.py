"""What clients send during a soak, one request after another, and what they make of the answers."""

import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx

from tests.local import LOCAL
from tests.server import crowd
from tests.soak.ledger import Ledger

SWEEP = "/v1/patch_sweep"
LONG_TEXT = 3_900_000
UNFINISHED = ("interrupted", "cancelled", "failed")

BUSY = (429, 503)
"""Answers that are no fault: as much waits as may, or the server ends."""


@dataclass(frozen=True)
class Model:
    """What requests depend on."""

    width: int
    layers: int
    places: tuple[int, ...]
    """Of `crowd.PLACES`, those whose answers are one token."""


@dataclass
class Client:
    """One thread of traffic."""

    url: str
    number: int
    model: Model
    ledger: Ledger
    stop: threading.Event
    most: int
    """Requests of all clients together."""
    sweeps: int
    """And sweeps: the history keeps so many."""

    def run(self) -> None:
        """Until told to stop, or until there were enough."""
        draw = random.Random(self.number)
        kinds: list[tuple[int, str, Callable[[httpx.Client, random.Random], None]]] = [
            (28, "completion", self.complete),
            (10, "streamed completion", self.stream_completion),
            (18, "sweep", self.sweep),
            (14, "streamed sweep", self.stream_sweep),
            (5, "abandoned sweep", self.abandon),
            (3, "cancelled sweep", self.cancel),
            (1, "large sweep", self.large_sweep),
            (14, "tokens", self.tokens),
            (1, "long text", self.long_text),
            (6, "reading", self.read),
        ]
        weights = [weight for weight, _, _ in kinds]
        with httpx.Client(base_url=self.url, timeout=180, **LOCAL) as http:
            while not self.stop.is_set():
                [(_, name, ask)] = draw.choices(kinds, weights)
                if "sweep" in name and len(self.ledger.promised) > self.sweeps:
                    continue
                if self.ledger.count(name) > self.most:
                    return
                self.ask(name, partial(ask, http, draw))

    def ask(self, name: str, ask: Callable[[], None]) -> None:
        """A connection may be refused or lost only if the server was told to end."""
        began = time.monotonic()
        try:
            ask()
        except httpx.TransportError as error:
            if not self.ledger.was_down(began, "KILL", "TERM"):
                self.ledger.fault(f"{name}: {type(error).__name__} {error}, and nobody was killed")
            time.sleep(0.1)
        except Exception as error:  # noqa: BLE001 - a fault of the server's, or of this program
            self.ledger.fault(f"{name}: {type(error).__name__} {error}")

    def body(self, draw: random.Random) -> dict[str, Any]:
        """A small sweep of any kind."""
        number = len(crowd.PLACES) * draw.randrange(10**6) + draw.choice(self.model.places)
        run = f"soak-{self.number}-{number}"
        body = crowd.sweep(number, self.model.width, self.model.layers)
        return body | ({"source_run": run} if "source_run" in body else {}) | {"stream": False}

    def good(self, answer: httpx.Response, name: str) -> bool:
        """Whether there is an answer; what is neither that nor busy is a fault."""
        if answer.status_code == 200:
            return True
        if answer.status_code not in BUSY:
            self.ledger.fault(f"{name}: {answer.status_code} {answer.text[:300]}")
        return False

    def complete(self, http: httpx.Client, draw: random.Random) -> None:
        """One answer."""
        self.good(http.post("/v1/completions", json=self.completion(draw)), "completion")

    def completion(self, draw: random.Random) -> dict[str, Any]:
        """Of any kind that needs no source run: those are gone with their server."""
        number = 6 * draw.randrange(10**5) + draw.choice([0, 2, 3, 4])
        return crowd.completion(number, self.model.width, self.model.layers, "none")

    def stream_completion(self, http: httpx.Client, draw: random.Random) -> None:
        """Token by token."""
        body = self.completion(draw) | {"stream": True}
        with http.stream("POST", "/v1/completions", json=body) as answer:
            text = answer.read().decode()
        if answer.status_code == 200 and "[DONE]" not in text and '"error"' not in text:
            self.ledger.fault(f"a completion's stream ends without a word: {text[-200:]}")

    def sweep(self, http: httpx.Client, draw: random.Random) -> None:
        """One answer."""
        answer = http.post(SWEEP, json=self.body(draw))
        if self.good(answer, "sweep"):
            self.ledger.promise(answer.headers["X-Sweep-Id"], "finished")

    def large_sweep(self, http: httpx.Client, draw: random.Random) -> None:
        """Thousands of cells."""
        layers = list(range(self.model.layers)) * (2000 // self.model.layers)
        answer = http.post(SWEEP, json=self.body(draw) | {"layers": layers})
        if self.good(answer, "large sweep"):
            self.ledger.promise(answer.headers["X-Sweep-Id"], "finished")

    def stream_sweep(self, http: httpx.Client, draw: random.Random) -> None:
        """Cell by cell, to an end that says what kind of end it is."""
        began, sweep, last = time.monotonic(), None, ""
        try:
            with http.stream("POST", SWEEP, json=self.body(draw) | {"stream": True}) as answer:
                if answer.status_code != 200:
                    answer.read()
                    self.good(answer, "streamed sweep")
                    return
                sweep = answer.headers["X-Sweep-Id"]
                self.ledger.promise(sweep, "finished", "interrupted")
                for line in answer.iter_lines():
                    last = line[6:] if line.startswith("data: ") else last
        except httpx.TransportError:
            if sweep is not None and not self.ledger.was_down(began, "KILL"):
                self.ledger.fault(f"the stream of sweep {sweep} was torn, and no server was killed")
            raise
        self.ended(sweep, last)

    def ended(self, sweep: str, last: str) -> None:
        """How a stream said that it ended is what the history must say."""
        if last == "[DONE]":
            self.ledger.promise(sweep, "finished")
            return
        event = json.loads(last or "{}")
        if event.get("type") != "error" or event.get("state") not in UNFINISHED:
            self.ledger.fault(f"the stream of sweep {sweep} ends with {last[:200]}")
            return
        self.ledger.promise(sweep, event["state"])
        if event["state"] == "failed":
            self.ledger.fault(f"sweep {sweep} failed: {event['error']}")

    def abandon(self, http: httpx.Client, draw: random.Random) -> None:
        """Leave after a few events."""
        layers = [0, self.model.layers - 1] * 200
        body = self.body(draw) | {"stream": True, "layers": layers}
        with http.stream("POST", SWEEP, json=body) as answer:
            if answer.status_code != 200:
                return
            sweep = answer.headers["X-Sweep-Id"]
            self.ledger.promise(sweep, "cancelled", "finished", "interrupted")
            for number, _ in enumerate(answer.iter_lines()):
                if number > draw.randrange(20):
                    break

    def cancel(self, http: httpx.Client, draw: random.Random) -> None:
        """Start one that nobody waits for, and stop it."""
        layers = [0, self.model.layers - 1] * 200
        headers = {"Prefer": "respond-async"}
        answer = http.post(SWEEP, json=self.body(draw) | {"layers": layers}, headers=headers)
        if answer.status_code != 202:
            return
        sweep = answer.json()["id"]
        self.ledger.promise(sweep, "cancelled", "finished", "interrupted")
        said = http.delete(f"{SWEEP}/{sweep}")
        if said.status_code == 200 and said.json()["state"] in ("cancelled", "finished"):
            self.ledger.promise(sweep, said.json()["state"])

    def tokens(self, http: httpx.Client, draw: random.Random) -> None:
        """There and back."""
        clean = crowd.PLACES[draw.randrange(len(crowd.PLACES))][0]
        answer = http.post("/tokenize", json={"prompt": clean})
        if self.good(answer, "tokenize"):
            back = http.post("/detokenize", json={"tokens": answer.json()["tokens"]})
            self.good(back, "detokenize")

    def long_text(self, http: httpx.Client, draw: random.Random) -> None:
        """As long as may be."""
        words = [f"{draw.choice(['city', 'tower', 'the', 'of'])} {n % 977} " for n in range(2000)]
        base = "".join(words)
        text = (base * (LONG_TEXT // len(base) + 1))[:LONG_TEXT]
        self.good(http.post("/tokenize", json={"prompt": text}), "long text")

    def read(self, http: httpx.Client, draw: random.Random) -> None:
        """The history, and a file of it."""
        page = http.get(SWEEP, params={"limit": 20})
        if not self.good(page, "history"):
            return
        for entry in page.json()["sweeps"][:2]:
            if entry["state"] == "finished":
                path = f"{SWEEP}/{entry['id']}/export"
                self.good(http.get(path, params={"format": "csv"}), "export")
