"""The torch backend satisfies the identities of any backend, on both of its paths."""

from collections.abc import Callable
from typing import Any

import pytest
from transformers import PreTrainedModel

from sonde.backends.base import Backend, Row
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.loading.fingerprint import fingerprint
from sonde.backends.torch.loading.loaded import Loaded
from sonde.backends.torch.packed import scoring
from sonde.errors import RequestTooLarge
from sonde.schema import LAYER_HOOKS, Hook
from tests.architectures import Architecture
from tests.backends.completing import CompletionIdentities
from tests.backends.torch.tiny import (
    IDS,
    asked,
    at_most,
    captured,
    from_run,
    from_vector,
    pair_of_prompts,
    prompt,
    scores,
    sites,
    tiny_backend,
    vector,
)
from tests.tiny_model import VOCABULARY, tiny_llama, tiny_tokenizer

LFM2 = Architecture(
    "lfm2",
    "Lfm2Config",
    {"layer_types": ["conv", "full_attention", "conv"], "vocab_size": VOCABULARY},
)


def with_tokenizer(model: PreTrainedModel, **options: Any) -> TorchBackend:
    stamp = fingerprint(model)
    loaded = Loaded("tiny", model, tiny_tokenizer(), stamp, "float32", "cpu")
    return TorchBackend(loaded, **options)


class TestPacked(CompletionIdentities):
    @pytest.fixture
    def backend(self) -> Backend:
        return with_tokenizer(tiny_llama(layers=3))

    @pytest.fixture
    def within(self) -> Callable[[int], Backend]:
        return lambda room: with_tokenizer(tiny_llama(layers=3), source_budget=room)


@pytest.mark.slow
class TestPackedInSmallChunks(TestPacked):
    @pytest.fixture
    def backend(self) -> Backend:
        made = with_tokenizer(tiny_llama(layers=3))
        at_most(made, 16)
        return made


@pytest.mark.slow
class TestWholeSequence(CompletionIdentities):
    @pytest.fixture
    def backend(self) -> Backend:
        return with_tokenizer(LFM2.build())

    @pytest.fixture
    def within(self) -> Callable[[int], Backend]:
        return lambda room: with_tokenizer(LFM2.build(), source_budget=room)


def test_a_prompt_is_run_once_for_all_that_is_asked_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = tiny_backend()
    clean, corrupt = pair_of_prompts(9)
    runs: list[int] = []
    original = type(backend._path).record

    def counted(self: object, prompts: list[list[int]], hooks: object) -> object:
        runs.append(len(prompts))
        return original(self, prompts, hooks)  # type: ignore[arg-type]

    monkeypatch.setattr(type(backend._path), "record", counted)
    backend.prepare([clean, corrupt], LAYER_HOOKS)
    run = captured(backend, "clean", clean)
    scores(backend, corrupt, from_run(run, sites(backend, 9)))
    scores(backend, corrupt, [Row()])
    scores(backend, clean, [Row()])

    assert runs == [2]


def test_more_prompts_than_are_remembered_can_be_prepared_at_once() -> None:
    backend = tiny_backend()
    prompts = [prompt(9, seed) for seed in range(4)]

    backend.prepare(prompts, LAYER_HOOKS)

    assert len(backend._traces) == len(prompts)
    assert all(backend._traces[tuple(tokens)].lengths == (len(tokens),) for tokens in prompts)


def test_a_remembered_prompt_is_run_again_when_more_hooks_are_wanted() -> None:
    backend, tokens = tiny_backend(), prompt(9, 1)
    before = scores(backend, tokens, [Row()])
    assert not backend._traces[tuple(tokens)].inside

    run = captured(backend, "own", tokens)

    assert (
        scores(backend, tokens, from_run(run, sites(backend, 9), computed=True)) == before
    ).all()


def test_a_run_too_large_for_the_store_is_refused_before_it_is_captured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = tiny_backend(source_budget=1000)
    monkeypatch.setattr(backend, "prepare", None)  # running the prompt would be a TypeError

    with pytest.raises(RequestTooLarge, match="raise source_budget"):
        backend.capture("clean", prompt(9, 1), LAYER_HOOKS, [0, 1, 2], range(9))


def test_the_size_checked_beforehand_is_the_size_stored() -> None:
    backend = tiny_backend()
    run = backend.capture("clean", prompt(9, 1), LAYER_HOOKS, [0, 2], [1, 3, 5])

    assert run.bytes == len(LAYER_HOOKS) * 2 * 3 * 32 * 4


def test_the_cost_is_the_work_of_the_suffixes() -> None:
    backend, tokens = tiny_backend(), prompt(9, 1)
    places: list[tuple[Hook, int, int]] = [
        ("pre_attn", 0, 0),  # 3 layers of 9 tokens
        ("mlp_in", 1, 7),  # 1 token alone, then a layer of 2
        ("mlp_in", 2, 3),  # out of sight
    ]

    cost = backend.cost([asked(tokens, from_vector(vector(0), places))])

    assert (cost.computed_rows, cost.token_layers, cost.chunks) == (2, 3 * 9 + 1 + 2, 1)
    assert cost.seconds > 0


def test_the_cost_runs_no_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = tiny_backend(memory_budget=2**30)
    scores(backend, prompt(9, 1), [Row()])

    def refuse(*_: object) -> None:
        raise AssertionError("a cell was run")

    monkeypatch.setattr(scoring, "start_chunk", refuse)
    rows = from_vector(vector(0), sites(backend, 9))
    assert backend.cost([asked(prompt(9, 1), rows)]).chunks >= 1


def test_the_speed_is_learnt_from_the_work_done() -> None:
    backend = tiny_backend()
    clean, corrupt = pair_of_prompts(37)
    before = backend._scorer._rate
    scores(backend, corrupt, from_run(captured(backend, "clean", clean), sites(backend, 37)))

    assert backend._scorer._rate != before


def test_special_tokens_have_empty_intervals_and_no_text() -> None:
    backend = with_tokenizer(tiny_llama())
    text = "<|end|>The Colosseum"

    assert backend.detokenize(backend.tokenize(text)) == "The Colosseum"
    assert backend.offsets(text)[0] == (0, 0)
    assert backend.offsets(text)[1] == (7, 10)


def test_a_tokenizer_that_reports_no_offsets_is_asked_to_decode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = with_tokenizer(tiny_llama())
    text = "The Colosseum is in Rome"
    expected = backend.offsets(text)
    monkeypatch.setattr(type(backend._loaded.tokenizer), "is_fast", False)

    assert backend.offsets(text) == expected


def test_rows_over_many_ids_are_graded_for_each() -> None:
    backend, tokens = tiny_backend(), prompt(9, 1)

    both = scores(backend, tokens, [Row()], [*IDS, 7, 5])

    assert (both[0, :2] == scores(backend, tokens, [Row()])[0]).all()
    assert both[0, 3] == both[0, 0]
