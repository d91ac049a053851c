"""Heads: every cell is what a plain forward pass gives, and what changes nothing has its bits."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from sonde.backends.base import FromRun, FromVector, Row, Site, Work, Write, logprobs_of
from sonde.backends.torch.backend import TorchBackend
from sonde.schema import HEAD_HOOKS, Hook
from tests.architectures import ARCHITECTURES
from tests.backends.torch.head_reference import HeadEdit, HeadReference
from tests.backends.torch.tiny import IDS, pair_of_prompts, prompt, scores, tiny_backend

N = 21
POSITIONS = (tuple(range(N)), (N - 1,), (9,), (3, 8, 17))
ATTENDING = (
    "llama", "qwen2", "qwen3", "mistral", "gemma2", "gemma3", "phi3", "olmo2", "gpt2",
    "neox_parallel", "neox_sequential", "mixtral", "qwen3_moe", "gpt_oss",
)  # fmt: skip


@cache
def backend_of(name: str) -> TorchBackend:
    """A backend that holds the clean and the corrupt prompt's heads."""
    backend = tiny_backend(name)
    model = backend.describe()
    layers = range(model.n_layers)
    clean, corrupt = pair_of_prompts(N)
    hooks = [hook for hook in (*HEAD_HOOKS, "attn_out") if hook in model.hooks]
    backend.capture("clean", clean, hooks, layers, range(N))
    backend.capture("own", corrupt, HEAD_HOOKS, layers, range(N))
    return backend


def places(backend: TorchBackend, hooks: Sequence[Hook] = HEAD_HOOKS) -> Iterator[Site]:
    """Every head of every layer at every hook, at some sets of positions; readers one by one."""
    model = backend.describe()
    assert model.heads is not None
    for hook in hooks:
        for layer in range(model.n_layers):
            for positions in POSITIONS:
                for head in range(model.heads.count(hook)):
                    yield Site(hook, layer, positions, head)
                if hook in ("k", "v"):
                    for reader in range(model.heads.heads):
                        yield Site(hook, layer, positions, model.heads.group(reader), (reader,))


def taken(site: Site, run: str = "clean", alpha: float = 1.0) -> Write:
    return Write(site, FromRun(run, site.positions), alpha)


@pytest.mark.parametrize("name", ATTENDING)
def test_every_head_equals_a_plain_forward_pass(name: str) -> None:
    backend, plain = backend_of(name), HeadReference(ARCHITECTURES[name].build())
    clean, corrupt = pair_of_prompts(N)
    held = plain.activations(clean)
    sites = list(places(backend))
    edits = [
        [HeadEdit(s.hook, s.layer, s.head or 0, s.positions, values, s.readers)]
        for s in sites
        for values in [held[s.layer][s.hook][list(s.positions), s.head or 0]]
    ]
    expected = plain.logprobs(corrupt, edits, IDS).double().numpy()
    found = scores(backend, corrupt, [Row((taken(site),)) for site in sites])
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)
    unpatched = plain.logprobs(corrupt, [[]], IDS).double().numpy()
    assert np.abs(expected - unpatched).max() > 0.1  # there is something to be wrong about


@pytest.mark.parametrize("name", ATTENDING)
def test_heads_patched_with_their_own_values_or_not_at_all_have_the_bits_of_the_baseline(
    name: str,
) -> None:
    backend, (_, corrupt) = backend_of(name), pair_of_prompts(N)
    sites = list(places(backend))
    rows = [Row((taken(site, "own"),), computed=True) for site in sites]
    rows += [Row((taken(site, "clean", 0.0),), computed=True) for site in sites]
    baseline = scores(backend, corrupt, [Row(computed=True)])
    assert (scores(backend, corrupt, rows) == baseline).all()


@pytest.mark.parametrize("name", ATTENDING)
def test_a_row_that_begins_at_its_first_change_has_the_bits_of_the_whole_row(name: str) -> None:
    """The prompts share their first third, where positions that are written together stay."""
    backend, (clean, corrupt) = backend_of(name), pair_of_prompts(N)
    assert clean[: N // 3] == corrupt[: N // 3]
    sites = [site for site in places(backend) if site.positions == POSITIONS[0]]
    whole = scores(backend, corrupt, [Row((taken(site),), computed=True) for site in sites])
    assert (scores(backend, corrupt, [Row((taken(site),)) for site in sites]) == whole).all()


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt_oss"])
def test_a_heads_cell_has_the_same_bits_alone_and_beside_others(name: str) -> None:
    backend, (_, corrupt) = backend_of(name), pair_of_prompts(N)
    rows = [Row((taken(site),)) for site in places(backend)]
    together = scores(backend, corrupt, rows)
    for i in range(0, len(rows), 13):
        assert (scores(backend, corrupt, [rows[i]]) == together[i]).all()
    order = np.random.default_rng(0).permutation(len(rows))
    assert (scores(backend, corrupt, [rows[i] for i in order]) == together[order]).all()


@pytest.mark.parametrize("name", ["llama", "gpt2", "gemma2", "olmo2"])
def test_all_heads_of_a_layer_are_its_attention_branch(name: str) -> None:
    backend, (_, corrupt) = backend_of(name), pair_of_prompts(N)
    model = backend.describe()
    assert model.heads is not None
    every = tuple(range(N))
    for layer in range(model.n_layers):
        heads = tuple(taken(Site("z", layer, every, h)) for h in range(model.heads.heads))
        found = scores(
            backend, corrupt, [Row(heads), Row((taken(Site("attn_out", layer, every)),))]
        )
        np.testing.assert_allclose(found[0], found[1], atol=1e-5, rtol=0)


def test_all_readers_of_a_key_head_are_the_key_head_to_the_bit() -> None:
    backend, (_, corrupt) = backend_of("llama"), pair_of_prompts(N)
    for hook in ("k", "v"):
        group = Site(hook, 1, tuple(range(N)), 1)
        found = scores(
            backend, corrupt, [Row((taken(s),)) for s in (group, replace(group, readers=(2, 3)))]
        )
        assert (found[0] == found[1]).all()


def test_readers_of_several_key_heads_in_one_row_equal_a_plain_forward_pass() -> None:
    backend, plain = backend_of("llama"), HeadReference(ARCHITECTURES["llama"].build())
    clean, corrupt = pair_of_prompts(N)
    held, every = plain.activations(clean), tuple(range(N))
    for hook in ("k", "v"):
        sites = [Site(hook, 1, every, 0, (1,)), Site(hook, 1, every, 1, (2, 3))]
        edits = [
            HeadEdit(s.hook, 1, s.head or 0, every, held[1][s.hook][:, s.head or 0], s.readers)
            for s in sites
        ]
        found = scores(backend, corrupt, [Row(tuple(taken(site) for site in sites))])
        expected = plain.logprobs(corrupt, [edits], IDS).double().numpy()
        np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)


