"""The hooks of a model are found by watching it run, and offered only where the evidence holds."""

from functools import cache
from typing import Any

import pytest
from torch import nn
from transformers import PreTrainedModel

from sonde.backends.torch.layout import find_layers, find_layout
from sonde.backends.torch.path import Path, choose_path
from sonde.errors import EngineError
from sonde.schema import HEAD_HOOKS
from tests.architectures import ARCHITECTURES, Architecture
from tests.backends.torch.tiny import prompt


@cache
def path_of(name: str) -> Path:
    """The path of a tiny model of an architecture, with the model in it."""
    return choose_path(ARCHITECTURES[name].build())


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_architecture_offers_the_hooks_it_has(name: str) -> None:
    architecture, path = ARCHITECTURES[name], path_of(name)

    heads = HEAD_HOOKS if architecture.path == "packed" else ()
    assert path.layout.hooks == (*architecture.hooks, *heads)
    assert path.name == architecture.path


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_modules_are_those_that_their_names_say(name: str) -> None:
    architecture, path = ARCHITECTURES[name], path_of(name)
    layout = path.layout

    assert layout.layers == architecture.parts.layers_of(path.model)
    for site in layout.sites:
        names = {id(module): n for n, module in site.layer.named_children()}
        if "mlp_in" in layout.hooks:
            assert names[id(site.tap("mlp_in").module)] in architecture.parts.mlp


def test_an_mlp_reading_the_residual_itself_carries_both_hooks() -> None:
    site = choose_path(ARCHITECTURES["olmo2"].build()).layout.sites[0]

    assert site.tap("post_attn").module is site.tap("mlp_in").module
    assert type(site.tap("mlp_out").module).__name__ == "Olmo2RMSNorm"


def test_one_dropout_for_both_branches_is_not_mistaken_for_the_mlps() -> None:
    """In Phi the same module ends the attention and the MLP branch."""
    layout = choose_path(Architecture("phi", "PhiConfig").build()).layout

    assert layout.hooks == ("pre_attn", "post_block", "mlp_in", "mlp_out", *HEAD_HOOKS)
    assert [type(site.tap("mlp_out").module).__name__ for site in layout.sites] == ["PhiMLP"] * 3


def test_a_branch_that_is_scaled_before_it_is_added_is_not_a_hook() -> None:
    """Granite multiplies its branches: no module returns what is added."""
    granite = Architecture("granite", "GraniteConfig", {"residual_multiplier": 0.5})

    layout = choose_path(granite.build()).layout

    assert "mlp_out" not in layout.hooks
    assert "mlp_in" in layout.hooks


def test_a_layer_without_attention_is_named() -> None:
    layout = find_layout(ARCHITECTURES["llama"].build(), prompt(9, 1), set())

    assert layout.not_attention == "layer 0 (LlamaDecoderLayer)"


def test_modules_know_their_layer() -> None:
    model = ARCHITECTURES["llama"].build()
    layer_of = choose_path(model).layout.layer_of

    for index, layer in enumerate(ARCHITECTURES["llama"].parts.layers_of(model)):
        assert {layer_of[id(module)] for module in layer.modules()} == {index}


def test_a_model_without_a_list_of_layers_is_refused() -> None:
    model = ARCHITECTURES["llama"].build()
    model.config.num_hidden_layers = 5

    with pytest.raises(EngineError, match="has no list of 5 decoder layers"):
        find_layers(model)


def test_a_layer_that_does_not_run_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ARCHITECTURES["llama"].build()
    decoder: Any = model.get_submodule("model")

    def only_two(**kwargs: object) -> object:
        layers = decoder.layers
        decoder.layers = nn.ModuleList(list(layers)[:2])
        try:
            return forward(**kwargs)
        finally:
            decoder.layers = layers

    forward = model.forward
    monkeypatch.setattr(model, "forward", only_two)
    with pytest.raises(EngineError, match="2 of 3 decoder layers ran"):
        find_layout(model, prompt(9, 1), set())


def test_no_hooks_are_left_behind() -> None:
    model: PreTrainedModel = ARCHITECTURES["llama"].build()
    choose_path(model)

    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
