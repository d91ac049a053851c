import numpy as np
import torch

from sonde.training.encoding import Encoder
from sonde.training.pieces import PassSlice
from tests.training.test_pieces import sample
from tests.training.tiny_run import by_formula, tiny_sae


def test_features_and_losses_are_those_of_the_formula() -> None:
    sae = tiny_sae(1)
    x = torch.randn(5, 16, generator=torch.Generator().manual_seed(0))
    piece = PassSlice((sample(0), sample(1)), (2, 5), 2, {7: torch.cat([x[:1], x[1:4]])})
    encoder = Encoder({7: sae}, k=16)
    first, second = encoder.encode([piece])
    assert (len(first.features[7]), len(second.features[7])) == (1, 3)
    wanted = by_formula(x[1:4].numpy(), sae)
    for token, (indices, values, loss) in enumerate(wanted):
        found = second.features[7]
        n = int((found.values[token] != 0).sum())
        assert found.indices[token, :n].tolist() == indices
        np.testing.assert_allclose(found.values[token, :n], values, rtol=1e-5)
        np.testing.assert_allclose(found.losses[token], loss, rtol=1e-5)


def test_activations_of_any_precision_are_encoded_in_float32() -> None:
    sae = tiny_sae(1)
    x = torch.randn(3, 16, generator=torch.Generator().manual_seed(0)).bfloat16()
    piece = PassSlice((sample(0),), (3,), 1, {7: x})
    (found,) = Encoder({7: sae}, k=4).encode([piece])
    wanted = by_formula(x.float().numpy(), sae, k=4)
    np.testing.assert_allclose(found.features[7].values, [row[1] for row in wanted], rtol=1e-5)


def test_health_is_over_what_came_since_the_last_look() -> None:
    encoder = Encoder({0: tiny_sae(2)}, k=16)
    assert encoder.meters[0].dead_share is None
    x = torch.randn(6, 16, generator=torch.Generator().manual_seed(1))
    encoder.encode([PassSlice((sample(0),), (6,), 1, {0: x})])
    health = encoder.meters[0].look()
    assert health.tokens == 6
    assert health.fvu is not None
    assert encoder.meters[0].look().tokens == 0
    share = encoder.meters[0].dead_share
    assert share is not None
    assert 0 <= share < 1


def test_one_value_that_is_not_finite_spoils_no_mean() -> None:
    encoder = Encoder({0: tiny_sae(2)}, k=16)
    x = torch.randn(4, 16, generator=torch.Generator().manual_seed(1))
    x[2, 3] = float("nan")
    (found,) = encoder.encode([PassSlice((sample(0),), (4,), 1, {0: x})])
    assert np.isnan(found.features[0].losses[2])
    health = encoder.meters[0].look()
    assert health.fvu is None or np.isfinite(health.fvu)


def test_a_completion_that_was_left_out_has_nothing_recorded() -> None:
    encoder = Encoder({0: tiny_sae(2)}, k=16)
    piece = PassSlice((sample(0), sample(1)), (2, 2), 1, {0: torch.randn(4, 16)})
    first, second = encoder.encode([piece.only(frozenset({1}))])
    assert first.features == {}
    assert second.records == 2
    assert second.weight > 0
