"""A program: a tiny GRPO run without an end, stopped by a signal as `sonde train` is."""

import os
import sys
from dataclasses import replace
from pathlib import Path

from sonde.cli.train import stopped_by_signal
from tests.training.test_grpo import plan, training


def main(directory: Path) -> None:
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    chosen = replace(plan(directory, max_steps=10**6), processes=processes)
    prepared = training(replace(chosen, config=replace(chosen.config, save_steps=10**6)))
    with stopped_by_signal(chosen if os.environ.get("RANK", "0") == "0" else None):
        prepared.run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
