"""The promises of the engine, kept on the real default model with all its threads."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from sonde import PAIRS, Model
from sonde.backends.base import FromRun, GenerateRequest, Row, write_at
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.packed.memory import peak_bytes
from sonde.prompts import DemoPair, align
from sonde.results import Sweep
from sonde.schema import LAYER_HOOKS, Hook
from tests.architectures import Parts
from tests.backends.torch.reference import Edit, Reference
from tests.backends.torch.tiny import at_most, baseline, captured, from_run, scores, sites

pytestmark = pytest.mark.slow
MAX_ERROR = 1e-4
"""In log-probability."""


@pytest.fixture(scope="module")
def reference(smollm2: Model) -> Reference:
    """The same weights in a model of their own, with its own attention."""
    backend: Any = smollm2.backend
    model = AutoModelForCausalLM.from_pretrained(
        backend.directory, attn_implementation="eager", dtype=torch.float32
    )
    return Reference(model.eval(), Parts())


@pytest.fixture
def backend(smollm2: Model) -> Iterator[TorchBackend]:
    """The backend itself, given back as it was."""
    made = smollm2.backend
    assert isinstance(made, TorchBackend)
    scorer = made._scorer
    path, budget = scorer._path, scorer._budget
    yield made
    scorer._path, scorer._budget = path, budget
    for run in made.manifests():
        made.drop(run)


def prompts(backend: TorchBackend) -> tuple[list[int], list[int]]:
    pair = PAIRS["eiffel"]
    return backend.tokenize(pair.clean), backend.tokenize(pair.corrupt)


def swept(model: Model, pair: DemoPair, **options: Any) -> Sweep:
    return model.sweep(
        clean=pair.clean, corrupt=pair.corrupt, answer=pair.answer, hooks=LAYER_HOOKS, **options
    )


def hooked(
    reference: Reference, model: Model, pair: DemoPair, result: Sweep, first: int, **pairing: Any
) -> dict[Hook, np.ndarray]:
    """The same grids from position `first` on, one ordinary forward pass a cell."""
    tokenize = model.backend.tokenize
    clean, corrupt = tokenize(pair.clean), tokenize(pair.corrupt)
    answer = tokenize(pair.answer, special=False)
    sources = align(clean, corrupt, **pairing).sources
    columns = [p for p in result.positions if p >= first]
    grids: dict[Hook, np.ndarray] = {}
    for hook in LAYER_HOOKS:
        values = reference.activations(clean, hook)
        cells = [
            [Edit(hook, layer, p, values[layer, list(sources[p])].mean(0))]
            for layer in range(len(values))
            for p in columns
        ]
        found = reference.logprobs(corrupt, cells, answer)
        grids[hook] = found.numpy().reshape(len(values), len(columns))
    return grids


def test_a_full_grid_at_all_hooks_equals_an_ordinary_hooked_forward_pass(
    smollm2: Model, reference: Reference
) -> None:
    pair = PAIRS["eiffel"]
    result = swept(smollm2, pair)

    expected = hooked(reference, smollm2, pair, result, 0)

    assert len(expected) == len(LAYER_HOOKS)
    for hook, grid in expected.items():
        assert grid.shape == (30, 9)
        np.testing.assert_allclose(result.grids[hook], grid, rtol=0, atol=MAX_ERROR)


def test_prompts_of_unequal_length_do_too(smollm2: Model, reference: Reference) -> None:
    """Before the prompts differ, a cell is the baseline to the bit."""
    pair, pairing = PAIRS["britain"], "proportional"
    result = swept(smollm2, pair, pairing=pairing)
    clean, corrupt = (smollm2.backend.tokenize(text) for text in (pair.clean, pair.corrupt))
    assert len(clean) != len(corrupt)
    assert len(result.positions) == len(corrupt)
    first = next(i for i, (a, b) in enumerate(zip(clean, corrupt, strict=False)) if a != b)

    expected = hooked(reference, smollm2, pair, result, first, pairing=pairing)

    for hook, grid in expected.items():
        np.testing.assert_allclose(
            result.grids[hook][:, -grid.shape[1] :], grid, rtol=0, atol=MAX_ERROR
        )
        assert (result.grids[hook][:, : -grid.shape[1]] == result.corrupt).all()


def test_one_hook_swept_alone_has_the_bits_it_has_among_five(smollm2: Model) -> None:
    """Alone, its cells are shared out over the cores; among patches inside layers they are not."""
    together = swept(smollm2, PAIRS["eiffel"])
    pair = PAIRS["eiffel"]
    for hook in ("pre_attn", "post_block", "mlp_out"):
        alone = smollm2.sweep(
            clean=pair.clean, corrupt=pair.corrupt, answer=pair.answer, hooks=hook
        )
        assert (alone.grids[hook] == together.grids[hook]).all()


def test_the_noise_floor_is_zero_and_every_control_holds_to_the_bit(smollm2: Model) -> None:
    result = swept(smollm2, PAIRS["eiffel"])

    assert smollm2.describe().exact
    assert result.noise_floor == 0.0
    assert len(result.controls) == 2 * len(LAYER_HOOKS)
    assert all(control.difference == 0.0 for control in result.controls)


def test_the_model_knows_where_the_tower_stands(smollm2: Model) -> None:
    """What the README's picture shows: on the subject up to layer 22, then at the last token."""
    grid = swept(smollm2, PAIRS["eiffel"], metric="recovered").grids["post_block"]
    tokens = smollm2.backend.tokenize(PAIRS["eiffel"].corrupt)
    pieces = [smollm2.backend.detokenize([token]) for token in tokens]

    strongest = [int(np.nanargmax(layer)) for layer in grid]

    assert {pieces[position] for position in strongest[:23]} == {"osse"}  # of the Colosseum
    assert strongest[23:] == [len(tokens) - 1] * 7
    assert grid[29, -1] == pytest.approx(1.0, abs=1e-3)


