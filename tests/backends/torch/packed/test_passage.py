"""A packed cell is an ordinary patched forward pass, with the same bits however it is batched."""

import numpy as np
import pytest
import torch

from sonde.backends.base import FromRun, FromVector, Row, write_at
from sonde.errors import HookNeverFired, UnknownHook
from sonde.schema import LAYER_HOOKS, Hook
from tests.architectures import ARCHITECTURES, PACKED, WIDTH
from tests.backends.torch.reference import Edit
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

LENGTHS = (9, 16, 37)
"""Below, at and above the block size."""
KINDS = ("llama", "gemma2", "gpt2", "neox_parallel", "qwen3_moe", "gpt_oss")
"""One of each kind, for the quick tests: all are compared with the slow ones."""
QUICK = {("llama", n) for n in LENGTHS} | {(kind, 37) for kind in KINDS}
each_architecture_and_length = pytest.mark.parametrize(
    ("name", "n_tokens"),
    [
        pytest.param(name, n, marks=() if (name, n) in QUICK else pytest.mark.slow)
        for name in PACKED
        for n in LENGTHS
    ],
)


@each_architecture_and_length
def test_every_cell_of_a_full_grid_equals_an_ordinary_hooked_forward_pass(
    name: str, n_tokens: int
) -> None:
    backend, reference = prepared(name)
    assert backend.describe().path == "packed"
    clean, corrupt = pair_of_prompts(n_tokens)
    run = captured(backend, f"clean-{n_tokens}", clean)
    where = sites(backend, n_tokens)
    values = {hook: reference.activations(clean, hook) for hook in backend.describe().layer_hooks}
    cells = [[Edit(h, layer, p, values[h][layer, p])] for h, layer, p in where]

    found = scores(backend, corrupt, from_run(run, where))

    expected = reference.logprobs(corrupt, cells, IDS).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    moved = np.abs(found - baseline(backend, corrupt)).max()
    assert moved > 0.1  # or the grid would agree by showing nothing


@each_architecture_and_length
def test_controls_at_every_site_have_the_bits_of_the_baseline(name: str, n_tokens: int) -> None:
    """Alpha 0, and the run's own activation, both computed by full passes."""
    backend, _ = prepared(name)
    clean, corrupt = pair_of_prompts(n_tokens)
    clean_run = captured(backend, "clean", clean)
    own_run = captured(backend, "own", corrupt)
    where = sites(backend, n_tokens)
    rows = from_run(own_run, where, computed=True)
    rows += from_run(clean_run, where, computed=True, alpha=0.0)
    rows += [Row(computed=True)]

    found = scores(backend, corrupt, rows)

    assert (found == baseline(backend, corrupt)).all()


@each_architecture_and_length
def test_patching_every_position_of_a_layer_reproduces_the_clean_run(
    name: str, n_tokens: int
) -> None:
    backend, _ = prepared(name)
    clean, corrupt = pair_of_prompts(n_tokens)
    run = captured(backend, "clean", clean)
    rows = [
        Row(tuple(write_at("pre_attn", layer, p, FromRun(run, (p,))) for p in range(n_tokens)))
        for layer in range(backend.describe().n_layers)
    ]

    found = scores(backend, corrupt, rows)

    assert (found == baseline(backend, clean)).all()


@pytest.mark.parametrize("n_tokens", [1, 2, 17])
def test_prompts_of_odd_lengths_work_too(n_tokens: int) -> None:
    backend, reference = prepared("llama")
    tokens, values = prompt(n_tokens, 5), vector(WIDTH)
    where = sites(backend, n_tokens)
    cells = [[Edit(h, layer, p, torch.from_numpy(values))] for h, layer, p in where]

    found = scores(backend, tokens, from_vector(values, where))

    expected = reference.logprobs(tokens, cells, IDS).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    "name",
    ["llama", *(pytest.param(n, marks=pytest.mark.slow) for n in ("gemma2", "qwen3_moe", "olmo2"))],
)
def test_a_cell_has_the_same_bits_alone_and_in_any_chunking(name: str) -> None:
    backend = tiny_backend(name)
    clean, corrupt = pair_of_prompts(19)
    run = captured(backend, "clean", clean)
    where = sites(backend, 19)
    rows = from_run(run, where)
    together = scores(backend, corrupt, rows)

    for most in (1, 40, 100):
        at_most(backend, most)
        assert (scores(backend, corrupt, rows) == together).all()
    alone = [scores(backend, corrupt, [row])[0] for row in rows[::7]]
    assert (np.stack(alone) == together[::7]).all()


def test_a_cell_has_the_same_bits_whatever_rows_are_beside_it() -> None:
    """Also beside a row that overflows: nothing of it may reach its neighbours."""
    backend, _ = prepared("qwen3_moe")
    clean, corrupt = pair_of_prompts(19)
    run = captured(backend, "clean", clean)
    where = sites(backend, 19)
    rows = from_run(run, where)
    expected = scores(backend, corrupt, rows)
    huge = np.full(WIDTH, 3e38, dtype=np.float32)
    order = np.random.default_rng(0).permutation(len(rows))

    found = scores(
        backend, corrupt, [*from_vector(huge, where), *(rows[i] for i in order), Row(computed=True)]
    )

    assert not np.isfinite(found[: len(where)]).all()
    assert (found[len(where) : -1] == expected[order]).all()
    assert (found[-1] == baseline(backend, corrupt)).all()


