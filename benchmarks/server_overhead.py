"""What a sweep costs more over HTTP than in process, and how soon its first cell is seen.

SmolLM2 in float32, 30 layers × 9 positions × 3 hooks: 810 cells. `sonde serve` runs in a process of
its own, as users run it, with its history on disk; the same sweep runs in this process. Each round
takes every way once, in another order, and ratios are taken within a round, so that a machine that
is busy for a while is busy for all of them. Processor time is compared too, server and client
together: it says less about waiting, and hardly minds other work on the machine. Two pairs of
prompts take turns, because a backend keeps the unpatched runs of the last one.

    python -m benchmarks.server_overhead
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

import sonde
from benchmarks.machine import median, write
from sonde.backends.torch.backend import TorchBackend
from sonde.schema import Cell, PatchSweepRequest

HOOKS = ["post_block", "post_attn", "mlp_out"]
CELLS = 810
TARGETS = {"json": 1.10, "sse": 1.10, "first_cell": 0.25}

PAIRS = [
    ("The Eiffel Tower is in the city of", "The Colosseum is in the city of", " Paris"),
    ("The Eiffel Tower is in the town of", "The Colosseum is in the town of", " Paris"),
]
"""Clean prompt, corrupt prompt, answer: nine tokens each, alike up to the same one."""


class Took(NamedTuple):
    """Seconds of one sweep."""

    whole: float
    first: float
    """To the first cell; of a JSON body, the whole again."""
    cpu: float
    """Of all processors, the client's and the server's."""


class Clock:
    """Time since it was made, here and in another process."""

    def __init__(self, other: int | None = None) -> None:
        """`other` is the number of the server's process."""
        self._other = other
        self._began, self._cpu = time.perf_counter(), self._spent()
        self._first: float | None = None

    def first(self) -> None:
        """The first cell is here."""
        self._first = self._first or time.perf_counter() - self._began

    def took(self) -> Took:
        """Until now."""
        whole = time.perf_counter() - self._began
        return Took(whole, self._first or whole, self._spent() - self._cpu)

    def _spent(self) -> float:
        if self._other is None:
            return time.process_time()
        fields = Path(f"/proc/{self._other}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])  # in user code, and in the kernel for it
        return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def server(model: str) -> Iterator[tuple[httpx.Client, int]]:
    """`sonde serve` in a process of its own: a client of it, and its number."""
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryFile() as log:
        command = [sys.executable, "-m", "sonde", "serve", "--model", model, "--port", "0"]
        with subprocess.Popen(
            [*command, "--data-dir", directory], stdout=subprocess.PIPE, stderr=log, text=True
        ) as process:
            try:
                assert process.stdout is not None
                listens = re.search(r"http://\S+", process.stdout.readline())
                if listens is None:
                    raise SystemExit("`sonde serve` did not start")
                with httpx.Client(base_url=listens[0], timeout=600, trust_env=False) as http:
                    yield http, process.pid
            finally:
                process.terminate()


def in_process(model: sonde.Model, request: PatchSweepRequest) -> Took:
    """The sweep in this process, nothing kept from the one before."""
    backend = model.backend
    assert isinstance(backend, TorchBackend)
    backend.forget()
    clock = Clock()

    def note(event: object) -> None:
        if isinstance(event, Cell):
            clock.first()

    model.run(request, on_event=note)
    return clock.took()


def over_json(http: httpx.Client, process: int, request: PatchSweepRequest) -> Took:
    """The sweep as one JSON body, read."""
    body = request.model_dump(mode="json")
    clock = Clock(process)
    answer = http.post("/v1/patch_sweep", json=body).raise_for_status().json()
    took = clock.took()
    assert sum(len(row) for each in answer["hook_grids"] for row in each["grid"]) == CELLS
    return took


def over_sse(http: httpx.Client, process: int, request: PatchSweepRequest) -> Took:
    """The sweep as events, each read."""
    body = request.model_dump(mode="json") | {"stream": True}
    kinds: list[str] = []
    clock = Clock(process)
    with http.stream("POST", "/v1/patch_sweep", json=body) as answer:
        for line in answer.raise_for_status().iter_lines():
            if line.startswith("data: {"):
                kinds.append(json.loads(line.removeprefix("data: "))["type"])
                if len(kinds) == 2:
                    clock.first()
    took = clock.took()
    assert kinds == ["start", *["cell"] * CELLS, "summary"]
    return took


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--model", default="smollm2")
    options = parser.parse_args()
    model = sonde.load(options.model)
    requests = [
        PatchSweepRequest(
            prompt=corrupt,
            clean_prompt=clean,
            source_run="clean",
            answer_token=answer,
            hooks=list(HOOKS),
            layers=list(range(model.describe().n_layers)),
        )
        for clean, corrupt, answer in PAIRS
    ]
    took: dict[str, list[Took]] = {"in_process": [], "json": [], "sse": []}
    with server(options.model) as (http, process):
        ways: dict[str, Callable[[PatchSweepRequest], Took]] = {
            "in_process": lambda request: in_process(model, request),
            "json": lambda request: over_json(http, process, request),
            "sse": lambda request: over_sse(http, process, request),
        }
        for way in ways.values():
            for request in requests:
                way(request)
        turn = 0
        for round_ in range(options.rounds):
            names = list(ways)[round_ % 3 :] + list(ways)[: round_ % 3]
            for name in names:
                turn += name != "in_process"
                took[name].append(ways[name](requests[turn % 2]))
            print(
                f"round {round_ + 1}: " + ", ".join(f"{n} {took[n][-1].whole:.3f} s" for n in ways)
            )
    result = summary(took)
    write("server_overhead", result)
    print(json.dumps({k: v for k, v in result.items() if k != "rounds"}, indent=1))


def summary(took: dict[str, list[Took]]) -> dict[str, object]:
    """Ratios within rounds, and their medians."""
    here = took["in_process"]
    pairs = {name: list(zip(took[name], here, strict=True)) for name in ("json", "sse")}
    over = {name: median([a.whole / b.whole for a, b in each]) for name, each in pairs.items()}
    first = median([each.first / each.whole for each in took["sse"]])
    return {
        "grid": "30 layers x 9 positions x 3 hooks, SmolLM2-135M float32",
        "seconds": {name: median([one.whole for one in each]) for name, each in took.items()},
        "over_in_process": over,
        "cpu_over_in_process": {
            name: median([a.cpu / b.cpu for a, b in each]) for name, each in pairs.items()
        },
        "first_cell_over_whole": {
            "sse": first,
            "in_process": median([each.first / each.whole for each in here]),
        },
        "met": {
            name: ratio <= TARGETS[name] for name, ratio in (over | {"first_cell": first}).items()
        },
        "rounds": took,
    }


if __name__ == "__main__":
    main()
