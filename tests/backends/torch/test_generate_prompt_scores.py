"""A prompt's own tokens, scored in one pass, have the bits of scoring them one by one."""

from typing import Any

import numpy as np
import pytest
import torch

from sonde.backends.base import FromVector, GenerateRequest, PromptToken, Row, write_at
from sonde.backends.torch import generate as module
from sonde.backends.torch.backend import TorchBackend
from sonde.errors import BadRequest, EngineError
from sonde.schema import CLASSIC_HOOKS
from tests.architectures import VOCABULARY, WIDTH
from tests.backends.torch.tiny import prepared, prompt, scores, tiny_backend, vector


def scored(backend: TorchBackend, tokens: list[int], top: int = 0) -> tuple[PromptToken, ...]:
    request = GenerateRequest(tuple(tokens), 1, prompt_logprobs=top)
    return next(iter(backend.generate(request))).prompt


def everything(backend: TorchBackend, tokens: list[int]) -> np.ndarray:
    """Log-probabilities of the whole vocabulary after a prompt."""
    return scores(backend, tokens, [Row()], range(VOCABULARY))[0]


@pytest.mark.parametrize("name", ["llama", "gemma2", "qwen3_moe", "gpt2"])
@pytest.mark.parametrize("n_tokens", [2, 17, 40])
def test_13_every_token_has_the_bits_of_a_prompt_that_ends_before_it(
    name: str, n_tokens: int
) -> None:
    backend, tokens = prepared(name)[0], prompt(n_tokens, 1)
    found = scored(backend, tokens, 3)
    assert [each.token for each in found] == tokens[1:]
    for i, each in enumerate(found, start=1):
        told = everything(backend, tokens[:i])
        best = np.argsort(-told, kind="stable")[:3]
        assert each.logprob == told[tokens[i]]
        assert each.likeliest == {int(token): told[token] for token in best}
        assert each.rank == 1 + int((told > told[tokens[i]]).sum())


@pytest.mark.parametrize("name", ["jamba", "lfm2"])
def test_13_recurrent_models_score_their_prompts_too(name: str) -> None:
    backend, tokens = prepared(name)[0], prompt(20, 1)
    assert backend.describe().path == "whole_sequence"
    for i, each in enumerate(scored(backend, tokens), start=1):
        told = everything(backend, tokens[:i])[tokens[i]]
        assert each.logprob == pytest.approx(told, abs=1e-4)


@pytest.mark.parametrize("hook", CLASSIC_HOOKS)
def test_13_patches_of_recurrent_models_act_on_the_tokens_after_them(hook: str) -> None:
    backend, tokens = prepared("lfm2")[0], prompt(9, 1)
    for layer in (0, backend.describe().n_layers - 1):
        patch = write_at(hook, layer, 4, FromVector(vector(WIDTH)))  # type: ignore[arg-type]
        request = GenerateRequest(tuple(tokens), 1, (patch,), prompt_logprobs=0)
        (made,) = backend.generate(request)
        for i, each in enumerate(made.prompt, start=1):
            row = Row((patch,) if i > 4 else ())
            told = scores(backend, tokens[:i], [row], [tokens[i]])[0, 0]
            assert each.logprob == pytest.approx(told, abs=1e-4)


def test_13_a_prompt_of_one_token_has_nothing_to_score() -> None:
    assert scored(prepared()[0], prompt(1, 1)) == ()


def test_13_how_many_rows_are_done_at_a_time_changes_no_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend, tokens = prepared()[0], prompt(30, 1)
    whole = scored(backend, tokens, 5)
    for rows in (1, 7, 29):
        monkeypatch.setattr(module, "CPU_ROWS", rows)
        assert scored(backend, tokens, 5) == whole


def test_13_of_equally_likely_tokens_the_ranks_are_as_they_are_listed() -> None:
    logprobs = torch.log(torch.tensor([[0.3, 0.3, 0.2, 0.2]]))
    (first,) = module._scored(logprobs, [1], 2)
    assert set(first.likeliest) == {0, 1}
    assert first.rank == list(first.likeliest).index(1) + 1
    (last,) = module._scored(logprobs, [3], 1)
    assert last.rank == 4


def test_13_what_is_not_finite_is_an_error_that_says_where() -> None:
    backend, tokens = tiny_backend(), prompt(9, 1)
    patch = write_at("post_block", 2, 3, FromVector(vector(WIDTH)), alpha=1e300)
    with pytest.raises(BadRequest, match="not finite: the patches write"):
        list(backend.generate(GenerateRequest(tuple(tokens), 1, (patch,), prompt_logprobs=0)))
    norm: Any = backend._model.get_submodule("model.norm")
    norm.register_forward_hook(lambda _m, _a, out: out * float("nan"))
    with pytest.raises(EngineError, match="not finite; load the model"):
        scored(backend, tokens)


def test_13_a_model_that_looks_ahead_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = tiny_backend()
    monkeypatch.setattr(backend._model.config, "is_causal", False, raising=False)
    with pytest.raises(BadRequest, match="prompt_logprobs: this model's attention is not causal"):
        scored(backend, prompt(9, 1))


@pytest.mark.parametrize("count", [-1, VOCABULARY + 1])
def test_13_more_than_the_vocabulary_is_refused(count: int) -> None:
    with pytest.raises(BadRequest, match=f"prompt_logprobs is {count}; it is from 0 to"):
        scored(prepared()[0], prompt(9, 1), count)