def test_several_layers_hooks_and_heads_in_one_row_equal_a_plain_forward_pass() -> None:
    backend, plain = backend_of("llama"), HeadReference(ARCHITECTURES["llama"].build())
    clean, corrupt = pair_of_prompts(N)
    held = plain.activations(clean)
    n_layers = backend.describe().n_layers
    chosen: tuple[tuple[Hook, int, tuple[int, ...]], ...] = (
        ("q", 0, (4, 20)), ("pattern", 3, (20,)), ("k", 1, (2, 5)), ("v", 0, (7,)), ("z", 2, (9,)),
    )  # fmt: skip
    sites = [
        Site(hook, layer, positions, head)
        for hook, head, positions in chosen
        for layer in range(n_layers)
    ]
    edits = [
        HeadEdit(
            s.hook,
            s.layer,
            s.head or 0,
            s.positions,
            held[s.layer][s.hook][list(s.positions), s.head or 0],
        )
        for s in sites
    ]
    rows = [Row(tuple(taken(site) for site in sites)), Row((taken(sites[0]),))]
    expected = plain.logprobs(corrupt, [edits, edits[:1]], IDS).double().numpy()
    np.testing.assert_allclose(scores(backend, corrupt, rows), expected, atol=1e-5, rtol=0)


def test_prompts_of_other_lengths_beside_it_leave_a_heads_bits() -> None:
    backend = backend_of("llama")
    model, readout = backend.describe(), logprobs_of(IDS)
    works = []
    for n in (9, 21, 34):
        name = f"of-{n}"
        backend.capture(name, prompt(n, n), HEAD_HOOKS, range(model.n_layers), range(n))
        sites = [
            Site(h, layer, (2, n - 1), 1) for h in HEAD_HOOKS for layer in range(model.n_layers)
        ]
        works.append(Work(prompt(n, n + 1), [Row((taken(s, name),)) for s in sites], readout))

    def scored(some: Sequence[Work]) -> list[np.ndarray]:
        out = [np.empty((len(work.rows), len(IDS))) for work in some]
        for part in backend.score(some):
            out[part.work][list(part.rows)] = part.values
        return out

    for together, alone in zip(scored(works), [scored([work])[0] for work in works], strict=True):
        assert (together == alone).all()


def test_a_stored_run_gives_back_what_a_plain_pass_has_at_each_head() -> None:
    backend, plain = backend_of("llama"), HeadReference(ARCHITECTURES["llama"].build())
    clean, _ = pair_of_prompts(N)
    held = plain.activations(clean)
    for hook in HEAD_HOOKS:
        [found] = backend.read("clean", [Site(hook, 1, (4, 9), 1)])
        expected = held[1][hook][[4, 9], 1]
        torch.testing.assert_close(torch.from_numpy(found), expected, atol=1e-5, rtol=0)


def test_a_mask_beside_wider_hooks_is_that_of_its_own_hook() -> None:
    backend, plain = backend_of("llama"), HeadReference(ARCHITECTURES["llama"].build())
    clean, corrupt = pair_of_prompts(N)
    held, mask = plain.activations(clean), np.linspace(0, 1, 8).astype(np.float32)
    write = replace(taken(Site("z", 0, (9,), 1)), mask=mask)
    rows = [Row((write,)), Row((taken(Site("pattern", 0, (9,), 1)),))]
    old, new = (run[0]["z"][9, 1] for run in (plain.activations(corrupt), held))
    half = torch.from_numpy(mask)
    edit = HeadEdit("z", 0, 1, (9,), ((1 - half) * old + half * new)[None])
    expected = plain.logprobs(corrupt, [[edit]], IDS).double().numpy()
    np.testing.assert_allclose(scores(backend, corrupt, rows)[:1], expected, atol=1e-5, rtol=0)


def test_zeros_are_as_wide_as_what_they_replace() -> None:
    backend, (_, corrupt) = backend_of("llama"), pair_of_prompts(N)
    model = backend.describe()
    assert model.heads is not None
    plain = HeadReference(ARCHITECTURES["llama"].build())
    rows, edits = [], []
    for hook in HEAD_HOOKS:
        width = model.heads.width(hook, N)
        rows.append(Row((Write(Site(hook, 0, (5,), 1), FromVector(np.zeros(width, np.float32))),)))
        edits.append([HeadEdit(hook, 0, 1, (5,), torch.zeros(1, width))])
    expected = plain.logprobs(corrupt, edits, IDS).double().numpy()
    np.testing.assert_allclose(scores(backend, corrupt, rows), expected, atol=1e-5, rtol=0)
