"""The default model on vLLM: all cells of a grid beside the torch backend, and exact bits."""

from collections.abc import Iterator, Sequence
from contextlib import closing

import numpy as np
import pytest

from sonde.backends.base import Backend, FromRun, Row, Site, Write, write_at
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.loading.load import load_model
from sonde.backends.vllm.backend import VllmBackend
from sonde.schema import LAYER_HOOKS, Hook
from tests.backends.suite import CLEAN, CORRUPT
from tests.backends.vllm import asking
from tests.backends.vllm.head_cells import HOOKS, every_head, heads_of
from tests.backends.vllm.tiny import on_vllm

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

OPTIONS = {"max_model_len": 256, "max_num_seqs": 128}


@pytest.fixture(scope="module", params=["float32", "bfloat16"])
def backend(request: pytest.FixtureRequest) -> Iterator[VllmBackend]:
    with closing(on_vllm("smollm2", dtype=request.param, options=OPTIONS)) as engine:
        yield engine


def scored(backend: Backend, tokens: Sequence[int], rows: Sequence[Row]) -> np.ndarray:
    ids = [backend.tokenize(text, special=False)[0] for text in (" Paris", " Rome")]
    return asking.scored(backend, tokens, rows, ids)


def grid(backend: Backend, hook: Hook) -> np.ndarray:
    """30 layers at 9 positions."""
    clean, corrupt = backend.tokenize(CLEAN), backend.tokenize(CORRUPT)
    layers, positions = range(backend.describe().n_layers), range(len(corrupt))
    backend.capture("clean", clean, [hook], layers, positions)
    rows = [
        Row((write_at(hook, layer, p, FromRun("clean", (p,))),))
        for layer in layers
        for p in positions
    ]
    found = scored(backend, corrupt, rows)
    backend.drop("clean")
    return found


@pytest.mark.parametrize("backend", ["float32"], indirect=True)
def test_all_hooks_of_the_270_cell_grid_are_the_torch_backends(backend: VllmBackend) -> None:
    """Not in half precision, where two backends differ by the rounding of each."""
    reference = TorchBackend(load_model("smollm2"))
    for hook in LAYER_HOOKS:
        found, expected = grid(backend, hook), grid(reference, hook)
        assert found.shape == (270, 2)
        assert np.abs(found - expected).max() < 1e-4, hook
        assert found[:, 0].argmax() == expected[:, 0].argmax(), hook


@pytest.mark.parametrize("backend", ["float32"], indirect=True)
def test_a_sample_of_every_hook_of_heads_is_the_torch_backends(backend: VllmBackend) -> None:
    """Together and one by one: 24 cells of each hook at random layers, heads and positions."""
    reference, model = TorchBackend(load_model("smollm2")), backend.describe()
    assert model.heads == reference.describe().heads
    draw, n = np.random.default_rng(0), 8
    for hook in HOOKS:
        rows = []
        for i in range(24):
            layer, head = draw.integers(model.n_layers), draw.integers(len(heads_of(model, hook)))
            at = tuple(range(n)) if i % 2 else (int(draw.integers(n)),)
            rows.append(Row((Write(Site(hook, int(layer), at, int(head)), FromRun("clean", at)),)))
        grids = []
        for each in (backend, reference):
            clean, corrupt = each.tokenize(CLEAN)[:n], each.tokenize(CORRUPT)[:n]
            each.capture("clean", clean, [hook], range(model.n_layers), range(n))
            grids.append(scored(each, corrupt, rows))
        backend.drop("clean")
        assert np.abs(grids[0] - grids[1]).max() < 1e-4, hook


def test_a_run_patched_with_itself_does_not_change_by_a_bit(backend: VllmBackend) -> None:
    tokens = backend.tokenize(CORRUPT)
    base = scored(backend, tokens, [Row(computed=True)])
    for layer in (0, 12, 29):
        backend.capture("own", tokens, LAYER_HOOKS, [layer], range(len(tokens)))
        for hook in LAYER_HOOKS:
            own = tuple(write_at(hook, layer, p, FromRun("own", (p,))) for p in range(len(tokens)))
            found = scored(backend, tokens, [Row(own, computed=True)])
            assert np.array_equal(found, base), (hook, layer)
        backend.capture("own", tokens, HOOKS, [layer], range(len(tokens)))
        for hook in HOOKS:
            row = every_head(backend.describe(), hook, layer, "own", len(tokens))
            assert np.array_equal(scored(backend, tokens, [row]), base), (hook, layer)


def test_the_whole_stream_of_the_clean_prompt_is_the_clean_prompt_to_the_bit(
    backend: VllmBackend,
) -> None:
    clean, corrupt = backend.tokenize(CLEAN), backend.tokenize(CORRUPT)
    streams: tuple[Hook, ...] = ("pre_attn", "post_block")
    backend.capture("clean", clean, streams, [12], range(len(clean)))
    expected = scored(backend, clean, [Row(computed=True)])
    for hook in streams:
        whole = tuple(write_at(hook, 12, p, FromRun("clean", (p,))) for p in range(len(clean)))
        assert np.array_equal(scored(backend, corrupt, [Row(whole)]), expected), hook
