"""Weights that change under a model are noticed, and nothing made of the old ones is used."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from sonde.backends.base import FromRun, GenerateRequest, Row, write_at
from sonde.backends.torch import backend as backend_module
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.loading import fingerprint as fingerprint_module
from sonde.backends.torch.loading.fingerprint import fingerprint
from sonde.backends.torch.loading.load import load_model
from sonde.backends.torch.loading.weights import MOST, WatchedWeights
from sonde.errors import BadRequest, StaleSourceRun, WeightsChanged
from sonde.model import Model
from tests.architectures import ARCHITECTURES
from tests.backends.torch.tiny import (
    asked,
    at_most,
    backend_of,
    baseline,
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
from tests.backends.torch.writing import (
    WRITES,
    Write,
    a_training_step,
    an_uncounted_write,
    other_memory,
    repeated,
)
from tests.tiny_model import SENTENCES, save_tiny_model, tiny_llama


def watched(model: nn.Module) -> WatchedWeights:
    return WatchedWeights(model, fingerprint(model))


@pytest.mark.parametrize("write", WRITES)
def test_02_a_change_is_noticed_once_and_named(write: Write) -> None:
    model = tiny_llama().requires_grad_(False)
    weights = watched(model)
    before = weights.fingerprint
    assert (weights.notice(), weights.notice()) == (0, 0)

    write(model)

    assert (weights.notice(), weights.notice()) == (1, 1)
    assert weights.fingerprint == fingerprint(model) != before


def test_a_write_that_changes_nothing_is_no_change() -> None:
    model = tiny_llama().requires_grad_(False)
    weights = watched(model)
    model.get_input_embeddings().weight.mul_(1)
    assert weights.notice() == 0


def test_the_same_weights_elsewhere_have_the_same_name_and_are_a_change() -> None:
    model = tiny_llama().requires_grad_(False)
    weights = watched(model)
    before = weights.fingerprint
    for weight in model.parameters():
        weight.data = weight.data.clone()
    assert weights.notice() == 1
    assert weights.fingerprint == before


def test_what_is_put_back_has_its_name_back() -> None:
    model = tiny_llama().requires_grad_(False)
    weights, state = watched(model), copy.deepcopy(model.state_dict())
    before = weights.fingerprint
    an_uncounted_write(model)
    assert weights.notice() == 1
    model.load_state_dict(state)
    assert weights.notice() == 2
    assert weights.fingerprint == before


def test_without_samples_only_counted_writes_are_noticed() -> None:
    model = tiny_llama().requires_grad_(False)
    weights = watched(model)
    an_uncounted_write(model)
    assert weights.notice(samples=False) == 0
    model.get_input_embeddings().weight.mul_(1.5)
    assert weights.notice(samples=False) == 1


def test_a_stored_buffer_counts_and_a_computed_one_does_not() -> None:
    module = nn.Linear(4, 4)
    module.register_buffer("stored", torch.ones(4))
    module.register_buffer("computed", torch.ones(4), persistent=False)
    weights = watched(module)
    module.get_buffer("computed").mul_(2)
    assert weights.notice() == 0
    module.get_buffer("stored").mul_(2)
    assert weights.notice() == 1


@pytest.mark.parametrize(
    "weight",
    [
        torch.ones(3),
        torch.ones(7, 300).T,
        torch.ones(4, 5, 6).permute(2, 0, 1),
        torch.ones(40, 40, dtype=torch.bfloat16),
        torch.ones(40, 40, dtype=torch.complex64),
        torch.ones(40, 40, dtype=torch.int8),
        torch.tensor(1.0),
    ],
)
def test_weights_of_any_shape_and_type_are_sampled(weight: torch.Tensor) -> None:
    module = nn.Module()
    module.register_parameter("weight", nn.Parameter(weight, requires_grad=False))
    module.register_parameter("empty", nn.Parameter(torch.zeros(0, 3)))
    weights = watched(module)
    module.get_parameter("weight").data.add_(1)
    assert weights.notice() == 1


def test_gaps_and_weights_made_for_inference_are_watched_by_their_place() -> None:
    module = nn.Module()
    with torch.inference_mode():
        module.register_buffer("made", torch.ones(3))
    module.register_buffer("gaps", torch.ones(6, 6)[::2, ::2])
    weights = watched(module)
    assert weights.notice() == 0
    module.gaps = torch.zeros(3, 3)
    assert weights.notice() == 1


def test_no_more_is_sampled_than_one_thread_takes() -> None:
    module = nn.ParameterList([nn.Parameter(torch.zeros(100)) for _ in range(3000)])
    assert sum(len(samples) for samples in watched(module)._samples) <= MOST


def test_a_counted_write_outside_the_sample_of_a_large_model_changes_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fingerprint_module, "FULL_BYTES", 100)
    monkeypatch.setattr(fingerprint_module, "SAMPLED_WEIGHTS", 100)
    model = tiny_llama().requires_grad_(False)
    weights = watched(model)
    before = weights.fingerprint
    model.get_input_embeddings().weight[0, 1] += 1
    assert fingerprint(model) == before
    assert weights.notice() == 1
    assert weights.fingerprint != before


def edited(write: Write, name: str = "llama") -> tuple[TorchBackend, TorchBackend]:
    """A backend that has worked before its weights changed, and one that began with the new."""
    backend, other = tiny_backend(name), ARCHITECTURES[name].build()
    clean, corrupt = pair_of_prompts(9)
    captured(backend, "old", clean)
    scores(backend, corrupt, from_run("old", sites(backend, 9)[::7]))
    repeated(write, backend._model)
    repeated(write, other).load_state_dict(backend._model.state_dict())
    return backend, backend_of(other)


@pytest.mark.parametrize("write", WRITES)
def test_02_after_a_change_everything_is_computed_with_the_new_weights(write: Write) -> None:
    backend, fresh = edited(write)
    clean, corrupt = pair_of_prompts(9)
    for each in (backend, fresh):
        captured(each, "new", clean)
    rows = from_run("new", sites(fresh, 9)[::3]) + from_vector(vector(32), sites(fresh, 9)[::11])

    assert np.array_equal(scores(backend, corrupt, rows), scores(fresh, corrupt, rows))
    assert backend.describe().weights == fresh.describe().weights
    assert backend.describe().exact
    request = GenerateRequest(tuple(clean), max_tokens=4)
    assert list(backend.generate(request)) == list(fresh.generate(request))


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("generation", [None, 1])
def test_02_a_run_of_the_old_weights_is_refused_by_name(
    write: Write, generation: int | None
) -> None:
    backend = tiny_backend()
    tokens = prompt(9, 1)
    captured(backend, "old", tokens)
    before = backend.describe().weights
    write(backend._model)
    patch = write_at("pre_attn", 0, 0, FromRun("old", (0,), generation))

    with pytest.raises(StaleSourceRun, match=f"'old' was captured under weights {before}.*again"):
        scores(backend, tokens, [Row((patch,))])
    with pytest.raises(StaleSourceRun, match="'old'"):
        list(backend.generate(GenerateRequest(tuple(tokens), writes=(patch,))))


@pytest.mark.parametrize("name", ["gpt2", "gemma2", "qwen3_moe"])
def test_so_it_is_for_other_kinds_of_layers(name: str) -> None:
    backend, fresh = edited(an_uncounted_write, name)
    for tokens in pair_of_prompts(9):
        assert np.array_equal(baseline(backend, tokens), baseline(fresh, tokens))


def test_a_reader_that_is_kept_reads_the_new_weights() -> None:
    backend, ids = tiny_backend(), torch.tensor([prompt(9, 1)])
    reader = backend.reader
    before = reader.cross_entropy(ids)
    an_uncounted_write(backend._model)
    other = ARCHITECTURES["llama"].build()
    an_uncounted_write(other)
    fresh = backend_of(other).reader
    assert reader.cross_entropy(ids).equal(fresh.cross_entropy(ids))
    assert not reader.cross_entropy(ids).equal(before)
    found, expected = (each.activations(ids, "post_block", [1])[1] for each in (reader, fresh))
    assert found.equal(expected)


def test_a_model_that_was_given_back_its_own_attention_is_swept_as_before() -> None:
    backend, tokens = tiny_backend(), prompt(9, 1)
    before = baseline(backend, tokens)
    backend._model.set_attn_implementation("eager")
    backend.forget()
    assert np.array_equal(baseline(backend, tokens), before)


def test_a_model_that_is_trained_before_it_is_used_says_its_weights(tmp_path: Path) -> None:
    loaded = load_model(str(save_tiny_model(tmp_path)), device="cpu")
    an_uncounted_write(loaded.model)
    assert TorchBackend(loaded).describe().weights == fingerprint(loaded.model)


@pytest.mark.parametrize("write", [a_training_step, an_uncounted_write, other_memory])
def test_a_change_while_scores_are_made_is_refused(write: Write) -> None:
    backend = tiny_backend()
    at_most(backend, 16)
    rows = from_vector(vector(32), sites(backend, 9))
    parts = backend.score([asked(prompt(9, 1), rows)])
    next(parts)
    write(backend._model)
    with pytest.raises(WeightsChanged, match="repeat the request"):
        list(parts)
    assert len(scores(backend, prompt(9, 1), rows)) == len(rows)


def test_a_change_while_tokens_are_made_is_refused() -> None:
    backend = tiny_backend()
    made = backend.generate(GenerateRequest(tuple(prompt(9, 1)), max_tokens=4))
    next(made)
    an_uncounted_write(backend._model)
    with pytest.raises(WeightsChanged):
        list(made)


def test_weights_that_became_nan_are_named() -> None:
    backend = tiny_backend()
    backend._model.get_input_embeddings().weight.data.fill_(float("nan"))
    with pytest.raises(BadRequest, match=r"embed_tokens\.weight has a NaN"):
        baseline(backend, prompt(9, 1))


def test_a_model_left_in_training_mode_is_refused() -> None:
    backend = tiny_backend()
    backend._model.train()
    with pytest.raises(BadRequest, match=r"training mode.*eval\(\)"):
        baseline(backend, prompt(9, 1))
    backend._model.eval()
    baseline(backend, prompt(9, 1))


def test_nothing_is_made_again_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = tiny_backend()

    def never(*_args: object, **_options: object) -> None:
        raise AssertionError("made again")

    monkeypatch.setattr(backend_module, "choose_path", never)
    monkeypatch.setattr("sonde.backends.torch.loading.weights.fingerprint", never)
    captured(backend, "run", prompt(9, 1))
    scores(backend, prompt(9, 2), from_run("run", sites(backend, 9)))


@pytest.mark.parametrize("write", [a_training_step, an_uncounted_write])
def test_02_a_sweep_after_a_change_says_the_new_weights(write: Write) -> None:
    model = Model(backend_of(tiny_llama().requires_grad_(False)))
    asked: dict[str, Any] = {
        "clean": SENTENCES[0],
        "corrupt": SENTENCES[1],
        "answer": 5,
        "pairing": "last",
    }
    first = model.sweep(**asked, source_run="kept", keep_source=True)
    assert isinstance(model.backend, TorchBackend)
    write(model.backend._model)

    with pytest.raises(StaleSourceRun, match=r"'kept'.*drop it and pass clean_prompt"):
        model.sweep(**asked, source_run="kept")
    second = model.sweep(**asked)
    assert second.provenance.weights == fingerprint(model.backend._model)
    assert second.provenance.weights != first.provenance.weights
    assert model.backend.drop("kept")
    assert model.sweep(**asked, source_run="kept").provenance.weights == second.provenance.weights


@pytest.mark.parametrize("source", [{"source_module": "zeros"}, {"clean": SENTENCES[1]}])
def test_02_a_sweep_during_which_weights_changed_has_no_result(source: dict[str, Any]) -> None:
    backend = backend_of(tiny_llama().requires_grad_(False))
    model = Model(backend)
    request = model.request(corrupt=SENTENCES[0], answer=5, pairing="last", **source)
    events = model.events(request)
    next(events)
    an_uncounted_write(backend._model)

    with pytest.raises(WeightsChanged, match="repeat the request"):
        list(events)
    assert model.run(request).provenance.weights == fingerprint(backend._model)
    assert backend.manifests() == {}
