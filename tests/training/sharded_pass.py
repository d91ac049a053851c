"""A program for each of several processes: the recorder on a policy whose weights are sharded."""

import sys
from pathlib import Path

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from sonde.training.layers import chosen
from sonde.training.recorder import Recorder, Tokens
from tests.tiny_model import tiny_llama

IDS = torch.tensor([[3, 4, 5, 6], [7, 8, 9, 10]])


def main(directory: Path) -> None:
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    mesh = init_device_mesh("cpu", (torch.distributed.get_world_size(),))
    model = tiny_llama(layers=3)
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    recorder = Recorder(chosen(model, [0, 1]), {0: "post_block", 1: "post_block"})
    tokens = Tokens(torch.tensor([0, 1]), torch.tensor([3, 1]))
    with recorder.reading(tokens) as read:
        model(input_ids=IDS + rank)
    torch.save(read, directory / f"read-{rank}.pt")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
