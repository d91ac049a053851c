import pytest
from peft import LoraConfig, get_peft_model
from torch import nn

from sonde.errors import BadTrainer, LayerOutOfRange
from sonde.training.layers import chosen, decoder_layers
from tests.tiny_model import tiny_llama


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
