"""The demo's training run: a trainer, a gateway beside it, and what the gateway streams.

Both are processes of their own, started as anybody would start them. What is printed while the
trainer works comes over HTTP from the gateway, not from the trainer.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from sonde.errors import EngineError
from sonde.results.numbers import fixed, number
from sonde.runs.layout import RunLayout
from sonde.runs.reader import run_info
from sonde.sae import shipped
from sonde.sae.feature_file import FEATURES, read_some

SONDE: Final = (sys.executable, "-m", "sonde")
FIRST_SECONDS: Final = 30.0
"""How long a gateway may take before it says where it is."""
QUIET_SECONDS: Final = 600.0
"""A step may take long on a slow machine; heartbeats come all the while."""
LOOK_SECONDS: Final = 0.2
SERVED = re.compile(rb"http://127\.0\.0\.1:\d+")


@contextmanager
def gateway(run: Path) -> Iterator[str]:
    """A gateway on any free port, until the block ends. -> its address"""
    command = [*SONDE, "serve", "--output-dir", str(run), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        try:
            said = b""
            while (found := SERVED.search(said)) is None:
                line = process.stdout.readline()
                if not line:
                    raise EngineError(f"the gateway did not start: {said.decode(errors='replace')}")
                said += line
            yield found[0].decode()
        finally:
            process.terminate()


@contextmanager
def trainer(run: Path, steps: int, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """`sonde train` in a process of its own, ended with the block. What it says is in `log`."""
    command = [
        *SONDE, "train", "--output-dir", str(run), "--archive", "--max-steps", str(steps),
        "--save-steps", str(steps), "--threads", str(len(os.sched_getaffinity(0))),
    ]  # fmt: skip
    with log.open("wb") as told:
        process = subprocess.Popen(command, stdout=told, stderr=subprocess.STDOUT)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait()


def watch(run: Path, steps: int) -> None:
    """Train, and print what the gateway streams, a line a step."""
    run.mkdir(parents=True, exist_ok=True)
    log, since = run.parent / "train.log", time.time()
    with trainer(run, steps, log) as process:
        while process.poll() is None and not begun(run, since):
            time.sleep(LOOK_SECONDS)
        if process.poll() is None:
            with gateway(run) as url:
                click.echo(f"  open {url} to watch it in a browser while it lasts\n")
                for line in lines(events(url, process), steps):
                    click.echo(f"  {line}")
                process.wait()
        if process.returncode != 0:
            end = "\n".join(log.read_text(errors="replace").splitlines()[-12:])
            raise EngineError(f"training ended with status {process.returncode}:\n{end}")


def begun(run: Path, since: float) -> bool:
    """Whether the run in the directory is a new one, and not what an earlier tour left there."""
    info = run_info(RunLayout(run))
    return info is not None and info.started >= since


def events(url: str, process: "subprocess.Popen[bytes]") -> Iterator[tuple[str, Any]]:
    """What the gateway streams, as (kind, value), until the trainer has ended and all is told."""
    import httpx  # it brings rich, and `sonde --help` imports this module

    address = f"{url}/api/p5/sae/stream?include=metrics"
    timeout = httpx.Timeout(FIRST_SECONDS, read=QUIET_SECONDS)
    with httpx.stream("GET", address, timeout=timeout, trust_env=False) as answer:
        answer.raise_for_status()
        kind = "message"
        for line in answer.iter_lines():
            if line.startswith("event:"):
                kind = line.removeprefix("event:").strip()
            elif line.startswith("data:"):
                with suppress(json.JSONDecodeError):
                    yield kind, json.loads(line.removeprefix("data:"))
            elif not line:
                if kind in ("heartbeat", "idle") and process.poll() is not None:
                    return
                kind = "message"


@dataclass
class Step:
    """What was heard of one step."""

    records: int = 0
    strongest: dict[int, dict[int, float]] = field(default_factory=dict)
    """Summed activation of each feature, by layer."""

    def add(self, record: Mapping[str, Any]) -> None:
        """One record."""
        self.records += 1
        felt = self.strongest.setdefault(record["layer_index"], {})
        for feature, activation in zip(
            record["top_feature_indices"], record["top_feature_activations"], strict=True
        ):
            felt[feature] = felt.get(feature, 0.0) + (activation or 0.0)


def lines(heard: Iterator[tuple[str, Any]], steps: int) -> Iterator[str]:
    """A line a step, as soon as its numbers and its records are there."""
    known: dict[int, Step] = {}
    metrics: dict[int, Mapping[str, Any]] = {}
    told = 0
    for kind, value in heard:
        if kind == "message":
            known.setdefault(value["step"], Step()).add(value)
        elif kind == "metrics":
            metrics[value["iteration"]] = value
        newest = max([*metrics, 0])
        # a step is told when the next begins to arrive, or with the run's last numbers
        while told < newest and (told + 1 in metrics) and (told + 1 < newest or told + 1 == steps):
            told += 1
            yield in_words(told, steps, metrics[told], known.pop(told, Step()))
        if told == steps:
            return


def in_words(step: int, steps: int, metrics: Mapping[str, Any], seen: Step) -> str:
    """Reward, gate, how many records, and the feature that was most active at the last layer."""
    gate = metrics["r_a_pass_rate"]
    told = (
        f"step {step:>2} of {steps}   R {fixed(metrics['rewards_mean'], 2)}   "
        f"gate {'-' if gate is None else f'{gate:.0%}'}   {seen.records} records"
    )
    if not seen.strongest:
        return told
    layer = max(seen.strongest)
    feature, total = max(seen.strongest[layer].items(), key=lambda item: item[1])
    return f"{told}   strongest {layer}:{feature} ({number(total)}){meaning(layer, feature)}"


def meaning(layer: int, feature: int) -> str:
    """The tokens a shipped feature promotes, where there is such a description."""
    from sonde.results.tokens import token_label

    folder = shipped.layers().get(layer)
    if folder is None:
        return ""
    (card,) = read_some(folder / FEATURES, [feature])
    return " promotes " + " ".join(map(token_label, card.promoted[:3])) if card.promoted else ""
