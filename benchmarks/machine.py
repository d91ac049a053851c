"""What a number was measured on, and where it is written."""

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

RESULTS = Path(__file__).parent / "results"


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
    """Keep a result beside the others."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"machine": machine(), **result}, indent=1)
    (RESULTS / f"{name}.json").write_text(text + "\n")


def seconds(run: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def median(values: list[float]) -> float:
    """The middle value."""
    return statistics.median(values)
