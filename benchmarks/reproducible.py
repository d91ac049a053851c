"""What MKL's reproducible mode costs a sweep.

SmolLM2 in float32, 30 layers × 9 positions at `post_block`, in two processes that are idle unless
asked: one in which MKL is left as it is by default, one in which it is asked for its reproducible
mode. Each round times one whole sweep in either, in turns, and the ratio is taken within the round,
because a shared machine changes between rounds. CPU time is given beside the clock's: it is steady
where others want the cores too. Beside it stand the products that MKL makes, alone, in the model's
shapes: the shortest of many, which even a busy machine lets through undisturbed. `all_mkl` is the
same with weights that are not laid out for oneDNN, as in models too large for a second copy: then
every product is MKL's.

    python -m benchmarks.reproducible
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import quantiles
from typing import Any, Final

from benchmarks.machine import median, seconds, write

ROUNDS: Final = 21
MODES: Final = {"default": "", "reproducible": None}
"""What the variable is set to; None leaves it to Sonde."""
KINDS: Final = {"laid_out": None, "all_mkl": 0}
"""Up to how many bytes of weights are laid out; None leaves it as it is."""


class Sweeps:
    """A process with the model loaded."""

    def __init__(self, mode: str | None, largest: int | None) -> None:
        """Start it, and wait until it has swept once."""
        environment = {k: v for k, v in os.environ.items() if k != "MKL_CBWR"}
        environment |= {} if mode is None else {"MKL_CBWR": mode}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.reproducible", "--child", json.dumps(largest)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        self.about: dict[str, Any] = json.loads(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the process that sweeps has ended")
        return line

    def time(self) -> tuple[float, float]:
        """The seconds of one sweep: by the clock, and of CPU time."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        clock, busy = json.loads(self._line())
        return clock, busy

    def end(self) -> None:
        """Let it go."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def child(largest: int | None) -> None:
    """Sweep whenever a line comes."""
    import sonde
    from benchmarks.sweep_rate import sweep
    from sonde.backends.torch.cpu import products, reproducible

    if largest is not None:
        vars(products)["LARGEST"] = largest
    model = sonde.load("smollm2")
    sweep(model)
    found = sweep(model)
    about = {"mode": reproducible.settle().name, "exact": model.describe().exact}
    about |= {"noise_floor": found.noise_floor, "microseconds": products_alone()}
    print(json.dumps(about), flush=True)
    for _ in sys.stdin:
        busy = time.process_time()
        clock = seconds(lambda: sweep(model))
        print(json.dumps([clock, time.process_time() - busy]), flush=True)


def products_alone() -> dict[str, float]:
    """Microseconds of attention and ordinary linear maps in the model's shapes, by one thread."""
    import torch
    import torch.nn.functional as F

    from sonde.backends.torch.packed.attention import attention_by_hand
    from sonde.backends.torch.packed.style import Style

    style, mask = Style(0.125, None, None, None), torch.zeros(48, 16)
    q, k, v = torch.randn(64, 9, 16, 64), torch.randn(64, 3, 16, 64), torch.randn(64, 3, 16, 64)
    calls: dict[str, Callable[[], object]] = {
        "attention of 64 cells": lambda: attention_by_hand(q, k, v, mask, style)
    }
    for inputs, outputs in ((576, 576), (576, 1536), (1536, 576)):
        rows, weight = torch.randn(256, inputs), torch.randn(outputs, inputs)
        calls[f"256 rows, {inputs} to {outputs}"] = partial(F.linear, rows, weight)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.inference_mode():
        best = {name: min(seconds(call) for _ in range(300)) for name, call in calls.items()}
    torch.set_num_threads(threads)
    return {name: 1e6 * took for name, took in best.items()}


def measure(largest: int | None) -> dict[str, Any]:
    """Both modes in turns."""
    sweeps = {name: Sweeps(mode, largest) for name, mode in MODES.items()}
    rounds: dict[str, list[tuple[float, float]]] = {name: [] for name in sweeps}
    for number in range(ROUNDS):
        order = list(sweeps) if number % 2 else list(reversed(sweeps))
        for name in order:
            rounds[name].append(sweeps[name].time())
    for each in sweeps.values():
        each.end()
    pairs = list(zip(rounds["default"], rounds["reproducible"], strict=True))
    result: dict[str, Any] = {"about": {name: each.about for name, each in sweeps.items()}}
    for place, what in enumerate(("seconds", "cpu_seconds")):
        ratios = [after[place] / before[place] for before, after in pairs]
        result[what] = {
            **{name: median([took[place] for took in each]) for name, each in rounds.items()},
            "reproducible_over_default": median(ratios),
            "middle_half": quantiles(ratios, n=4)[::2],
        }
    return result | {"rounds": rounds}


def main() -> None:
    """Measure, print, keep."""
    result = {kind: measure(largest) for kind, largest in KINDS.items()}
    write("reproducible", result)
    for kind, found in result.items():
        print(kind, json.dumps({k: v for k, v in found.items() if k != "rounds"}, indent=1))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(json.loads(sys.argv[2]))
    else:
        main()
