"""Edges to first order: what follows for any weights, and what exact edges say."""

from collections.abc import Sequence

import numpy as np
import pytest

from sonde.backends.base import FromRun, FromSenders, Row, Site, Write
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.edges import scoring, senders
from sonde.backends.torch.gradient import edges, halves
from sonde.errors import BadRequest
from sonde.nodes import Graph, Node
from sonde.schema import Hook
from tests.architectures import PACKED
from tests.backends.torch.gradient.sloping import exactly, linear_backend, linearised
from tests.backends.torch.tiny import pair_of_prompts, prepared, prompt

N = 9
ALL = tuple(range(N))
NORMED = ("gemma2", "gemma3", "olmo2")
ADDS: dict[str, Hook] = {"embed": "pre_attn", "z": "z", "mlp_out": "mlp_out"}
READS: dict[str, Hook] = {"q": "q", "k": "k", "v": "v", "mlp": "mlp_out", "logits": "post_block"}


def captured(backend: TorchBackend, tokens: Sequence[int]) -> str:
    model = backend.describe()
    backend.capture("source", tokens, model.hooks, range(model.n_layers), range(len(tokens)))
    return "source"


def sent(sender: Node, run: str, alpha: float = 1.0) -> FromSenders:
    site = Site(ADDS[sender.kind], sender.layer or 0, ALL, sender.head)
    return FromSenders((Write(site, FromRun(run, ALL), alpha),))


def all_edges(
    backend: TorchBackend, run: str, alpha: float = 1.0, *, heads: bool = True
) -> list[Row]:
    graph = Graph.of(backend.describe())
    sources = {sender: sent(sender, run, alpha) for sender in graph.senders()}
    rows = []
    for sender, receiver in graph.edges():
        if sender.kind == "z" and not heads:
            continue
        layer = graph.n_layers - 1 if receiver.layer is None else receiver.layer
        site = Site(READS[receiver.kind], layer, ALL, receiver.head)
        rows.append(Row((Write(site, sources[sender]),)))
    return rows


def test_on_a_linear_model_every_score_is_the_exact_edge() -> None:
    backend = linear_backend()
    run = captured(backend, prompt(N, 1))
    # A query and a pattern are products of two; without queries attention stays as it is.
    rows = [row for row in all_edges(backend, run) if row.writes[0].site.hook != "q"]
    scores = linearised(backend, prompt(N, 2), rows)
    exact = exactly(backend, prompt(N, 2), rows)

    assert np.abs(exact).max() > 0.01
    np.testing.assert_allclose(scores, exact, atol=1e-5 * np.abs(exact).max())


@pytest.mark.parametrize("name", PACKED)
def test_a_small_step_moves_the_metric_as_far_as_the_score_says(name: str) -> None:
    backend, _ = prepared(name)
    clean, corrupt = pair_of_prompts(N)
    run = captured(backend, clean)
    # Where a norm follows attention, what a head adds is no multiple of how far it is changed.
    heads = name not in NORMED
    scores = linearised(backend, corrupt, all_edges(backend, run, heads=heads))
    step = 2e-3
    there, back = (
        exactly(backend, corrupt, all_edges(backend, run, alpha, heads=heads))
        for alpha in (step, -step)
    )
    measured = (there - back) / (2 * step)

    assert np.abs(scores).max() > 0.01
    # Logits have float32's grain of 2e-7, which a step of 1/500 makes a hundred times as large.
    np.testing.assert_allclose(scores, measured, rtol=0.01, atol=0.003 * np.abs(scores).max())


def test_a_prompt_that_is_its_own_source_moves_nothing() -> None:
    backend, _ = prepared()
    rows = all_edges(backend, captured(backend, prompt(N, 1)))

    assert not linearised(backend, prompt(N, 1), rows).any()
    assert not exactly(backend, prompt(N, 1), rows).any()


@pytest.mark.parametrize("hook", ["k", "v"])
def test_a_group_is_the_sum_of_its_readers(hook: Hook) -> None:
    backend, _ = prepared()
    clean, corrupt = pair_of_prompts(N)
    source = sent(Node("z", 0, 1), captured(backend, clean))
    shape = backend.describe().heads
    assert shape is not None
    group = Row((Write(Site(hook, 2, ALL, 1), source),))
    each = [Row((Write(Site(hook, 2, ALL, 1, (r,)), source),)) for r in shape.readers(1)]
    whole, *parts = linearised(backend, corrupt, [group, *each])

    assert np.abs(parts).min() > 0
    assert sum(parts) == pytest.approx(whole, rel=1e-4)


