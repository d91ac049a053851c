"""Models that are not all plain attention take whole sequences, say so, and are as exact."""

import re
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch

from sonde.backends.base import FromRun, GenerateRequest, Row, write_at
from sonde.backends.torch import whole
from sonde.backends.torch.loading.description import UNLIMITED
from sonde.engine.tables import sweep_table
from sonde.errors import HookNeverFired, UnknownHook
from sonde.schema import HEAD_HOOKS
from sonde.schema.table import SweepRequest
from tests.architectures import ARCHITECTURES, WHOLE, WIDTH, Architecture, Parts
from tests.backends.torch.reference import Edit, Reference
from tests.backends.torch.tiny import (
    IDS,
    at_most,
    backend_of,
    baseline,
    captured,
    from_run,
    from_vector,
    pair_of_prompts,
    prepared,
    prompt,
    scores,
    sites,
    tiny_backend,
    vector,
)

each_architecture = pytest.mark.parametrize("name", WHOLE)
N_TOKENS = 18
REASONS = {
    "mamba": r"layer 0 \(MambaBlock\) is not plain attention",
    "jamba": r"layer 0 \(JambaMambaDecoderLayer\) is not plain attention",
    "lfm2": r"layer 0 \(Lfm2DecoderLayer\) is not plain attention",
    "qwen3_next": r"layer 0 \(Qwen3NextDecoderLayer\) is not plain attention",
    "bloom": "its attention cannot be replaced by name",
}


@each_architecture
def test_the_description_says_that_it_is_so_and_why(name: str) -> None:
    model = prepared(name)[0].describe()

    assert model.path == "whole_sequence"
    assert model.path_reason is not None
    assert re.fullmatch(REASONS[name], model.path_reason)
    assert model.exact
    assert tuple(model.hooks) == ARCHITECTURES[name].hooks


@each_architecture
def test_cells_equal_an_ordinary_hooked_forward_pass(name: str) -> None:
    backend, reference = prepared(name)
    clean, corrupt = pair_of_prompts(N_TOKENS)
    run = captured(backend, "clean", clean)
    where = [site for site in sites(backend, N_TOKENS) if site[2] in (0, 7, 15, 16, 17)]
    values = {hook: reference.activations(clean, hook) for hook in backend.describe().hooks}
    cells = [[Edit(h, layer, p, values[h][layer, p])] for h, layer, p in where]

    found = scores(backend, corrupt, from_run(run, where))

    expected = reference.logprobs(corrupt, cells, IDS).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    assert np.abs(found - baseline(backend, corrupt)).max() > 0.1


@each_architecture
def test_controls_have_the_bits_of_the_baseline(name: str) -> None:
    backend, _ = prepared(name)
    clean, corrupt = pair_of_prompts(9)
    run, own = captured(backend, "clean", clean), captured(backend, "own", corrupt)
    where = sites(backend, 9)[::2]
    rows = from_run(own, where, computed=True) + [Row(computed=True)]
    rows += from_run(run, where, computed=True, alpha=0.0)

    assert (scores(backend, corrupt, rows) == baseline(backend, corrupt)).all()


@each_architecture
def test_patching_every_position_of_a_layer_reproduces_the_clean_run(name: str) -> None:
    backend, _ = prepared(name)
    clean, corrupt = pair_of_prompts(9)
    run = captured(backend, "clean", clean)
    rows = [
        Row(tuple(write_at("pre_attn", layer, p, FromRun(run, (p,))) for p in range(9)))
        for layer in range(backend.describe().n_layers)
    ]

    assert (scores(backend, corrupt, rows) == baseline(backend, clean)).all()


@pytest.mark.parametrize("name", ["mamba", "jamba"])
def test_a_cell_has_the_same_bits_alone_and_in_any_chunking(name: str) -> None:
    backend = tiny_backend(name)
    clean, corrupt = pair_of_prompts(9)
    rows = from_run(captured(backend, "clean", clean), sites(backend, 9)[::3])
    together = scores(backend, corrupt, rows)

    at_most(backend, 20)
    assert (scores(backend, corrupt, rows) == together).all()
    alone = np.stack([scores(backend, corrupt, [row])[0] for row in rows[::4]])
    assert (alone == together[::4]).all()


def test_an_mlp_that_mixes_positions_is_reached_from_all_of_them() -> None:
    """In RWKV the last layer's MLP at the last position reads the position before it."""
    rwkv = Architecture("rwkv", "RwkvConfig", {}, Parts("rwkv.blocks", mlp=("feed_forward",)))
    backend, reference = backend_of(rwkv.build()), Reference(rwkv.build(), rwkv.parts)
    tokens, values = prompt(9, 1), vector(WIDTH)

    found = scores(backend, tokens, from_vector(values, [("mlp_in", 2, 7)]))

    edit = Edit("mlp_in", 2, 7, torch.from_numpy(values))
    expected = reference.logprobs(tokens, [[edit]], IDS).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    assert np.abs(found - baseline(backend, tokens)).max() > 1e-3


