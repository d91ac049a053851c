"""Each activation against its formula, on pre-activations."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from sonde.sae.activations import Activation, BatchTopK, Gated, GroupMax, JumpRelu, Relu, TopK
from tests.sae.formulas import D_SAE, Array, K, drawn, jump, relu, top

PRE = drawn(1, pre=(30, D_SAE))["pre"]
THRESHOLD, GATE, MAG, R_MAG = drawn(
    2, threshold=(D_SAE,), gate=(D_SAE,), mag=(D_SAE,), r_mag=(D_SAE,)
).values()


def signed_top(pre: Array) -> Array:
    kept = top(pre - pre.min() + 1, K) > 0
    return np.where(kept, pre, 0)


def grouped(pre: Array) -> Array:
    groups = relu(pre).reshape(len(pre), 8, -1)
    return np.where(groups == groups.max(2, keepdims=True), groups, 0).reshape(pre.shape)


def gated(pre: Array) -> Array:
    return (pre + GATE > 0) * relu(pre * np.exp(R_MAG) + MAG)


CASES: list[tuple[Activation, Callable[[Array], Array]]] = [
    (Relu(), relu),
    (TopK(K), lambda pre: top(pre, K)),
    (TopK(K, relu=False), signed_top),
    (BatchTopK(K, 0.5), lambda pre: jump(pre, 0.5)),
    (BatchTopK(K, -0.5), relu),
    (JumpRelu(torch.from_numpy(THRESHOLD)), lambda pre: jump(pre, THRESHOLD)),
    (JumpRelu(torch.from_numpy(-THRESHOLD)), relu),
    (Gated(*map(torch.from_numpy, (GATE, MAG, R_MAG))), gated),
    (GroupMax(8), grouped),
]


@pytest.mark.parametrize(
    ("activation", "formula"), CASES, ids=lambda case: getattr(case, "kind", "")
)
@pytest.mark.parametrize("shift", [0.0, -3.0, 3.0], ids=["", "few positive", "few negative"])
def test_an_activation_is_its_formula(
    activation: Activation, formula: Callable[[Array], Array], shift: float
) -> None:
    pre = (PRE + np.float32(shift)).astype(np.float32)
    expected = formula(pre.astype(np.float64))

    found = activation.select(torch.from_numpy(pre.copy()))

    np.testing.assert_allclose(found.dense(D_SAE).numpy(), expected, rtol=1e-6, atol=1e-6)
    assert found.n_active.tolist() == np.count_nonzero(expected, axis=1).tolist()


def test_a_topk_is_sorted_strongest_first() -> None:
    found = TopK(K).select(torch.from_numpy(PRE.copy()))

    assert found.per_token == K
    assert (found.values.view(-1, K).diff(dim=1) <= 0).all()


def test_tensors_are_listed_and_replaced_by_name() -> None:
    moved = CASES[7][0].with_tensors(dict.fromkeys(("b_gate", "b_mag", "r_mag"), torch.zeros(3)))

    assert [*moved.tensors()] == ["b_gate", "b_mag", "r_mag"]
    assert all(each.numel() == 3 for each in moved.tensors().values())
    assert TopK(3).tensors() == {}
