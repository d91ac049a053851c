"""How long questions about a run of ten million records take, and how much memory.

    python -m benchmarks.analytics
    python -m benchmarks.analytics --records 1000000 --directory out/run --keep

Each phase is a process of its own, so that its peak of memory is its own:

1. **read**: everything from nothing, compacting as it goes.
2. **ask**:  the run is opened again and each question asked 15 times; the first time counts apart.
3. **serve**: how long `/health` takes at a gateway while it reads the run for somebody who asks.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

TIMES = 15
SERVE_SECONDS = 20.0

Known = Any
Asked = Callable[[], object]


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--phase", choices=["read", "ask", "serve"])
    options = parser.parse_args()
    if options.phase is not None:
        phases = {"read": read, "ask": ask, "serve": serve}
        print(json.dumps(phases[options.phase](options.directory)))
        return
    from benchmarks.analytics_run import describe, make_run, size_of

    directory = options.directory or Path(tempfile.mkdtemp(prefix="sonde-bench-")) / "run"
    if not directory.exists():
        print(f"writing {options.records:,} records to {directory}", flush=True)
        make_run(directory, options.records)
    shutil.rmtree(directory / ".sonde", ignore_errors=True)
    result: dict[str, Any] = {"run": describe() | {"bytes": size_of(directory)}}
    for phase in ("read", "ask", "serve"):
        result[phase] = in_a_process(phase, directory)
        print(json.dumps({phase: result[phase]}, indent=1), flush=True)
    result["load_average"] = [round(load, 1) for load in os.getloadavg()]
    if not options.keep:
        shutil.rmtree(directory)

    from benchmarks.machine import write

    write("analytics", result)


def in_a_process(phase: str, directory: Path) -> dict[str, Any]:
    """Run one phase by itself."""
    command = [sys.executable, "-m", "benchmarks.analytics", "--phase", phase]
    done = subprocess.run(
        [*command, "--directory", str(directory)], stdout=subprocess.PIPE, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def read(directory: Path) -> dict[str, Any]:
    """Everything from nothing."""
    from sonde.cli.finding import analysed
    from sonde.runs.layout import RunLayout

    with analysed(RunLayout(directory)) as (analysis, _):
        spent = measured(analysis.advance)
        known = analysis.known
        folders = list((directory / ".sonde").rglob("*"))
        return {
            "records": known.coverage.records,
            **spent,
            "records_per_cpu_second": round(known.coverage.records / spent["cpu_s"]),
            "volumes_bytes": sum(path.stat().st_size for path in folders if path.is_file()),
            "peak_mib": peak_mib(),
        }


def ask(directory: Path) -> dict[str, Any]:
    """Each question, again and again, after the first time."""
    from sonde.cli.finding import analysed
    from sonde.runs.layout import RunLayout

    with analysed(RunLayout(directory)) as (analysis, connection):
        opened = measured(analysis.advance)
        found = {}
        for name, question in questions(analysis.known, connection).items():
            first = measured(question)
            spent = [measured(question) for _ in range(TIMES)]
            found[name] = {
                "first_ms": round(1000 * first["wall_s"], 1),
                "median_ms": round(1000 * statistics.median(each["wall_s"] for each in spent), 1),
                "worst_ms": round(1000 * max(each["wall_s"] for each in spent), 1),
                "cpu_ms": round(1000 * statistics.median(each["cpu_s"] for each in spent), 1),
            }
        return {"open": opened, "questions": found, "peak_mib": peak_mib()}


def questions(known: Known, connection: Any) -> dict[str, Asked]:
    """What a page asks, up to the bytes that are sent."""
    from sonde.runs.analytics.curves import health_curves, reward_curves
    from sonde.runs.analytics.generation import generation_page, generation_view
    from sonde.runs.analytics.heatmap import feature_tile, layer_tile, time_axis
    from sonde.runs.analytics.overview import overview
    from sonde.runs.analytics.scatter import scatter
    from sonde.runs.analytics.vocabulary import vocabulary

    last = known.steps()[1]
    layer = known.layers[-1]
    whole = time_axis(known, None, None, None)
    part = time_axis(known, None, last // 3, last // 2)
    tokens = time_axis(known, "token", None, None, step=last // 2)
    named = list(range(0, 25_600, 100))[:128]
    asked: dict[str, Callable[[], Any]] = {
        "overview": lambda: overview(known, connection, "run"),
        "layers, whole run": lambda: layer_tile(known, connection, whole),
        "layers, tokens of a step": lambda: layer_tile(known, connection, tokens),
        "64 highest features, whole run": lambda: feature_tile(known, connection, whole, layer),
        "64 highest features, a sixth": lambda: feature_tile(known, connection, part, layer),
        "128 named features, whole run": lambda: feature_tile(
            known, connection, whole, layer, features=named
        ),
        "64 highest features, tokens of a step": lambda: feature_tile(
            known, connection, tokens, layer
        ),
        "loss against reward": lambda: scatter(known, connection, layer),
        "vocabulary, last 64": lambda: vocabulary(known, connection),
        "vocabulary, last 256": lambda: vocabulary(known, connection, n=256),
        "one generation": lambda: generation_view(known, connection, f"{last // 2}-3"),
        "50 generations with text": lambda: generation_page(known),
        "reward curve": lambda: reward_curves(known),
        "health": lambda: health_curves(known),
    }
    return {name: partial(as_json, each) for name, each in asked.items()}


def as_json(question: Callable[[], Any]) -> str:
    """The answer as it is sent."""
    text: str = question().model_dump_json()
    return text


def serve(directory: Path) -> dict[str, Any]:
    """`/health` of a gateway: when nothing happens, and while a run is read and asked about."""
    import httpx

    from sonde.runs.hub import Hub
    from sonde.runs.layout import RunLayout
    from sonde.server.parts import Gateway
    from sonde.server.serving import running_server

    shutil.rmtree(directory / ".sonde", ignore_errors=True)
    with running_server(Gateway(Hub(RunLayout(directory)))) as url:
        quiet = health_ms(url, 5.0)
        stop = threading.Event()

        def page() -> None:
            with httpx.Client(base_url=url, trust_env=False, timeout=60) as http:
                while not stop.is_set():
                    for path in ("overview", "layers", "features", "scatter", "vocabulary"):
                        http.get(f"/api/p5/analytics/{path}").raise_for_status()

        asking = threading.Thread(target=page)
        asking.start()
        busy = health_ms(url, SERVE_SECONDS)
        stop.set()
        asking.join()
    return {"health_ms_quiet": quiet, "health_ms_while_reading": busy, "peak_mib": peak_mib()}


def health_ms(url: str, seconds: float) -> dict[str, float]:
    """Percentiles of what a small request takes, asked every 20 ms."""
    import httpx

    found = []
    end = time.monotonic() + seconds
    with httpx.Client(base_url=url, trust_env=False) as http:
        while time.monotonic() < end:
            began = time.perf_counter()
            http.get("/api/p5/health").raise_for_status()
            found.append(1000 * (time.perf_counter() - began))
            time.sleep(0.02)
    found.sort()
    return {
        "p50": round(found[len(found) // 2], 2),
        "p99": round(found[int(0.99 * (len(found) - 1))], 2),
        "worst": round(found[-1], 2),
    }


def measured(work: Asked) -> dict[str, float]:
    """Seconds by the clock, and of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return {
        "wall_s": round(time.perf_counter() - wall, 4),
        "cpu_s": round(time.process_time() - cpu, 4),
    }


def peak_mib() -> int:
    """The most memory this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
