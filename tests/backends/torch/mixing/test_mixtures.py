"""Circuits on the torch backend: every receiver reads a mixture of its own."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sonde.backends import giving_up
from sonde.backends.base import Column, Mixture, Readout, logprobs_of
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.mixing.both_runs import run_both
from sonde.backends.torch.mixing.mixtures import Mixtures
from sonde.backends.torch.mixing.parts import Parts
from sonde.backends.torch.mixing.state import State
from sonde.errors import BadRequest
from sonde.nodes import Graph
from tests.architectures import ARCHITECTURES, PACKED, WHOLE
from tests.backends.torch.circuit_reference import CircuitReference
from tests.backends.torch.gradient.sloping import linear_backend
from tests.backends.torch.tiny import IDS, pair_of_prompts, prompt, tiny_backend

Bools = NDArray[np.bool_]
TOLD = logprobs_of(IDS)
CLEAN, CORRUPT = pair_of_prompts(7)


@cache
def backend(name: str) -> TorchBackend:
    return tiny_backend(name)


def graph(of: TorchBackend) -> Graph:
    return Graph.of(of.describe())


def drawn(n: int, shares: Sequence[float], seed: int = 0) -> Bools:
    """Circuits of random edges."""
    draw = np.random.default_rng(seed)
    return np.array([draw.random(n) < share for share in shares])


def mixed(
    of: TorchBackend,
    edges: Bools,
    *,
    computed: frozenset[int] = frozenset(),
    readout: Readout = TOLD,
    outside: Sequence[int] = CORRUPT,
    inside: Sequence[int] = CLEAN,
) -> NDArray[np.float64]:
    """What every circuit tells: [circuits, columns]."""
    out = np.full((len(edges), len(readout.columns)), np.nan)
    for scores in of.mix([Mixture(outside, inside, edges, readout, computed)]):
        out[list(scores.rows)] = scores.values
    return out


@pytest.mark.parametrize("name", PACKED)
def test_circuits_are_those_of_plain_passes_with_a_stream_for_every_receiver(name: str) -> None:
    mine = backend(name)
    known_edges = [(s.name, r.name) for s, r in graph(mine).edges()]
    circuits = drawn(len(known_edges), [0.1, 0.6])
    architecture = ARCHITECTURES[name]
    plain = CircuitReference(architecture.build(), architecture.parts, graph(mine))
    expected = [
        plain.run(
            CORRUPT,
            CLEAN,
            {edge for edge, held in zip(known_edges, each, strict=True) if held},
            IDS,
        ).tolist()
        for each in circuits
    ]
    found = mixed(mine, circuits)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    ends = mixed(mine, drawn(len(known_edges), [0, 1.1]))
    assert np.abs(found - ends[:1]).max() > 1e-3


@pytest.mark.parametrize("name", PACKED)
def test_no_edge_is_the_outside_prompt_and_every_edge_the_inside_one(name: str) -> None:
    """Also where the second is put together edge by edge, and nothing of its own run is used."""
    mine = backend(name)
    n = graph(mine).n_edges()
    found = mixed(mine, drawn(n, [0, 1.1, 1.1]), computed=frozenset([2]))
    asked = logprobs_of(IDS)
    expected = mine.baselines([(CORRUPT, asked), (CLEAN, asked), (CLEAN, asked)], [])
    np.testing.assert_allclose(found, expected, atol=5e-6)


def test_a_circuit_has_the_same_bits_in_any_company() -> None:
    mine = backend("llama")
    circuits = drawn(graph(mine).n_edges(), [0.02, 0.1, 0.4, 0.8, 0.97])
    together = mixed(mine, circuits)
    alone = np.concatenate([mixed(mine, circuits[i : i + 1]) for i in range(len(circuits))])
    assert np.array_equal(together, alone)
    assert np.array_equal(mixed(mine, circuits[::-1])[::-1], together)


def test_on_a_linear_model_a_circuit_is_the_sum_of_the_edges_that_lead_to_the_logits() -> None:
    """Attention is even, so queries and keys change nothing; direct edges simply add up."""
    mine = linear_backend()
    names = [(s.name, r.name) for s, r in graph(mine).edges()]
    logits = np.array([receiver == "logits" for _, receiver in names])
    embed = np.array([sender == "embed" for sender, _ in names])
    difference = Readout((Column("logit", IDS[0]), Column("logit", IDS[1])))

    def moved(circuits: Bools) -> NDArray[np.float64]:
        told = mixed(mine, np.concatenate([np.zeros((1, len(names)), bool), circuits]),
                     readout=difference)  # fmt: skip
        values = told[:, 0] - told[:, 1]
        return values[1:] - values[0]

    # A path is one circuit: embed → v or MLP → logits. Those of two edges, each alone, add up.
    nodes = {"mlp:1": "mlp_out:1", "v:0.0": "z:0.1", "v:2.1": "z:2.3", "mlp:2": "mlp_out:2"}
    place = {name: number for number, name in enumerate(names)}
    paths = np.zeros((len(nodes) + 1, len(names)), dtype=bool)
    for row, (receiver, sender) in enumerate(nodes.items()):
        paths[row, [place["embed", receiver], place[sender, "logits"]]] = True
    paths[-1] = logits & embed
    each = moved(paths)
    assert np.abs(each).min() > 1e-6
    together: Bools = np.any(paths, axis=0, keepdims=True)
    np.testing.assert_allclose(moved(together)[0], each.sum(), rtol=1e-3, atol=1e-5)


def test_what_leads_nowhere_changes_nothing() -> None:
    mine = backend("llama")
    names = [(s.name, r.name) for s, r in graph(mine).edges()]
    dead = np.array([[receiver != "logits" for _, receiver in names]])
    dead = np.concatenate([np.zeros_like(dead), dead])
    empty, most = mixed(mine, dead)
    assert np.array_equal(empty, most)


def test_it_stops_between_layers_when_nobody_wants_it_any_more() -> None:
    asked: list[int] = []

    def unwanted() -> None:
        asked.append(1)
        if len(asked) == 2:
            raise giving_up.Unwanted

    mine = backend("llama")
    with pytest.raises(giving_up.Unwanted), giving_up.asking(unwanted):
        mixed(mine, drawn(graph(mine).n_edges(), [0.5]))
    assert len(asked) == 2
    assert not np.isnan(mixed(mine, drawn(graph(mine).n_edges(), [0.5]))).any()


def test_prompts_of_two_lengths_are_refused() -> None:
    mine = backend("llama")
    with pytest.raises(BadRequest, match="have 7 and 9 tokens"):
        mixed(mine, drawn(graph(mine).n_edges(), [0.5]), inside=prompt(9, 3))
    with pytest.raises(BadRequest, match="this model has 190 edges"):
        mixed(mine, drawn(5, [0.5]))


@pytest.mark.parametrize("name", WHOLE)
def test_models_whose_heads_are_not_known_are_refused_by_name(name: str) -> None:
    with pytest.raises(BadRequest, match="senders and receivers need a model"):
        mixed(tiny_backend(name), np.zeros((1, 1), dtype=bool))


@pytest.mark.parametrize(("name", "adds"), [("llama", True), ("gemma2", False), ("olmo2", False)])
def test_a_norm_after_the_heads_is_noticed(name: str, adds: bool) -> None:
    path = backend(name)._current()
    with torch.inference_mode():
        assert run_both(path, CORRUPT, CLEAN, [6]).additive is adds
    assert all(callable(each) for each in (Mixtures, Parts, State))
