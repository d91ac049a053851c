"""Completion is the model's own, with patches where they were asked for."""

import numpy as np
import pytest
import torch

from sonde.backends.base import FromRun, FromVector, GeneratedToken, GenerateRequest, Row, write_at
from sonde.backends.torch.backend import TorchBackend
from sonde.errors import BadRequest, EngineError, HookNeverFired, PositionOutOfRange
from sonde.schema import LAYER_HOOKS, Hook
from tests.architectures import VOCABULARY, WIDTH
from tests.backends.torch.reference import Edit
from tests.backends.torch.tiny import (
    IDS,
    captured,
    prepared,
    prompt,
    scores,
    tiny_backend,
    vector,
)


def complete(backend: TorchBackend, tokens: list[int], **options: object) -> list[GeneratedToken]:
    return list(backend.generate(GenerateRequest(tuple(tokens), **options)))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt2", "qwen3_moe", "gpt_oss", "mistral"])
@pytest.mark.parametrize(
    "n_tokens", [*(pytest.param(n, marks=pytest.mark.slow) for n in (1, 9)), 16]
)
def test_greedy_completion_is_the_models_own(name: str, n_tokens: int) -> None:
    backend, reference = prepared(name)
    tokens = prompt(n_tokens, 1)
    expected = reference.model.generate(
        torch.tensor([tokens]), max_new_tokens=12, do_sample=False, eos_token_id=None
    )[0, n_tokens:].tolist()

    made = complete(backend, tokens, max_tokens=12)

    assert [each.token for each in made] == expected


@pytest.mark.parametrize("name", ["llama", "gemma2"])
def test_log_probabilities_are_those_of_a_full_forward_pass_at_every_step(name: str) -> None:
    backend, reference = prepared(name)
    tokens = prompt(13, 1)

    made = complete(backend, tokens, max_tokens=8, logprob_ids=IDS)

    realised = tokens + [each.token for each in made]
    for step, each in enumerate(made):
        expected = reference.logprobs(realised[: 13 + step], [[]], [*IDS, each.token])[0].tolist()
        found = [*(each.logprobs[i] for i in IDS), each.logprob]
        assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("hook", LAYER_HOOKS)
@pytest.mark.parametrize("layer", [0, 2])
def test_the_first_token_has_the_bits_of_the_same_patch_in_a_sweep(hook: Hook, layer: int) -> None:
    backend, tokens = prepared()[0], prompt(18, 1)
    run = captured(backend, "clean", prompt(18, 2))
    for position in (0, 7, 17):
        patch = write_at(hook, layer, position, FromRun(run, (position,)), 0.7)
        expected = scores(backend, tokens, [Row((patch,))])[0]

        made = complete(backend, tokens, max_tokens=1, writes=(patch,), logprob_ids=IDS)

        assert [made[0].logprobs[i] for i in IDS] == expected.tolist()


@pytest.mark.parametrize("hook", LAYER_HOOKS)
def test_patches_at_generated_positions_act_as_in_a_full_forward_pass(hook: Hook) -> None:
    backend, reference = prepared()
    tokens, values = prompt(14, 1), vector(WIDTH)
    places = [(1, 3), (0, 15), (2, 17)]
    patches = tuple(write_at(hook, layer, p, FromVector(values)) for layer, p in places)
    edits = [Edit(hook, layer, p, torch.from_numpy(values)) for layer, p in places]

    made = complete(backend, tokens, max_tokens=6, writes=patches, logprob_ids=IDS)

    realised = tokens + [each.token for each in made]
    for step, each in enumerate(made):
        length = 14 + step
        reached = [edit for edit in edits if edit.position < length]
        expected = reference.logprobs(realised[:length], [reached], IDS)[0].tolist()
        assert [each.logprobs[i] for i in IDS] == pytest.approx(expected, abs=1e-4)


def test_a_patch_changes_nothing_before_its_position() -> None:
    backend, tokens = prepared()[0], prompt(9, 1)
    patch = write_at("post_block", 0, 11, FromVector(vector(WIDTH) * 10))
    plain = complete(backend, tokens, max_tokens=6)

    patched = complete(backend, tokens, max_tokens=6, writes=(patch,))

    assert patched[:3] == plain[:3]
    assert patched[3].logprob != plain[3].logprob


def test_a_patch_that_generation_ended_before_is_an_error() -> None:
    backend, tokens = prepared()[0], prompt(9, 1)
    first = complete(backend, tokens, max_tokens=2)
    patch = write_at("pre_attn", 0, 10, FromVector(vector(WIDTH)))
    request = {"max_tokens": 3, "writes": (patch,), "stop_ids": frozenset([first[1].token])}

    with pytest.raises(HookNeverFired, match="ended after 2 tokens, before position 10"):
        complete(backend, tokens, **request)


def test_a_patch_beyond_what_can_be_computed_is_refused_before_anything_runs() -> None:
    """The last token is chosen, never read: with 3 to generate, positions 9 and 10 are."""
    backend = prepared()[0]
    patch = write_at("pre_attn", 0, 11, FromVector(vector(WIDTH)))

    with pytest.raises(PositionOutOfRange, match=r"position 11 is out of range \[0, 11\)"):
        complete(backend, prompt(9, 1), max_tokens=3, writes=(patch,))


