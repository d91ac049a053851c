"""A tiny GRPO run whose disk is full from step 3 on, and which ends without a word in step 5.

python -m tests.training.full_disk_training DIRECTORY
"""

import os
import sys
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from tests.runs.full_disk import no_room_in
from tests.training.short_run import Run


class FullThenKilled(TrainerCallback):  # type: ignore[misc]
    """The live file has no room; everything else, weights too, can be written."""

    def __init__(self, live: Path) -> None:
        self.full = no_room_in(live)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == 2:
            self.full.__enter__()
        if state.global_step == 4:
            os._exit(9)


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    fault = FullThenKilled(directory / "sae_features.live.jsonl")
    Run(directory, max_steps=6, callbacks=[fault], save_strategy="steps", save_steps=2)
