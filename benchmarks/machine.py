"""What a number was measured on, and where it is written.

What is measured on a machine goes to a folder that git ignores. Recorded results, and the README's
figures made from them, change only when somebody says so: `make figures`.
"""

import json
import platform
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

RECORDED = Path(__file__).parent / "results"
LOCAL = Path(__file__).parents[1] / "out" / "benchmarks"


def machine() -> dict[str, Any]:
    """The machine and the versions, as far as they matter for speed."""
    name = platform.processor() or platform.machine()
    cpu = Path("/proc/cpuinfo")
    if cpu.exists():
        lines = [line for line in cpu.read_text().splitlines() if line.startswith("model name")]
        name = lines[0].split(":", 1)[1].strip() if lines else name
    return {
        "cpu": name,
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": version("transformers"),
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def write(name: str, result: dict[str, Any]) -> None:
    """Keep what was measured here."""
    text = json.dumps({"machine": machine(), **result}, indent=1)
    local(name).write_text(text + "\n")


def local(name: str) -> Path:
    """Where a result of this machine goes."""
    LOCAL.mkdir(parents=True, exist_ok=True)
    return LOCAL / f"{name}.json"


def kept(name: str) -> dict[str, Any]:
    """What was measured here before, or else what is recorded: for results of several parts."""
    for path in (LOCAL / f"{name}.json", RECORDED / f"{name}.json"):
        if path.exists():
            found: dict[str, Any] = json.loads(path.read_text())
            return found
    return {}


def seconds(run: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def median(values: list[float]) -> float:
    """The middle value."""
    return statistics.median(values)