def test_greedy_completion_is_the_models_own() -> None:
    backend, reference = prepared("jamba")
    tokens = prompt(9, 1)
    expected = reference.model.generate(
        torch.tensor([tokens]),
        max_new_tokens=8,
        do_sample=False,
        eos_token_id=None,
        use_cache=False,
    )[0, 9:].tolist()

    found = backend.generate(GenerateRequest(tuple(tokens), max_tokens=8))

    assert [made.token for made in found] == expected


def test_a_patch_at_a_generated_position_acts_from_there_on() -> None:
    backend, reference = prepared("lfm2")
    tokens, values = prompt(9, 1), vector(WIDTH)
    patch = from_vector(values, [("post_block", 0, 10)])[0].writes

    made = list(backend.generate(GenerateRequest(tuple(tokens), 4, patch, logprob_ids=IDS)))

    realised = tokens + [each.token for each in made]
    edit = Edit("post_block", 0, 10, torch.from_numpy(values))
    for step, each in enumerate(made):
        edits = [edit] if 9 + step > 10 else []
        expected = reference.logprobs(realised[: 9 + step], [edits], IDS)[0].tolist()
        assert [each.logprobs[i] for i in IDS] == pytest.approx(expected, abs=1e-4)


@each_architecture
def test_hooks_of_heads_are_refused_by_name_with_the_reason_why(name: str) -> None:
    """Layers without plain attention have no heads that all of them share."""
    backend, _ = prepared(name)
    model = backend.describe()
    assert model.heads is None
    for hook in HEAD_HOOKS:
        asked = SweepRequest(corrupt=[5, 6], answer=[7], hooks=[hook], source="zero")
        calls: list[Callable[[], object]] = [
            partial(list, sweep_table(backend, asked)),
            partial(backend.capture, "clean", prompt(9, 1), [hook], [0], [0]),
        ]
        for refused in calls:
            with pytest.raises(UnknownHook, match=f"'{hook}' is not injectable") as caught:
                refused()
            assert str(model.path_reason) in str(caught.value)
            assert str(sorted(model.hooks)) in str(caught.value)


def test_a_recurrent_model_has_no_longest_prompt() -> None:
    backend, _ = prepared("mamba")

    assert backend.describe().max_tokens == UNLIMITED
    assert np.isfinite(baseline(backend, prompt(100, 1))).all()


def test_a_prompt_that_fills_the_model_is_not_padded_beyond_it() -> None:
    """The first GPT's positions are learned: there is none to give to padding."""
    gpt = Architecture("gpt", "OpenAIGPTConfig", {"max_position_embeddings": 30})
    backend, model = backend_of(gpt.build()), gpt.build()
    assert backend.describe().path == "whole_sequence"
    tokens = prompt(30, 1)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0, -1]

    found = baseline(backend, tokens)

    np.testing.assert_allclose(found, logits.log_softmax(-1)[list(IDS)].numpy(), rtol=0, atol=1e-4)


def test_a_patch_whose_module_never_ran_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    backend, reference = backend_of(ARCHITECTURES["lfm2"].build()), prepared("lfm2")[1]
    row = from_vector(vector(WIDTH), [("mlp_out", 1, 4)])[0]
    scores(backend, prompt(9, 1), [row])
    layer = backend._path.layout.sites[1].layer
    assert type(layer) is type(reference.parts.layers_of(reference.model)[1])

    def without_mlp(hidden_states: torch.Tensor, **_kwargs: object) -> torch.Tensor:
        return hidden_states

    monkeypatch.setattr(layer, "forward", without_mlp)
    with pytest.raises(HookNeverFired, match="0 of 1 patches at mlp_out were applied"):
        scores(backend, prompt(9, 1), [row])


def test_every_batch_has_the_same_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    backend, _ = prepared("mamba")
    shapes = set()
    original = whole.WholeRun._call

    def spied(self: whole.WholeRun, layer: int, rows: torch.Tensor, writes: object) -> object:
        shapes.add(tuple(rows.shape))
        return original(self, layer, rows, writes)  # type: ignore[arg-type]

    monkeypatch.setattr(whole.WholeRun, "_call", spied)
    for count in (1, 8, 11):
        scores(backend, prompt(9, 1), [Row(computed=True)] * count)

    assert shapes == {(whole.BATCH * 16, WIDTH)}
