"""A program for each of several processes: a tiny GRPO run, and what is needed to check it."""

import os
import sys
from pathlib import Path

import torch
from trl import GRPOTrainer

from sonde.training import SidecarCallback
from tests.training import tiny_run
from tests.training.tiny_run import Rewards, Weights


def main(directory: Path) -> None:
    tiny_run.quiet()
    model, tokenizer = tiny_run.policy()
    model.generation_config.eos_token_id = list(range(40))
    rewards, weights = Rewards(), Weights()
    trainer = GRPOTrainer(
        model,
        reward_funcs=rewards,
        args=tiny_run.config(
            directory,
            per_device_train_batch_size=2,
            gradient_accumulation_steps=2,
            max_steps=4,
            save_strategy="steps",
            save_steps=2,
            ddp_backend="gloo",
        ),
        train_dataset=tiny_run.prompts(),
        processing_class=tokenizer,
        callbacks=[weights],
    )
    SidecarCallback(tiny_run.saes(), record_every_n_tokens=2).attach(trainer)
    trainer.train()
    rank = int(os.environ["RANK"])
    torch.save((rewards.seen, weights.at), directory / f"seen-{rank}.pt")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
