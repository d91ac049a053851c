from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import nn

from sonde.errors import BadTrainer, EngineError, HookNeverFired, LayerOutOfRange
from sonde.training.recorder import Recorder, Tokens, chosen, decoder_layers
from tests.tiny_model import tiny_llama

IDS = torch.tensor([[3, 4, 5, 6], [7, 8, 9, 10]])
TOKENS = Tokens(torch.tensor([0, 1, 1]), torch.tensor([2, 0, 3]))


def test_the_chosen_tokens_of_every_layer_are_read() -> None:
    model = tiny_llama(layers=3)
    recorder = Recorder(chosen(model, [0, 1]), {0: "post_block", 1: "pre_attn"})
    with recorder.reading(TOKENS) as read:
        hidden = model(input_ids=IDS, output_hidden_states=True).hidden_states
    wanted = hidden[1][[0, 1, 1], [2, 0, 3]]
    torch.testing.assert_close(read[0], wanted, rtol=0, atol=0)
    torch.testing.assert_close(read[1], wanted, rtol=0, atol=0)  # what enters 1 is what left 0
    assert not read[0].requires_grad


def test_passes_outside_the_block_are_not_read() -> None:
    model = tiny_llama(layers=3)
    recorder = Recorder(chosen(model, [0]), {0: "post_block"})
    model(input_ids=IDS)
    with recorder.reading(TOKENS) as read:
        model(input_ids=IDS)
    before = read[0].clone()
    model(input_ids=IDS + 1)
    assert torch.equal(read[0], before)


def test_removed_hooks_read_nothing() -> None:
    model = tiny_llama(layers=3)
    recorder = Recorder(chosen(model, [0]), {0: "post_block"})
    recorder.remove()
    with pytest.raises(HookNeverFired, match=r"layers \[0\]"), recorder.reading(TOKENS):
        model(input_ids=IDS)


def run_twice(model: Any) -> None:
    for _ in range(2):
        model(input_ids=IDS)


def test_two_passes_in_one_block_are_an_error() -> None:
    model = tiny_llama(layers=3)
    recorder = Recorder(chosen(model, [0]), {0: "post_block"})
    with pytest.raises(EngineError, match="ran twice"), recorder.reading(TOKENS):
        run_twice(model)
    with recorder.reading(TOKENS) as read:  # and the next one works
        model(input_ids=IDS)
    assert len(read) == 1


def test_a_hook_that_is_not_the_residual_stream_is_refused() -> None:
    with pytest.raises(BadTrainer, match="'mlp_out'.*post_block or pre_attn"):
        Recorder(chosen(tiny_llama(), [0]), {0: "mlp_out"})


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_reading_does_not_wait_for_the_device() -> None:
    layer, hidden = torch.nn.Identity(), torch.rand(2, 4, 16, device="cuda")
    recorder = Recorder({0: layer}, {0: "post_block"})
    torch.cuda.set_sync_debug_mode("error")
    try:
        with recorder.reading(TOKENS) as read:
            layer(hidden)
    finally:
        torch.cuda.set_sync_debug_mode("default")

    assert torch.equal(read[0], hidden[TOKENS.rows.cuda(), TOKENS.positions.cuda()])


def test_the_layers_of_a_model_are_found_with_and_without_an_adapter() -> None:
    model = tiny_llama(layers=3)
    assert list(decoder_layers(model)) == list(model.model.layers)
    wrapped = get_peft_model(model, LoraConfig(r=2, target_modules=["q_proj"]))
    assert chosen(wrapped, [0, 2])[2] is model.model.layers[2]


def test_a_layer_that_is_not_there_is_named() -> None:
    with pytest.raises(LayerOutOfRange, match=r"layer 3 .* 3 layers"):
        chosen(tiny_llama(layers=3), [0, 3])


def test_a_model_without_its_layers_is_refused() -> None:
    model = tiny_llama(layers=3)
    model.model.layers = nn.ModuleList(list(model.model.layers)[:2])
    with pytest.raises(BadTrainer, match="no list of 3 layers"):
        decoder_layers(model)
