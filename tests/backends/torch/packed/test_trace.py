"""The unpatched run is recorded once, and its numbers do not depend on what ran beside it."""

from functools import cache

import pytest
import torch
from torch import Tensor

from sonde.backends.torch.packed.trace import LayerCall, Trace
from sonde.backends.torch.path import Path, choose_path
from sonde.errors import HookNeverFired
from sonde.schema import LAYER_HOOKS
from tests.architectures import ARCHITECTURES, WIDTH, Architecture
from tests.backends.torch.reference import Reference
from tests.backends.torch.tiny import prepared, prompt


@cache
def path_of(name: str) -> Path:
    """The path of a tiny model that no test changes for good."""
    return choose_path(ARCHITECTURES[name].build())


def same(one: Trace, other: Trace) -> bool:
    """Whether two traces have the same bits everywhere."""
    pairs = [(one.residuals, other.residuals)]
    pairs += [(one.inside[hook], other.inside[hook]) for hook in one.inside]
    pairs += [(one.attention[i], other.attention[i]) for i in one.attention]
    pairs += [(a.keys, b.keys) for a, b in zip(one.keys_values, other.keys_values, strict=True)]
    pairs += [(a.values, b.values) for a, b in zip(one.keys_values, other.keys_values, strict=True)]
    return all(a.equal(b) for a, b in pairs)


@pytest.mark.parametrize("name", ["llama", "gemma3", "olmo2", "gpt2", "mixtral", "jamba"])
@pytest.mark.parametrize(
    "n_tokens", [*(pytest.param(n, marks=pytest.mark.slow) for n in (9, 16)), 37]
)
def test_every_hook_holds_what_an_ordinary_run_has_there(name: str, n_tokens: int) -> None:
    path, reference, tokens = path_of(name), prepared(name)[1], prompt(n_tokens, 1)

    hooks = [hook for hook in LAYER_HOOKS if hook in path.layout.hooks]
    trace = path.record([tokens], hooks)[0]

    for hook in hooks:
        expected = reference.activations(tokens, hook)
        found = trace.at(hook)[:, :n_tokens]
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["llama", "gemma2", "qwen3_moe", "gpt2"])
def test_prompts_run_side_by_side_have_the_bits_of_each_alone(name: str) -> None:
    path = path_of(name)
    prompts = [prompt(9, 1), prompt(37, 2), prompt(16, 3)]

    together = path.record(prompts, LAYER_HOOKS)

    alone = [path.record([tokens], LAYER_HOOKS)[0] for tokens in prompts]
    assert all(same(a, b) for a, b in zip(together, alone, strict=True))


@pytest.mark.parametrize(("name", "kinds"), [("llama", [0, 0, 0]), ("gemma3", [0, 1, 0])])
def test_layers_called_with_the_same_share_what_is_kept_of_it(name: str, kinds: list[int]) -> None:
    """Gemma 3 rotates by one table in layers with a window and by another in the rest."""
    calls = path_of(name).record([prompt(9, 1), prompt(12, 2)], ())[0].calls

    first = [next(i for i, other in enumerate(calls) if other is call) for call in calls]
    assert first == kinds


def test_where_length_changes_the_rotation_prompts_are_run_apart() -> None:
    """LongRoPE has other frequencies for long prompts; a short one beside it must keep its own."""
    long_rope = Architecture(
        "longrope",
        "Phi3Config",
        {
            "rope_parameters": {
                "rope_type": "longrope",
                "rope_theta": 10000.0,
                "short_factor": [1.0] * 4,
                "long_factor": [2.0] * 4,
                "original_max_position_embeddings": 12,
            },
            "original_max_position_embeddings": 12,
        },
    )
    path = choose_path(long_rope.build())
    reference = Reference(long_rope.build(), long_rope.parts)
    short, long = prompt(9, 1), prompt(37, 2)

    for trace in path.record([short, long], ()):
        expected = reference.activations(trace.tokens, "post_block")
        torch.testing.assert_close(trace.at("post_block"), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["llama", "olmo2", "gpt2", "neox_sequential"])
def test_a_block_ends_in_the_sum_of_its_residual_and_its_mlp_branch(name: str) -> None:
    trace = path_of(name).record([prompt(9, 1)], LAYER_HOOKS)[0]

    assert (trace.at("post_attn") + trace.at("mlp_out")).equal(trace.at("post_block"))
    assert trace.at("post_block")[:-1].equal(trace.at("pre_attn")[1:])


def test_the_last_residual_is_the_last_tokens() -> None:
    trace = path_of("llama").record([prompt(9, 1)], ())[0]

    assert trace.last().equal(trace.at("post_block")[-1, 8])


def test_only_hooks_asked_for_are_kept() -> None:
    path = path_of("llama")
    bare, full = path.record([prompt(9, 1)], ())[0], path.record([prompt(9, 1)], LAYER_HOOKS)[0]

    assert bare.inside == {}
    assert bare.attention == {}
    kept = 4 * 9 * WIDTH + 3 * 9 * 2 * 16  # residuals, then keys and values of two heads of eight
    assert bare.nbytes == 4 * kept
    assert full.nbytes == 4 * (kept + 4 * 3 * 9 * WIDTH + 3 * 9 * WIDTH)


def test_a_layer_whose_mlp_did_not_run_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    path = path_of("llama")

    def without_mlp(hidden_states: Tensor, **_kwargs: object) -> Tensor:
        return hidden_states

    monkeypatch.setattr(path.layout.layers[1], "forward", without_mlp)
    with pytest.raises(HookNeverFired, match="mlp_in was reached in 2 of 3 layers"):
        path.record([prompt(9, 1)], ["mlp_in"])


def test_hooks_are_gone_after_a_run() -> None:
    path = path_of("llama")
    path.record([prompt(9, 1)], LAYER_HOOKS)

    modules = path.model.modules()
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in modules)


def test_what_a_layer_was_called_with_is_taken_by_position() -> None:
    table = torch.arange(12.0).view(1, 6, 2)
    call = LayerCall((torch.arange(6), "text"), {"pair": (table, None), "other": torch.ones(5)})

    taken = call.at(lambda rows: rows[[4, 0]], 6)

    assert taken.args[0].tolist() == [4, 0]
    assert taken.args[1] == "text"
    assert taken.kwargs["pair"][0].tolist() == [[[8.0, 9.0], [0.0, 1.0]]]
    assert taken.kwargs["pair"][1] is None
    assert taken.kwargs["other"].shape == (5,)
