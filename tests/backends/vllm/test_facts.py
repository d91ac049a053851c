"""What is loaded, and what a run of it takes."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from sonde.backends.base import Site
from sonde.backends.vllm.facts import Facts, facts_of, united_weights
from sonde.schema import LAYER_HOOKS, HeadShape, Hook, SpecialTokens


def config(*, caching: bool = True, dtype: torch.dtype = torch.bfloat16) -> Any:
    model = SimpleNamespace(
        hf_text_config=SimpleNamespace(num_hidden_layers=4),
        architectures=["LlamaForCausalLM"],
        get_hidden_size=lambda: 10,
        get_vocab_size=lambda: 99,
        max_model_len=64,
        dtype=dtype,
    )
    return SimpleNamespace(
        model_config=model,
        parallel_config=SimpleNamespace(tensor_parallel_size=3, pipeline_parallel_size=2),
        cache_config=SimpleNamespace(block_size=32, enable_prefix_caching=caching),
        scheduler_config=SimpleNamespace(max_num_seqs=128),
    )


HEADS = {"heads": 6, "kv_heads": 3, "key_width": 4, "value_width": 4}


def facts(*, heads: Any = None, hooks: Sequence[Hook] = LAYER_HOOKS, **options: Any) -> Facts:
    replies = [
        {
            "stage": stage, "share": share, "weights": f"{stage}{share}", "device": "cpu",
            "layers": [2 * stage, 2 * stage + 1], "hooks": hooks[stage:],
            "heads": heads,
        }
        for stage in range(2)
        for share in range(3)
    ]  # fmt: skip
    return facts_of("m", config(**options), replies, [7], SpecialTokens(before=[], after=[]))


def test_the_description_says_what_is_loaded() -> None:
    model = facts().description
    assert (model.backend, model.n_layers, model.width, model.vocabulary) == ("vllm", 4, 10, 99)
    assert (model.dtype, model.device, model.end_ids) == ("bfloat16", "cpu", [7])
    assert model.hooks == list(LAYER_HOOKS[1:]), "those that every rank has"
    assert not model.exact
    assert model.path_reason is not None


def test_each_layer_is_on_a_stage() -> None:
    assert facts().stage_of == (0, 0, 1, 1)
    assert facts().stages == 2


def test_a_prompt_leaves_room_for_the_token_that_vllm_samples() -> None:
    assert facts().description.max_tokens == 63


def test_a_runs_bytes_are_those_of_all_ranks() -> None:
    one = (4 + 2) * 10 * 2 * 5  # the stream in float32, a branch in bfloat16
    assert facts().kept_bytes(["post_block", "mlp_out"], 2, 5) == 3 * one


def test_heads_are_counted_where_all_ranks_say_the_same_of_them() -> None:
    hooks: tuple[Hook, ...] = ("mlp_in", "mlp_out", "z", "k")
    model = facts(heads=HEADS, hooks=hooks).description
    assert model.hooks == ["mlp_out", "z", "k"]
    assert model.heads == HeadShape(**HEADS)
    model = facts(hooks=hooks).description
    assert (model.hooks, model.heads) == (["mlp_out"], None)


def test_a_share_keeps_its_own_heads_only() -> None:
    made = facts(heads=HEADS)
    assert made.kept_bytes(["z", "v"], 2, 5) == (6 + 3) * 4 * 2 * 2 * 5, "each head once"
    copied = facts(heads={**HEADS, "kv_heads": 1})
    assert copied.kept_bytes(["v"], 2, 5) == 3 * 4 * 2 * 2 * 5, "the one key head on all shares"


def test_what_a_write_takes_is_beside_it_on_every_rank_that_holds_the_write() -> None:
    made = facts(heads=HEADS)  # shares hold heads 0 and 1, 2 and 3, 4 and 5
    z = [Site("z", 0, (0,), head) for head in range(6)]
    assert made.beside(z[0], z[1])
    assert not made.beside(z[1], z[2])
    assert made.beside(Site("v", 1, (0,), 1), z[3])
    assert not made.beside(Site("z", 2, (0,), 0), z[0]), "on the other stage"
    assert made.beside(Site("mlp_in", 0, (0,)), z[5]), "which all shares hold"
    assert not made.beside(z[0], Site("mlp_in", 0, (0,)))


@pytest.mark.parametrize(("first", "computed"), [(0, 70), (31, 70), (32, 38), (69, 6)])
def test_whole_blocks_below_a_patch_are_not_computed_again(first: int, computed: int) -> None:
    assert facts().computed_tokens(first, 70) == computed
    assert facts(caching=False).computed_tokens(first, 70) == 70


def test_other_weights_on_any_rank_are_other_weights() -> None:
    assert len(united_weights(["a", "b"])) == 16
    assert united_weights(["a", "b"]) != united_weights(["a", "c"])
    assert united_weights(["a", "b"]) != united_weights(["b", "a"])
