"""Rows to first order: what follows for any weights, and what plain autograd says."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from sonde.backends.base import Column, FromVector, Readout, Row, Site, Slope, Work, Write
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.gradient.linear import Linear
from sonde.errors import BadRequest
from sonde.schema import HEAD_HOOKS, HOOK_TABLE, Hook
from tests.architectures import PACKED, WHOLE
from tests.backends.torch.gradient.sloping import (
    LOGITS,
    everywhere,
    exactly,
    gap,
    linear_backend,
    linearised,
    saturated_backend,
)
from tests.backends.torch.tiny import IDS, pair_of_prompts, prepared, prompt, vector

N = 9


def captured(backend: TorchBackend, tokens: Sequence[int], hooks: Sequence[Hook]) -> str:
    model = backend.describe()
    backend.capture("source", tokens, hooks, range(model.n_layers), range(len(tokens)))
    return "source"


@pytest.mark.parametrize("name", [*PACKED, *WHOLE])
def test_a_small_step_moves_the_metric_as_far_as_the_slope_says(name: str) -> None:
    backend, _ = prepared(name)
    clean, corrupt = pair_of_prompts(N)
    hooks = backend.describe().hooks
    run = captured(backend, clean, hooks)
    scores = linearised(backend, corrupt, everywhere(backend, run, hooks, (4, N - 1)))
    step = 2e-3
    there, back = (
        exactly(backend, corrupt, everywhere(backend, run, hooks, (4, N - 1), alpha))
        for alpha in (step, -step)
    )
    measured = (there - back) / (2 * step)
    assert np.abs(scores).max() > 0.01
    np.testing.assert_allclose(scores, measured, rtol=0.01, atol=0.003 * np.abs(scores).max())


def test_on_a_linear_model_the_positions_of_a_layer_add_up_to_the_gap() -> None:
    backend = linear_backend()
    clean, corrupt = prompt(N, 1), prompt(N, 2)
    run = captured(backend, clean, backend.describe().hooks)
    expected = gap(backend, clean, corrupt)
    for hook in ("pre_attn", "post_block"):
        scores = linearised(backend, corrupt, everywhere(backend, run, [hook], range(N)))
        np.testing.assert_allclose(scores.reshape(3, N).sum(1), expected, rtol=1e-4)


def test_on_a_linear_model_every_score_is_the_exact_effect() -> None:
    backend = linear_backend()
    clean, corrupt = prompt(N, 1), prompt(N, 2)
    hooks = [h for h in backend.describe().hooks if h not in ("q", "pattern")]  # products of two
    rows = everywhere(backend, captured(backend, clean, hooks), hooks, range(N))
    scores, exact = linearised(backend, corrupt, rows), exactly(backend, corrupt, rows)
    np.testing.assert_allclose(scores, exact, atol=1e-5 * np.abs(exact).max())


def test_a_prompt_that_is_its_own_source_moves_nothing() -> None:
    backend, _ = prepared()
    tokens = prompt(N, 1)
    hooks = backend.describe().hooks
    rows = everywhere(backend, captured(backend, tokens, hooks), hooks, range(N))
    assert not linearised(backend, tokens, rows).any()


@pytest.mark.parametrize("hook", ["k", "v"])
def test_a_group_is_the_sum_of_its_readers(hook: Hook) -> None:
    backend, _ = prepared("llama")
    clean, corrupt = pair_of_prompts(N)
    run = captured(backend, clean, [hook])
    [group] = linearised(backend, corrupt, everywhere(backend, run, [hook], (4,))[1:2])
    shape = backend.describe().heads
    assert shape is not None
    [write] = everywhere(backend, run, [hook], (4,))[1].writes
    each = [
        Row((Write(Site(hook, 0, (4,), 1, (reader,)), write.source),))
        for reader in shape.readers(1)
    ]
    readers = linearised(backend, corrupt, each)
    assert np.abs(readers).min() > 0
    assert readers.sum() == pytest.approx(group, rel=1e-5)


def test_the_way_between_prompts_adds_up_to_the_gap_when_its_points_are_close() -> None:
    backend, _ = prepared("qwen3")
    clean, corrupt = pair_of_prompts(N)
    run = captured(backend, clean, ["pre_attn"])
    rows = everywhere(backend, run, ["pre_attn"], range(N))[:N]
    expected = gap(backend, clean, corrupt)
    coarse, fine = (
        linearised(backend, corrupt, rows, toward=clean, steps=n).sum() for n in (1, 400)
    )
    assert fine == pytest.approx(expected, rel=0.02)
    assert abs(fine - expected) < abs(coarse - expected)


def test_several_sums_and_positions_come_of_one_pass() -> None:
    backend, _ = prepared()
    clean, corrupt = pair_of_prompts(N)
    run = captured(backend, clean, ["mlp_out"])
    rows = everywhere(backend, run, ["mlp_out"], range(N))
    columns = (Column("logprob", IDS[0], N - 3), Column("logit", IDS[1]))
    asked = Slope(Work(corrupt, rows, Readout(columns)), ((1.0, 0.0), (0.0, 1.0)))
    [both] = backend.linearise([asked])
    for which, column in enumerate(columns):
        alone = linearised(backend, corrupt, rows, readout=Readout((column,)), weights=((1.0,),))
        np.testing.assert_allclose(both.values[:, which], alone, atol=1e-6)
    unseen = [n for n, row in enumerate(rows) if row.writes[0].site.positions[0] > N - 3]
    assert not both.values[unseen, 0].any(), (
        "what comes after a position that is read moves nothing"
    )


def test_a_divergence_has_a_slope_and_a_rank_has_none() -> None:
    backend, _ = prepared()
    clean, corrupt = pair_of_prompts(N)
    run = captured(backend, clean, ["post_block"])
    readout = Readout((Column("kl", against=tuple(clean)),))
    rows = everywhere(backend, run, ["post_block"], (4, N - 1))
    step = 1e-2
    small = everywhere(backend, run, ["post_block"], (4, N - 1), step)
    scores = linearised(backend, corrupt, rows, readout=readout, weights=((1.0,),))
    measured = exactly(backend, corrupt, small, readout) / step
    np.testing.assert_allclose(scores, measured, rtol=0.1, atol=0.02 * np.abs(scores).max())
    with pytest.raises(BadRequest, match="rank changes in steps"):
        linearised(backend, corrupt, rows, readout=Readout((Column("rank", 5),)), weights=((1.0,),))


def test_what_is_added_is_followed_as_what_is_set() -> None:
    backend, _ = prepared()
    tokens = prompt(N, 1)
    values = vector(32)
    row = Row((Write(Site("post_block", 1, (2, 5)), FromVector(values), 0.5, how="add"),))
    [both] = linearised(backend, tokens, [row])
    each = [
        Row((Write(Site("post_block", 1, (at,)), FromVector(values), 0.5, how="add"),))
        for at in (2, 5)
    ]
    assert linearised(backend, tokens, each).sum() == pytest.approx(both, rel=1e-5)


def test_a_saturated_softmax_has_no_slope_where_it_has_an_effect() -> None:
    backend = saturated_backend()
    clean, corrupt = prompt(N, 1), prompt(N, 2)
    run = captured(backend, clean, ["q"])
    rows = everywhere(backend, run, ["q"], (N - 1,))
    exact, scores = exactly(backend, corrupt, rows), linearised(backend, corrupt, rows)
    strongest = int(np.abs(exact).argmax())
    assert abs(exact[strongest]) > 0.1
    assert abs(scores[strongest]) < 1e-3 * abs(exact[strongest])


def test_prompts_of_two_lengths_have_no_way_between_them() -> None:
    backend, _ = prepared()
    rows = [Row((Write(Site("post_block", 1, (2,)), FromVector(vector(32))),))]
    with pytest.raises(BadRequest, match="of 9 and 7 tokens"):
        linearised(backend, prompt(N, 1), rows, toward=prompt(7, 1), steps=5)


def test_the_model_attends_as_before_and_keeps_no_gradient() -> None:
    backend, _ = prepared()
    tokens = prompt(N, 1)
    before = backend.baselines([(tokens, LOGITS)], [])
    rows = [Row((Write(Site("z", 1, (2,), 0), FromVector(vector(8))),))]
    linearised(backend, tokens, rows)
    backend.forget()
    assert backend.baselines([(tokens, LOGITS)], []) == before
    assert all(weight.grad is None for weight in backend.model.parameters())
    assert not any(module._forward_hooks for module in backend.model.modules())


def test_rows_without_writes_and_no_rows_move_nothing() -> None:
    backend, _ = prepared()
    assert linearised(backend, prompt(N, 1), [Row()]).tolist() == [0.0]
    assert linearised(backend, prompt(N, 1), []).tolist() == []


def test_many_rows_are_looked_at_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    backend, _ = prepared()
    clean, corrupt = pair_of_prompts(N)
    hooks = backend.describe().hooks
    rows = everywhere(backend, captured(backend, clean, hooks), hooks, range(N))
    whole = linearised(backend, corrupt, rows)
    monkeypatch.setattr("sonde.backends.torch.gradient.linear.FLOATS", 32 * 5)
    assert np.array_equal(linearised(backend, corrupt, rows), whole)
    assert Linear.__doc__


def test_hooks_of_heads_are_attended_by_hand_where_weights_are_asked_for() -> None:
    assert {h for h in HEAD_HOOKS if HOOK_TABLE[h].attention} == set(HEAD_HOOKS)
    backend, _ = prepared("gemma2")  # soft caps and windows
    clean, corrupt = pair_of_prompts(12)
    run = captured(backend, clean, ["pattern", "z"])
    with_pattern = linearised(backend, corrupt, everywhere(backend, run, ["pattern", "z"], (11,)))
    alone = linearised(backend, corrupt, everywhere(backend, run, ["z"], (11,)))
    np.testing.assert_allclose(with_pattern[-len(alone) :], alone, rtol=1e-4, atol=1e-6)
    assert torch.is_grad_enabled()
