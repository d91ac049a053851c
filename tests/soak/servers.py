"""The processes of a soak: a server with a model, a gateway and a trainer."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import psutil

from tests.local import LOCAL
from tests.programs import started
from tests.server import crowd
from tests.soak.ledger import Ledger, growth, is_flat
from tests.soak.traffic import SWEEP, Model

END_SECONDS = 5.0


def free_port() -> int:
    """One that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


@dataclass
class Program:
    """One `sonde serve`, started again whenever it was ended, and what it took."""

    name: str
    arguments: list[str]
    port: int
    log: Path
    lives: list[list[int]] = field(default_factory=list)
    """Memory of each life, sampled."""
    process: "subprocess.Popen[str]" = field(init=False)

    @property
    def url(self) -> str:
        """Where it listens, in every life."""
        return f"http://127.0.0.1:{self.port}"

    def start(self, stack: ExitStack) -> None:
        """Begin a life, and wait until it listens."""
        command = [sys.executable, "-m", "sonde", "serve", "--port", str(self.port)]
        options: dict[str, Any] = {
            "stdout": subprocess.PIPE,
            "stderr": stack.enter_context(self.log.open("a")),
            "text": True,
            "env": {**os.environ, "OMP_NUM_THREADS": "1", "ALLOW_SECONDARY": "1"},
        }
        self.process = stack.enter_context(started([*command, *self.arguments], **options))
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        assert "listens" in said, self.log.read_text()[-2000:]
        self.lives.append([])

    def sample(self) -> None:
        """What it takes now."""
        self.lives[-1].append(psutil.Process(self.process.pid).memory_info().rss)


class Servers:
    """All of them; on the way out they are gone."""

    def __init__(self, directory: Path, model: str, ledger: Ledger) -> None:
        self._directory = directory
        self._ledger = ledger
        self._stack = ExitStack()
        run, data = str(directory / "run"), str(directory / "data")
        shown = ["--output-dir", run, "--data-dir", data]
        served = [*shown, "--model", model]
        self._server = Program("server", served, free_port(), directory / "server.log")
        self._gateway = Program("gateway", shown, free_port(), directory / "gateway.log")
        self._ended_in: list[float] = []
        self.kills: Counter[str] = Counter()

    def __enter__(self) -> "Servers":
        (self._directory / "run").mkdir()
        for program in (self._server, self._gateway):
            program.start(self._stack)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def url(self) -> str:
        """The server's."""
        return self._server.url

    @property
    def gateway_url(self) -> str:
        """The gateway's."""
        return self._gateway.url

    def about(self) -> Model:
        """The model that is served."""
        with httpx.Client(base_url=self.url, timeout=60, **LOCAL) as http:
            found = http.get("/v1/capabilities").json()["model"]

            def one_token(text: str) -> bool:
                body = {"prompt": text, "add_special_tokens": False}
                return len(http.post("/tokenize", json=body).json()["tokens"]) == 1

            places = [
                n for n, (_, _, *words) in enumerate(crowd.PLACES) if all(map(one_token, words))
            ]
        return Model(found["width"], found["n_layers"], tuple(places))

    @contextmanager
    def trainer(self, seed: int) -> Iterator["Trainer"]:
        """Somebody who writes a run."""
        command = [sys.executable, "-m", "tests.soak.trainer", str(self._directory / "run")]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with started([*command, str(seed)], **pipes) as process:
            yield Trainer(process)

    def sample(self) -> None:
        """Note what the processes take."""
        for program in (self._server, self._gateway):
            program.sample()

    def end_one(self, draw: random.Random) -> None:
        """End the server or the gateway, in one of two ways, and start it again."""
        program = draw.choice([self._server, self._server, self._gateway])
        name = draw.choice(["KILL", "TERM"])
        if program is self._server:
            self._ledger.down(name)
        self.kills[f"{program.name} {name}"] += 1
        began = time.monotonic()
        program.process.send_signal(getattr(signal, f"SIG{name}"))
        status = program.process.wait(60)
        seconds = time.monotonic() - began
        if name == "TERM":
            self._ended_in.append(seconds)
            if status != 0 or seconds > END_SECONDS:
                self._ledger.fault(f"{program.name}: SIGTERM, {status} after {seconds:.1f} seconds")
        if program is self._server:
            self._check_settled()
        program.start(self._stack)
        if program is self._server:
            self._ledger.up()

    def _check_settled(self) -> None:
        """While there is no server, the gateway says of no sweep that it is under way."""
        for sweep, state in self.history().items():
            if state in ("waiting", "running"):
                self._ledger.fault(f"the gateway says that {sweep} is {state}; its server is gone")

    def history(self) -> dict[str, str]:
        """All sweeps and their states, as the gateway reads them."""
        states: dict[str, str] = {}
        before: dict[str, str] = {}
        with httpx.Client(base_url=self.gateway_url, timeout=60, **LOCAL) as http:
            while True:
                page = http.get(SWEEP, params={"limit": "1000"} | before).json()
                states |= {each["id"]: each["state"] for each in page["sweeps"]}
                if page["next"] is None:
                    return states
                before = {"before": page["next"]}

    def memory(self) -> dict[str, Any]:
        """What each life took at first and at last; growth is a fault."""
        said: dict[str, Any] = {}
        for program in (self._server, self._gateway):
            for life, samples in enumerate(program.lives):
                if not is_flat(samples):
                    self._ledger.fault(f"{program.name}, life {life}: grew {growth(samples)}")
            longest = max(program.lives, key=len)
            said[program.name] = {
                "lives": len(program.lives),
                "longest_life_mib": [round(each / 2**20) for each in thinned(longest)],
                "most_mib": round(max(map(max, filter(None, program.lives))) / 2**20),
            }
        return said

    @property
    def ended_in(self) -> list[float]:
        """Seconds from each SIGTERM to the end."""
        return [round(each, 2) for each in self._ended_in]


def thinned(samples: list[int]) -> list[int]:
    """About twenty of them."""
    return samples[:: len(samples) // 20 + 1]


@dataclass(frozen=True)
class Trainer:
    """The process that writes."""

    process: "subprocess.Popen[str]"

    def finish(self) -> dict[str, int]:
        """Tell it to stop. -> what it has written"""
        said, _ = self.process.communicate(timeout=120)
        counted: dict[str, int] = json.loads(said)
        return counted
