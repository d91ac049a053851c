"""Layers are known by their class, and an unknown class is refused by name."""

import pytest
from torch import nn

from sonde.backends.vllm.adapters import ADAPTERS, Edge, decoder_layers, edges_of, hooks_of
from sonde.errors import BadRequest
from sonde.schema import HOOKS, LAYER_HOOKS, HeadShape


class LlamaDecoderLayer(nn.Module):
    """The children that vLLM's class of this name has."""

    def __init__(self, attention: nn.Module | None = None) -> None:
        super().__init__()
        self.input_layernorm = nn.Identity()
        self.self_attn = attention or nn.Identity()
        self.post_attention_layernorm = nn.Identity()
        self.mlp = nn.Identity()


class Attention(nn.Module):
    """What vLLM's attention says of itself on one rank of one."""

    def __init__(self, heads: int = 4) -> None:
        super().__init__()
        self.attn, self.o_proj = nn.Identity(), nn.Identity()
        self.total_num_heads, self.total_num_kv_heads = heads, 2
        told = {"num_heads": heads, "num_kv_heads": 2, "head_size": 8, "head_size_v": 8}
        for name, value in {**told, "kv_sharing_target_layer_name": None}.items():
            setattr(self.attn, name, value)


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
    found, _ = edges_of(model(PPMissingLayer(), PPMissingLayer(), mine))
    assert list(found) == [2]
    assert {hook: (edge.module, edge.side) for hook, edge in found[2].items()} == {
        "pre_attn": (mine.input_layernorm, "in"),
        "attn_out": (mine.self_attn, "out"),
        "post_attn": (mine.post_attention_layernorm, "in"),
        "mlp_in": (mine.mlp, "in"),
        "mlp_out": (mine.mlp, "out"),
        "post_block": (mine, "out"),
    }


def test_gemma_norms_its_branches_so_the_branch_is_the_norms_output() -> None:
    layer = Gemma2DecoderLayer()
    edges = edges_of(model(layer))[0][0]
    assert edges["post_attn"].module is layer.pre_feedforward_layernorm
    assert edges["attn_out"].module is layer.post_attention_layernorm
    assert edges["mlp_out"].module is layer.post_feedforward_layernorm
    assert edges["mlp_in"].module is layer.mlp


def test_a_hook_is_offered_where_every_layer_has_it() -> None:
    edges = {i: dict(edges_of(model(LlamaDecoderLayer()))[0][0]) for i in range(2)}
    assert hooks_of(edges) == list(LAYER_HOOKS)
    del edges[1]["mlp_in"]
    assert hooks_of(edges) == [hook for hook in LAYER_HOOKS if hook != "mlp_in"]


def test_heads_are_where_the_attention_kernel_and_the_output_projection_are_called() -> None:
    layer = LlamaDecoderLayer(attention := Attention())
    edges, heads = edges_of(model(layer))
    assert heads == HeadShape(heads=4, kv_heads=2, key_width=8, value_width=8)
    assert {hook: edges[0][hook] for hook in ("z", "q", "k", "v")} == {
        "z": Edge(attention.o_proj, "in"),
        "q": Edge(attention.attn, "in", 0),
        "k": Edge(attention.attn, "in", 1),
        "v": Edge(attention.attn, "in", 2),
    }
    assert hooks_of(edges) == [hook for hook in HOOKS if hook != "pattern"]


def test_a_layer_without_heads_like_the_others_leaves_the_model_without_them() -> None:
    for other in (Attention(heads=2), nn.Identity()):
        edges, heads = edges_of(model(LlamaDecoderLayer(Attention()), LlamaDecoderLayer(other)))
        assert heads is None
        assert hooks_of(edges) == list(LAYER_HOOKS)


def test_every_class_in_the_table_has_hooks_of_heads_and_none_has_patterns() -> None:
    for names in ADAPTERS.values():
        assert set(names) == set(HOOKS) - {"pattern"}


def test_an_unknown_layer_class_is_refused_by_name() -> None:
    with pytest.raises(BadRequest, match=r"ParallelDecoderLayer.*LlamaDecoderLayer.*torch"):
        edges_of(model(ParallelDecoderLayer(), ParallelDecoderLayer()))


def test_a_rank_whose_first_layers_lie_elsewhere_still_finds_the_list() -> None:
    layers = model(PPMissingLayer(), LlamaDecoderLayer())
    assert len(decoder_layers(layers)) == 2


def test_a_model_without_layers_is_refused() -> None:
    with pytest.raises(BadRequest, match="no list of layers"):
        decoder_layers(nn.Linear(2, 2))


def test_the_families_that_were_tried_are_in_the_table() -> None:
    families = ("Llama", "Mistral", "Qwen2", "Qwen3", "Mixtral", "Gemma2", "Gemma3")
    assert set(ADAPTERS) == {f"{family}DecoderLayer" for family in families}
