"""What is loaded, and what a run of it takes."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from sonde.backends.vllm.facts import Facts, facts_of, united_weights
from sonde.schema import HOOKS


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


def facts(**options: Any) -> Facts:
    replies = [
        {"stage": stage, "share": share, "weights": f"{stage}{share}", "device": "cpu"}
        for stage in range(2)
        for share in range(3)
    ]
    return facts_of("m", config(**options), replies, [7])


def test_the_description_says_what_is_loaded() -> None:
    model = facts().description
    assert (model.backend, model.n_layers, model.width, model.vocabulary) == ("vllm", 4, 10, 99)
    assert (model.dtype, model.device, model.end_ids) == ("bfloat16", "cpu", [7])
    assert model.hooks == list(HOOKS)
    assert not model.exact
    assert model.path_reason is not None


def test_a_prompt_leaves_room_for_the_token_that_vllm_samples() -> None:
    assert facts().description.max_tokens == 63


def test_a_runs_bytes_are_those_of_all_ranks() -> None:
    one = (4 + 2) * 10 * 2 * 5  # the stream in float32, a branch in bfloat16
    assert facts().kept_bytes(["post_block", "mlp_out"], 2, 5) == 3 * one


@pytest.mark.parametrize(("first", "computed"), [(0, 70), (31, 70), (32, 38), (69, 6)])
def test_whole_blocks_below_a_patch_are_not_computed_again(first: int, computed: int) -> None:
    assert facts().computed_tokens(first, 70) == computed
    assert facts(caching=False).computed_tokens(first, 70) == 70


def test_other_weights_on_any_rank_are_other_weights() -> None:
    assert len(united_weights(["a", "b"])) == 16
    assert united_weights(["a", "b"]) != united_weights(["a", "c"])
    assert united_weights(["a", "b"]) != united_weights(["b", "a"])
