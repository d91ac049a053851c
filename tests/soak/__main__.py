"""A soak: mixed traffic, kills and full disks, and nothing may be lost.

    python -m tests.soak --minutes 30                        # all of it, on a tiny model
    python -m tests.soak --minutes 60 --requests 10000 --kill-every 0
                                                             # no kills: is memory flat?

It starts `sonde serve --model` and a gateway on the same directories, clients and listeners on both
and a trainer whose disk is full now and then, and ends by itself: after so many minutes, or so many
requests. What was wrong is printed, and makes the status 1.
"""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.soak.ledger import MOST_SHOWN, Ledger
from tests.soak.listening import Listener
from tests.soak.servers import Servers
from tests.soak.traffic import Client
from tests.tiny_model import save_tiny_model

CLIENTS = 4
MOST_SWEEPS = 9000
"""The history keeps ten thousand, and what it has forgotten cannot be looked up."""


def main() -> int:
    """The program."""
    options = parsed()
    with tempfile.TemporaryDirectory(prefix="soak-") as directory:
        said = soak(Path(directory), options)
    text = json.dumps(said, indent=2)
    sys.stdout.write(text + "\n")
    if options.out is not None:
        options.out.write_text(text + "\n")
    return 1 if said["wrong"] else 0


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--requests", type=int, default=50_000)
    parser.add_argument("--kill-every", type=float, default=15.0, help="seconds; 0: never")
    parser.add_argument("--model", default=None, help="without it, a tiny one is made")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None, help="where to keep what is printed")
    return parser.parse_args()


def soak(directory: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run it. -> what there was, and what was wrong"""
    ledger, stop, draw = Ledger(), threading.Event(), random.Random(options.seed)
    model = options.model or str(save_tiny_model(directory / "model"))
    began = time.monotonic()
    with Servers(directory, model, ledger) as servers, servers.trainer(options.seed) as trainer:
        about = servers.about()
        clients = [
            Client(servers.url, n, about, ledger, stop, options.requests, MOST_SWEEPS)
            for n in range(CLIENTS)
        ]
        urls = [(servers.url, 1), (servers.gateway_url, 1), (servers.gateway_url, 50)]
        quiet = threading.Event()
        listeners = [Listener(url, batch, ledger, quiet) for url, batch in urls]
        asking = threads([client.run for client in clients])
        hearing = threads([listener.run for listener in listeners])
        killing(servers, options, began, draw, asking)
        stop.set()
        for thread in asking:
            thread.join(240)
        written = trainer.finish()
        caught_up(listeners, written["records"], ledger)
        quiet.set()
        ledger.settle(servers.history())
        memory = servers.memory()
    for thread in hearing:
        thread.join(60)
    if written["dropped"]:
        ledger.fault(f"the trainer left out {written['dropped']} records")
    return {
        "seconds": round(time.monotonic() - began, 1),
        "model": options.model or "tiny",
        "requests": ledger.counts.total(),
        "kinds": dict(ledger.counts),
        "sweeps": len(ledger.promised),
        "kills": dict(servers.kills),
        "sigterm_seconds": servers.ended_in,
        "trainer": written,
        "listeners": [{"records": e.next, "connections": e.connections} for e in listeners],
        "memory": memory,
        "wrong": ledger.wrong[:MOST_SHOWN],
        "wrong_count": len(ledger.wrong),
    }


def threads(work: list[Callable[[], None]]) -> list[threading.Thread]:
    """Begun, and gone with the program."""
    made = [threading.Thread(target=each, daemon=True) for each in work]
    for thread in made:
        thread.start()
    return made


def killing(
    servers: Servers,
    options: argparse.Namespace,
    began: float,
    draw: random.Random,
    asking: list[threading.Thread],
) -> None:
    """Let time pass, and end a server now and then, until it is time or all requests are sent."""
    every = options.kill_every
    due = began + every
    while time.monotonic() < began + 60 * options.minutes and any(t.is_alive() for t in asking):
        time.sleep(0.5)
        servers.sample()
        if every and time.monotonic() >= due:
            servers.end_one(draw)
            due = time.monotonic() + every * draw.uniform(0.5, 1.5)


def caught_up(listeners: list[Listener], records: int, ledger: Ledger) -> None:
    """Every listener has every record, within a minute of the last."""
    end = time.monotonic() + 60
    while any(each.next < records for each in listeners) and time.monotonic() < end:
        time.sleep(0.1)
    for each in listeners:
        if each.next != records:
            ledger.fault(f"a listener has {each.next} of {records} records")


if __name__ == "__main__":
    sys.exit(main())
