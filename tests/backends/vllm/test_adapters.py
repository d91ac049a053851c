"""Layers are known by their class, and an unknown class is refused by name."""

import pytest
from torch import nn

from sonde.backends.vllm.adapters import ADAPTERS, decoder_layers, places_of
from sonde.errors import BadRequest


class LlamaDecoderLayer(nn.Module):
    """The children that vLLM's class of this name has."""

    def __init__(self) -> None:
        super().__init__()
        self.input_layernorm = nn.Identity()
        self.post_attention_layernorm = nn.Identity()
        self.mlp = nn.Identity()


class Gemma2DecoderLayer(LlamaDecoderLayer):
    def __init__(self) -> None:
        super().__init__()
        self.pre_feedforward_layernorm = nn.Identity()
        self.post_feedforward_layernorm = nn.Identity()


class PPMissingLayer(nn.Module):
    """What stands for a layer of another rank."""


class ParallelDecoderLayer(nn.Module):
    """A class that is not in the table."""


def model(*layers: nn.Module) -> nn.Module:
    whole = nn.Module()
    whole.layers = nn.ModuleList(layers)
    whole.towers = nn.ModuleList([nn.Identity()])
    return whole


def test_a_rank_holds_its_own_layers_under_their_numbers_in_the_whole_model() -> None:
    mine = LlamaDecoderLayer()
    found = places_of(model(PPMissingLayer(), PPMissingLayer(), mine))
    assert list(found) == [2]
    assert found[2].layer is mine
    assert found[2].before is mine.input_layernorm
    assert found[2].post_attn is mine.post_attention_layernorm
    assert found[2].mlp is found[2].mlp_out is mine.mlp


def test_gemma_norms_its_branches_so_the_branch_is_the_norms_output() -> None:
    layer = Gemma2DecoderLayer()
    place = places_of(model(layer))[0]
    assert place.post_attn is layer.pre_feedforward_layernorm
    assert place.mlp_out is layer.post_feedforward_layernorm
    assert place.mlp is layer.mlp


def test_an_unknown_layer_class_is_refused_by_name() -> None:
    with pytest.raises(BadRequest, match=r"ParallelDecoderLayer.*LlamaDecoderLayer.*torch"):
        places_of(model(ParallelDecoderLayer(), ParallelDecoderLayer()))


def test_a_rank_whose_first_layers_lie_elsewhere_still_finds_the_list() -> None:
    layers = model(PPMissingLayer(), LlamaDecoderLayer())
    assert len(decoder_layers(layers)) == 2


def test_a_model_without_layers_is_refused() -> None:
    with pytest.raises(BadRequest, match="no list of layers"):
        decoder_layers(nn.Linear(2, 2))


def test_the_families_that_were_tried_are_in_the_table() -> None:
    families = ("Llama", "Mistral", "Qwen2", "Qwen3", "Mixtral", "Gemma2", "Gemma3")
    assert set(ADAPTERS) == {f"{family}DecoderLayer" for family in families}
