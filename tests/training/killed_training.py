"""A tiny GRPO run that is killed at random moments and resumed, until it reaches its end.

    python -m tests.training.killed_training DIRECTORY KILLS SEED

The parent imports everything once and forks a trainer for each attempt, so that an attempt takes a
second. What the reward function was asked about is kept beside the run, line by line.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import torch
from trl import GRPOTrainer

from sonde.runs.layout import RunLayout
from sonde.training import SidecarCallback
from sonde.training.metadata import last_checkpoint
from tests.runs.killed_writer import in_child, torn
from tests.training import tiny_run

SAVE_EVERY = 2


def train(directory: Path, until: int) -> None:
    """Begin, or go on from the last checkpoint that was finished."""
    tiny_run.quiet()
    torch.set_num_threads(1)
    model, tokenizer = tiny_run.policy()
    trainer = GRPOTrainer(
        model,
        reward_funcs=tiny_run.Rewards(),
        args=tiny_run.config(
            directory,
            max_steps=until,
            save_strategy="steps",
            save_steps=SAVE_EVERY,
            save_total_limit=2,
        ),
        train_dataset=tiny_run.prompts(),
        processing_class=tokenizer,
    )
    SidecarCallback(tiny_run.saes(), existing="resume").attach(trainer)
    step = last_checkpoint(RunLayout(directory))
    trainer.train(resume_from_checkpoint=f"{directory}/checkpoint-{step}" if step else None)


def killed_after(directory: Path, seconds: float) -> None:
    """Train, and be killed this long after the first sign of progress."""
    layout = RunLayout(directory)
    child = os.fork()
    if child == 0:
        try:
            train(directory, 10**6)
        finally:
            os._exit(1)
    before, began = size(layout.generations), time.monotonic()
    while size(layout.generations) == before and time.monotonic() - began < 120:
        time.sleep(0.005)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def size(path: Path) -> Any:
    return (path.stat().st_size, path.stat().st_mtime_ns) if path.exists() else None


def main(directory: Path, kills: int, seed: int) -> None:
    draw, layout, wrong = random.Random(seed), RunLayout(directory), []
    directory.mkdir(exist_ok=True)
    for _ in range(kills):
        killed_after(directory, draw.random() * 0.6)
        wrong += torn(layout)
    until = (last_checkpoint(layout) or 0) + SAVE_EVERY
    if in_child(lambda: train(directory, until)) != 0:
        wrong.append("could not be finished")
    sys.stdout.write("\n" + json.dumps({"until": until, "wrong": wrong}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