def test_self_patches_at_every_site_have_the_bits_of_the_baseline(backend: TorchBackend) -> None:
    tokens = backend.tokenize(PAIRS["sister"].corrupt)
    run = captured(backend, "own", tokens)
    where = sites(backend, len(tokens))

    found = scores(backend, tokens, from_run(run, where, computed=True), [1, 2])

    assert (found == baseline(backend, tokens, [1, 2])).all()


def test_patching_every_position_reproduces_the_clean_run(backend: TorchBackend) -> None:
    clean, corrupt = prompts(backend)
    run = captured(backend, "clean", clean)
    rows = [
        Row(tuple(write_at("pre_attn", layer, p, FromRun(run, (p,))) for p in range(len(clean))))
        for layer in (0, 1, 14, 29)
    ]

    found = scores(backend, corrupt, rows, [1, 2])

    assert (found == baseline(backend, clean, [1, 2])).all()


def test_cells_have_the_same_bits_however_batched(backend: TorchBackend) -> None:
    clean, corrupt = prompts(backend)
    run = captured(backend, "clean", clean)
    rows = from_run(run, [site for site in sites(backend, 9) if site[1] >= 20])
    together = scores(backend, corrupt, rows, [1, 2])

    at_most(backend, 40)
    chunked = scores(backend, corrupt, rows, [1, 2])
    alone = np.concatenate([scores(backend, corrupt, [row], [1, 2]) for row in rows[::23]])

    assert (chunked == together).all()
    assert (alone == together[::23]).all()


def test_a_quarter_of_the_budget_is_honoured_with_the_same_bits(
    backend: TorchBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.forget()  # what other tests have run is kept, and counts
    clean, corrupt = prompts(backend)
    rows = from_run(captured(backend, "clean", clean), sites(backend, 9)[: 2 * 270 : 2])
    found: list[np.ndarray] = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)  # only one thread can be watched

    def run() -> None:
        found.append(scores(backend, corrupt, rows, [1, 2]))

    run()
    held = backend._scorer._held()
    most = peak_bytes(run, torch.device("cpu")) + held
    for share in (2, 4):
        backend._scorer._budget = most // share
        assert peak_bytes(run, torch.device("cpu")) + held <= 1.1 * backend._scorer._budget

    assert all((each == found[0]).all() for each in found)


def test_greedy_completion_is_the_models_own(backend: TorchBackend, reference: Reference) -> None:
    tokens = backend.tokenize("The capital of France is")
    expected = reference.model.generate(
        torch.tensor([tokens]), max_new_tokens=12, do_sample=False, eos_token_id=None
    )[0, len(tokens) :].tolist()

    made = list(backend.generate(GenerateRequest(tuple(tokens), max_tokens=12)))

    assert [each.token for each in made] == expected