def test_several_senders_count_where_they_come_before_the_receiver() -> None:
    backend, _ = prepared("qwen3")
    clean, corrupt = pair_of_prompts(N)
    run = captured(backend, clean)
    alone = [sent(Node(*node), run) for node in (("embed",), ("z", 0, 1), ("mlp_out", 2))]
    both = FromSenders(tuple(write for source in alone for write in source.writes))
    site = Site("q", 1, ALL, 2)
    rows = [Row((Write(site, source),)) for source in [*alone[:2], both]]
    first, second, together = linearised(backend, corrupt, rows)

    assert together == pytest.approx(first + second, rel=1e-4)
    late = linearised(backend, corrupt, [Row((Write(site, alone[2]),))])
    assert late.tolist() == [0.0], "what is sent after it is not received"


def test_the_way_to_the_clean_prompt_is_followed_point_by_point() -> None:
    backend, _ = prepared()
    clean, corrupt = pair_of_prompts(N)
    rows = all_edges(backend, captured(backend, clean))
    many = linearised(backend, corrupt, rows, toward=clean, steps=5)
    one = linearised(backend, corrupt, rows)

    assert np.abs(many - one).max() > 0.01
    assert np.array_equal(linearised(backend, corrupt, rows, toward=clean, steps=1), one)


def test_points_are_followed_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    backend, _ = prepared()
    clean, corrupt = pair_of_prompts(N)
    rows = all_edges(backend, captured(backend, clean))
    whole = linearised(backend, corrupt, rows, toward=clean, steps=5)
    monkeypatch.setattr(edges, "TOKENS", 2 * N)
    np.testing.assert_allclose(
        linearised(backend, corrupt, rows, toward=clean, steps=5), whole, atol=1e-6
    )
    assert halves.__doc__
    assert senders.__doc__


def test_exact_edges_have_the_same_bits_in_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    backend, _ = prepared("gemma2")
    clean, corrupt = pair_of_prompts(N)
    rows = all_edges(backend, captured(backend, clean))
    whole = exactly(backend, corrupt, rows)
    monkeypatch.setattr(scoring, "FLOATS", 32 * N * 3)

    assert np.array_equal(exactly(backend, corrupt, rows), whole)


def test_edges_stand_beside_ordinary_rows() -> None:
    backend, _ = prepared()
    clean, corrupt = pair_of_prompts(N)
    run = captured(backend, clean)
    edge = Row((Write(Site("v", 2, ALL, 1), sent(Node("z", 0, 1), run)),))
    plain = Row((Write(Site("z", 1, ALL, 3), FromRun(run, ALL)),))
    both = linearised(backend, corrupt, [plain, edge, plain])

    assert both[0] == both[2] == linearised(backend, corrupt, [plain])[0]
    assert both[1] == linearised(backend, corrupt, [edge])[0]


def test_mlps_computed_anew_have_no_score() -> None:
    backend, _ = prepared()
    clean, corrupt = pair_of_prompts(N)
    source = sent(Node("z", 0, 1), captured(backend, clean))
    row = Row((Write(Site("v", 2, ALL, 1), FromSenders(source.writes, mlps=True)),))
    with pytest.raises(BadRequest, match="score them exactly"):
        linearised(backend, corrupt, [row])


def test_what_is_no_sender_or_no_receiver_is_refused() -> None:
    backend, _ = prepared()
    clean, corrupt = pair_of_prompts(N)
    run = captured(backend, clean)
    stream = FromSenders((Write(Site("post_block", 0, ALL), FromRun(run, ALL)),))
    with pytest.raises(BadRequest, match="post_block of layer 0 is no sender"):
        exactly(backend, corrupt, [Row((Write(Site("v", 2, ALL, 1), stream),))])
    source = sent(Node("z", 0, 1), run)
    with pytest.raises(BadRequest, match="post_block of layer 1 receives nothing of its own"):
        exactly(backend, corrupt, [Row((Write(Site("post_block", 1, ALL), source),))])