def test_generation_stops_at_a_stop_token_and_gives_it() -> None:
    backend, tokens = prepared()[0], prompt(9, 1)
    all_of_them = complete(backend, tokens, max_tokens=6)
    stop = all_of_them[2].token

    made = complete(backend, tokens, max_tokens=6, stop_ids=frozenset([stop]))

    assert [each.token for each in made] == [each.token for each in all_of_them[:3]]


def test_sampling_is_repeated_by_its_seed() -> None:
    backend, tokens = prepared()[0], prompt(9, 1)

    def draw(seed: int) -> list[int]:
        made = complete(backend, tokens, max_tokens=10, temperature=1.5, top_p=0.9, seed=seed)
        return [each.token for each in made]

    assert draw(1) == draw(1)
    assert len({tuple(draw(seed)) for seed in range(4)}) > 1


def test_sampling_draws_by_probability() -> None:
    """150 draws: 5 standard deviations away is a chance of 6e-7, and the seeds are fixed."""
    backend, tokens = prepared()[0], prompt(9, 1)
    first = complete(backend, tokens, max_tokens=1)[0]
    p = float(np.exp(first.logprob))
    made = [
        complete(backend, tokens, max_tokens=1, temperature=1.0, seed=seed)[0].token
        for seed in range(150)
    ]

    hits = sum(token == first.token for token in made)

    assert abs(hits - 150 * p) < 5 * np.sqrt(150 * p * (1 - p)) + 1


def test_a_narrow_nucleus_is_greedy() -> None:
    backend, tokens = prepared()[0], prompt(9, 1)
    greedy = complete(backend, tokens, max_tokens=5)

    made = complete(backend, tokens, max_tokens=5, temperature=1.0, top_p=1e-9, seed=3)

    assert [each.token for each in made] == [each.token for each in greedy]


@pytest.mark.parametrize("temperature", [1e-6, 1e-30, 5e-324])
def test_next_to_no_temperature_is_greedy(temperature: float) -> None:
    backend, tokens = prepared()[0], prompt(9, 1)
    greedy = complete(backend, tokens, max_tokens=5)

    made = complete(backend, tokens, max_tokens=5, temperature=temperature, seed=3)

    assert [each.token for each in made] == [each.token for each in greedy]


def test_no_temperature_is_too_high_to_draw() -> None:
    assert len(complete(prepared()[0], prompt(9, 1), max_tokens=5, temperature=1e300)) == 5


def test_no_token_is_drawn_from_what_is_no_distribution() -> None:
    backend, tokens = tiny_backend(), prompt(9, 1)
    patch = write_at("post_block", 0, 8, FromVector(vector(WIDTH)), alpha=1e300)

    with pytest.raises(BadRequest, match="after 9 tokens are not finite: the patches write"):
        complete(backend, tokens, writes=(patch,))

    backend._model.model.norm.register_forward_hook(lambda _m, _a, out: out * float("nan"))
    with pytest.raises(EngineError, match="after 9 tokens are not finite; load the model"):
        complete(backend, tokens)


def test_the_likeliest_tokens_come_with_their_log_probabilities() -> None:
    backend, tokens = prepared()[0], prompt(9, 1)
    everything = scores(backend, tokens, [Row()], range(VOCABULARY))[0]

    made = complete(backend, tokens, max_tokens=1, top_logprobs=4, logprob_ids=(3,))[0]

    best = np.argsort(-everything)[:4]
    assert made.logprobs == {int(i): float(everything[i]) for i in (3, *best)}
    assert (made.token, made.logprob) == (int(best[0]), float(everything[best[0]]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"temperature": -0.1}, "temperature is -0.1"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"top_p": 0.0}, "top_p is 0.0"),
        ({"top_k": -1}, "top_k is -1"),
        ({"min_p": 1.5}, "min_p is 1.5"),
        ({"min_tokens": 17}, "min_tokens is 17; it is from 0 to max_tokens, 16"),
        ({"repetition_penalty": 0.0}, "repetition_penalty is 0.0"),
        ({"repetition_penalty": float("inf")}, "repetition_penalty is inf"),
        ({"stop_ids": frozenset({97})}, "token id 97 is outside"),
        ({"stop_ids": frozenset(range(97)), "min_tokens": 1}, "leaves none to choose"),
        ({"top_logprobs": 98}, "top_logprobs is 98; at most 97"),
        ({"logprob_ids": (97,)}, r"token id 97 is outside the vocabulary \[0, 97\)"),
        ({"logprob_ids": (-1,)}, "token id -1 is outside"),
        ({"max_tokens": 56}, "9 tokens and 56 more to generate; tiny takes at most 64"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        complete(prepared()[0], prompt(9, 1), **options)


def test_closing_the_iterator_stops_the_work() -> None:
    backend = prepared()[0]
    calls: list[int] = []
    layer = backend._path.layout.layers[1]
    handle = layer.register_forward_pre_hook(lambda *_: calls.append(1))
    work = backend.generate(GenerateRequest(tuple(prompt(9, 1)), max_tokens=20))

    next(work)
    work.close()  # type: ignore[attr-defined]
    handle.remove()

    assert len(calls) == 1
