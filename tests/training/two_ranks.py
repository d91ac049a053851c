"""A program for each of several processes: a tiny GRPO run, and what is needed to check it.

With `sharded` its policy has an adapter and is sharded by Accelerate, as on several GPUs. It shards
on GPUs only, so it is told that these processes have one each; everything else is its own.
"""

import os
import sys
from pathlib import Path
from typing import Any

import torch
from accelerate.state import DistributedType, PartialState
from torch.distributed.tensor import DTensor
from trl import GRPOTrainer

from sonde.training import SidecarCallback
from tests.training import tiny_run
from tests.training.short_run import LORA
from tests.training.tiny_run import Rewards, Weights


class ShardedWeights(Weights):
    """The weights each step began with, put together from all processes, adapters added in."""

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        sharded = kwargs["model"].state_dict()
        assert all(isinstance(value, DTensor) for value in sharded.values())
        whole = {
            name.removeprefix("base_model.model."): value.full_tensor().clone()
            for name, value in sharded.items()
        }
        self.at[state.global_step + 1] = {
            name.replace(".base_layer", ""): value + adapter(whole, name)
            for name, value in whole.items()
            if "lora_" not in name
        }


def adapter(whole: dict[str, torch.Tensor], name: str) -> torch.Tensor | float:
    """What LoRA adds to one weight."""
    module = name.removesuffix(".base_layer.weight")
    if module == name:
        return 0.0
    down, up = (whole[f"{module}.lora_{part}.default.weight"] for part in "AB")
    return LORA.lora_alpha / LORA.r * (up @ down)


def main(directory: Path, *, sharded: bool) -> None:
    tiny_run.quiet()
    model, tokenizer = tiny_run.policy()
    model.generation_config.eos_token_id = list(range(40))
    rewards, weights = Rewards(), ShardedWeights() if sharded else Weights()
    args = tiny_run.config(
        directory,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
        max_steps=4,
        save_strategy="steps",
        save_steps=2,
        ddp_backend="gloo",
    )
    if sharded:
        assert PartialState().distributed_type == DistributedType.MULTI_CPU
        PartialState._shared_state["distributed_type"] = DistributedType.MULTI_GPU
    trainer = GRPOTrainer(
        model,
        reward_funcs=rewards,
        args=args,
        train_dataset=tiny_run.prompts(),
        processing_class=tokenizer,
        peft_config=LORA if sharded else None,
        callbacks=[weights],
    )
    assert trainer.is_fsdp_enabled == sharded
    SidecarCallback(tiny_run.saes(), record_every_n_tokens=2).attach(trainer)
    trainer.train()
    rank = int(os.environ["RANK"])
    torch.save((rewards.seen, weights.at), directory / f"seen-{rank}.pt")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sharded="sharded" in sys.argv)
