"""Ways in which the weights of a loaded model are changed under those who use it."""

from collections.abc import Callable

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import PreTrainedModel

from sonde.backends.torch.reading import own_attention

Write = Callable[[PreTrainedModel], object]


def repeated(write: Write, model: PreTrainedModel) -> PreTrainedModel:
    """The same write every time, whatever it draws."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        write(model)
    return model


def a_training_step(model: PreTrainedModel) -> None:
    """One of AdamW, on a loss over a few tokens."""
    model.requires_grad_(True)
    ids = torch.tensor([[5, 6, 7, 8]])
    with own_attention(model):
        model(input_ids=ids, labels=ids).loss.backward()
    torch.optim.AdamW(model.parameters(), lr=1e-2).step()
    model.zero_grad()
    model.requires_grad_(False)


def a_merged_adapter(model: PreTrainedModel) -> None:
    """PEFT adds to `weight.data`, which torch does not count."""
    wanted = LoraConfig(r=2, target_modules=["q_proj", "down_proj"], init_lora_weights=False)
    get_peft_model(model, wanted).merge_and_unload()
    model.eval().requires_grad_(False)


def an_adapter_on_top(model: PreTrainedModel) -> None:
    """Not merged: layers are others, weights are the same."""
    get_peft_model(model, LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False))
    model.eval().requires_grad_(False)


def an_uncounted_write(model: PreTrainedModel) -> None:
    for weight in model.parameters():
        weight.data.mul_(1.1)


def other_memory(model: PreTrainedModel) -> None:
    for weight in model.parameters():
        weight.data = weight.data * 1.1


def shared_memory(model: PreTrainedModel) -> None:
    for weight in model.parameters():
        weight.detach().numpy()[...] *= 1.1


def a_state(model: PreTrainedModel) -> None:
    model.load_state_dict({name: w * 1.1 for name, w in model.state_dict().items()})


def another_parameter(model: PreTrainedModel) -> None:
    layer = model.get_submodule("model.layers.1.mlp.down_proj")
    layer.weight = nn.Parameter(layer.weight * 1.1, requires_grad=False)


def a_counted_write_for_inference(model: PreTrainedModel) -> None:
    with torch.inference_mode():
        model.get_submodule("model.layers.1.mlp.down_proj").weight.mul_(1.1)


WRITES: list[Write] = [
    a_training_step,
    a_merged_adapter,
    an_adapter_on_top,
    an_uncounted_write,
    other_memory,
    shared_memory,
    a_state,
    another_parameter,
    a_counted_write_for_inference,
]
