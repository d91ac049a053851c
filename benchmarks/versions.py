"""The classic sweep of another tree of Sonde beside this one's.

SmolLM2 in float32, 30 layers × 9 positions at `post_block`, as one call of `model.sweep`, nothing
kept from the call before. Two processes that are idle unless asked, one with each tree's source; a
round times both, in turns, and the ratio is taken within the round, because a shared machine
changes between rounds. The numbers of both are compared.

    git worktree add /tmp/before 80fcfc4
    python -m benchmarks.versions /tmp/before
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import quantiles
from typing import Any, Final

from benchmarks.machine import median, write

CHILD: Final = """
import json, sys, time
import sonde
model = sonde.load("smollm2")
def sweep():
    model.backend.forget()
    return model.sweep(
        clean="The Eiffel Tower is located in the city",
        corrupt="The Colosseum is located in the city",
        answer=" Paris", pairing="last",
    )
sweep()
print(json.dumps(sweep().grids["post_block"].tolist()), flush=True)
for _ in sys.stdin:
    clock, busy = time.perf_counter(), time.process_time()
    sweep()
    print(json.dumps([time.perf_counter() - clock, time.process_time() - busy]), flush=True)
"""


class Tree:
    """A process with the model loaded by one tree's source."""

    def __init__(self, root: Path) -> None:
        """Start it, and wait until it has swept."""
        environment = os.environ | {"PYTHONPATH": str(root / "src")}
        self._process = subprocess.Popen(
            [sys.executable, "-c", CHILD],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        self.grid: list[list[float]] = self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the process that sweeps has ended")
        return json.loads(line)

    def time(self) -> tuple[float, float]:
        """The seconds of one sweep: by the clock, and of CPU time."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        clock, busy = self._answer()
        return clock, busy


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, help="the other tree")
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    trees = {"before": Tree(options.before), "now": Tree(Path(__file__).parents[1])}
    rounds: dict[str, list[tuple[float, float]]] = {name: [] for name in trees}
    for number in range(options.rounds):
        for name in list(trees) if number % 2 else list(reversed(trees)):
            rounds[name].append(trees[name].time())
    pairs = list(zip(rounds["before"], rounds["now"], strict=True))
    result: dict[str, Any] = {"same_bits": trees["before"].grid == trees["now"].grid}
    for place, what in enumerate(("seconds", "cpu_seconds")):
        ratios = [now[place] / before[place] for before, now in pairs]
        result[what] = {
            **{name: median([took[place] for took in each]) for name, each in rounds.items()},
            "now_over_before": median(ratios),
            "middle_half": quantiles(ratios, n=4)[::2],
        }
    write("versions", result | {"rounds": rounds})
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