def test_a_cell_has_the_same_bits_with_the_prompts_run_side_by_side_or_not() -> None:
    clean, corrupt = pair_of_prompts(9)
    together, apart = tiny_backend(), tiny_backend()
    together.prepare([clean, corrupt, prompt(21, 3)], LAYER_HOOKS)
    where = sites(apart, 9)

    first = scores(together, corrupt, from_run(captured(together, "clean", clean), where))
    second = scores(apart, corrupt, from_run(captured(apart, "clean", clean), where))

    assert (first == second).all()


@pytest.mark.parametrize("name", ["llama", "olmo2", "neox_sequential", "gpt2"])
def test_several_patches_in_one_row_act_together(name: str) -> None:
    backend, reference = prepared(name)
    tokens, n_tokens = prompt(19, 4), 19
    draw = np.random.default_rng(1)
    where = sites(backend, n_tokens)
    rows, cells = [], []
    for size in (2, 3, 5, 9) * 6:
        chosen = [where[i] for i in sorted(draw.choice(len(where), size, replace=False))]
        chosen = [s for s in chosen if s[0] != "post_block"]  # the next layer's pre_attn
        given = [vector(WIDTH, int(draw.integers(1000))) for _ in chosen]
        pairs = list(zip(chosen, given, strict=True))
        rows.append(Row(tuple(write_at(h, le, p, FromVector(v)) for (h, le, p), v in pairs)))
        cells.append([Edit(h, le, p, torch.from_numpy(v)) for (h, le, p), v in pairs])

    found = scores(backend, tokens, rows)

    expected = reference.logprobs(tokens, cells, IDS).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


def test_alpha_and_mask_mix_source_and_current_value_by_the_formula() -> None:
    backend, reference = prepared("llama")
    tokens, values = prompt(9, 4), vector(WIDTH, 3)
    mask = np.linspace(0, 1, WIDTH, dtype=np.float32)
    rows, cells = [], []
    for alpha in (0.25, 0.5, 1.5, -1.0):
        for hook in LAYER_HOOKS:
            patch = write_at(hook, 1, 3, FromVector(values), alpha, mask)
            weight = alpha * torch.from_numpy(mask)
            rows.append(Row((patch,)))
            cells.append([Edit(hook, 1, 3, torch.from_numpy(values), weight)])

    found = scores(backend, tokens, rows)

    expected = reference.logprobs(tokens, cells, IDS).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("first", ["post_attn", "mlp_in", "mlp_out", "pre_attn"])
def test_a_patch_is_mixed_with_what_an_earlier_patch_of_its_row_made(first: Hook) -> None:
    """At the same position: half of the second, half of what the first one left there."""
    backend, reference = prepared("llama")
    tokens, one, two = prompt(9, 4), vector(WIDTH, 3), vector(WIDTH, 4)
    row = Row(
        (write_at(first, 1, 3, FromVector(one)), write_at("post_block", 1, 3, FromVector(two), 0.5))
    )
    half = torch.full((WIDTH,), 0.5)
    cell = [
        Edit(first, 1, 3, torch.from_numpy(one)),
        Edit("post_block", 1, 3, torch.from_numpy(two), half),
    ]

    found = scores(backend, tokens, [row])

    expected = reference.logprobs(tokens, [cell], IDS).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


def test_a_patch_on_what_the_mlp_reads_does_not_leak_into_the_residual_beside_it() -> None:
    """In OLMo 2 the MLP reads the residual itself, the very tensor that is added afterwards."""
    backend, reference = prepared("olmo2")
    tokens, values = prompt(9, 4), vector(WIDTH, 3)
    where = [("mlp_in", layer, p) for layer in range(3) for p in range(9)]

    found = scores(backend, tokens, from_vector(values, where))  # type: ignore[arg-type]

    cells = [[Edit("mlp_in", le, p, torch.from_numpy(values))] for _, le, p in where]
    expected = reference.logprobs(tokens, cells, IDS).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


def test_a_hook_the_model_lacks_is_refused_by_name() -> None:
    backend, _ = prepared("neox_parallel")
    row = Row((write_at("post_attn", 0, 0, FromVector(vector(WIDTH))),))

    with pytest.raises(UnknownHook, match="'post_attn' is not injectable.*'mlp_in', 'mlp_out'"):
        scores(backend, prompt(9, 1), [row])


def test_a_patch_whose_module_never_ran_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ARCHITECTURES["llama"].build()
    backend = backend_of(model)
    tokens = prompt(9, 1)
    row = Row((write_at("mlp_in", 1, 4, FromVector(vector(WIDTH))),))
    scores(backend, tokens, [row])
    layer = model.get_submodule("model.layers.1")

    def without_mlp(hidden_states: torch.Tensor, **_kwargs: object) -> torch.Tensor:
        return hidden_states

    monkeypatch.setattr(layer, "forward", without_mlp)
    with pytest.raises(HookNeverFired, match="0 of 1 patches at mlp_in were applied"):
        scores(backend, tokens, [row])
