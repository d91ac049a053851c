"""Numbers that compare across dictionaries, against their definitions; None where undefined."""

from dataclasses import astuple

import numpy as np
import pytest
import torch
from torch import Tensor

from sonde.sae.activations import TopK
from sonde.sae.active import Active
from sonde.sae.health import Health, HealthMeter, decoder_norms, fired_features
from sonde.sae.selection import rectangle
from tests.sae.formulas import D_SAE, activations, dictionary

X = activations(tokens=60).astype(np.float64) + 2
X_HAT = X + 0.3 * activations(tokens=60)[::-1]
FVU = ((X - X_HAT) ** 2).sum() / ((X - X.mean(0)) ** 2).sum()
COSINE = ((X * X_HAT).sum(1) / np.linalg.norm(X, axis=1) / np.linalg.norm(X_HAT, axis=1)).mean()
x, x_hat = torch.from_numpy(X).float(), torch.from_numpy(X_HAT).float()


def active(rows: list[list[int]]) -> Active:
    """Tokens with these features; 9 stands for none."""
    indices = torch.tensor(rows)
    return rectangle(indices, (indices != 9).float(), descending=False)


def measured(x: Tensor, x_hat: Tensor, seen: Active | None = None) -> Health:
    """One batch."""
    meter = HealthMeter(10)
    meter.add(x, x_hat, active([[1]] * len(x)) if seen is None else seen)
    return meter.health()


def test_the_mean_explains_nothing_and_the_thing_itself_everything() -> None:
    assert measured(x, x.mean(0).expand_as(x)).fvu == pytest.approx(1, rel=1e-5)
    assert measured(x, x).fvu == 0
    assert measured(x, 3 * x).cosine == pytest.approx(1)


def test_what_is_not_defined_is_none_and_never_nan() -> None:
    same = torch.full((5, 4), 0.1)

    assert measured(same, torch.zeros(5, 4)).fvu is None
    assert measured(torch.zeros(2, 4), torch.ones(2, 4)).cosine is None
    assert astuple(measured(x, torch.full_like(x, torch.nan))) == (0, *[None] * 5, 60)
    assert astuple(HealthMeter(4).health()) == (0, *[None] * 5, 0)


def test_l0_counts_active_features_only() -> None:
    assert measured(x[:3], x_hat[:3], active([[1, 2], [3, 9], [9, 9]])).l0 == 1.0


@pytest.mark.parametrize("batch", [1, 7, 60])
def test_a_meter_gives_the_same_in_any_batches(batch: int) -> None:
    sae = dictionary(TopK(3))
    meter = HealthMeter(D_SAE)
    for start in range(0, 60, batch):
        part = slice(start, start + batch)
        meter.add(x[part], x_hat[part], sae.encode(x[part]))

    health = meter.health()

    assert health.tokens == 60
    assert health.fvu == pytest.approx(FVU, rel=1e-5)
    assert health.cosine == pytest.approx(COSINE, rel=1e-5)
    assert health.l0 == sae.encode(x).n_active.double().mean()
    assert health.dead == pytest.approx(1 - int(fired_features(sae.encode(x), D_SAE).sum()) / D_SAE)
    assert health.input_norm == pytest.approx(np.linalg.norm(X, axis=1).mean(), rel=1e-5)


def test_activations_that_do_not_vary_have_no_fvu_in_a_meter() -> None:
    """Sums of many equal numbers differ by their rounding, which is no variance."""
    same = activations(tokens=1)[0]
    rows = torch.from_numpy(same).expand(1000, -1)
    meter = HealthMeter(10)
    meter.add(rows, torch.zeros_like(rows), active([[1]] * 1000))

    assert meter.health().fvu is None


def test_tokens_that_are_not_finite_are_counted_and_left_out() -> None:
    sae, broken = dictionary(TopK(3)), x.clone()
    broken[4, 1] = torch.nan
    rest = torch.arange(60) != 4
    meter, clean = HealthMeter(D_SAE), HealthMeter(D_SAE)

    meter.add(broken, x_hat, sae.encode(broken))
    clean.add(x[rest], x_hat[rest], sae.encode(x[rest]))

    assert meter.health().not_finite == 1
    assert astuple(meter.health())[:-1] == pytest.approx(astuple(clean.health())[:-1])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_a_meter_on_a_gpu_does_not_wait_and_gives_the_same() -> None:
    sae, here, there = dictionary(TopK(3)), HealthMeter(D_SAE), HealthMeter(D_SAE)
    moved = sae.to("cuda")
    given = x.cuda(), x_hat.cuda(), moved.encode(x.cuda())
    torch.cuda.set_sync_debug_mode("error")
    try:
        there.add(*given)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    here.add(x, x_hat, sae.encode(x))

    assert astuple(there.health()) == pytest.approx(astuple(here.health()), rel=1e-5)


def test_an_entry_of_0_does_not_count_as_firing() -> None:
    indices = torch.tensor([[0, 1]])
    fired = fired_features(rectangle(indices, torch.tensor([[1.0, 0.0]]), descending=True), 3)

    assert fired.tolist() == [True, False, False]


def test_decoder_norms_are_the_lengths_of_its_rows() -> None:
    sae = dictionary()
    norms = np.linalg.norm(sae.W_dec.double().numpy(), axis=1)

    found = decoder_norms(sae)

    assert found.smallest == pytest.approx(norms.min())
    assert found.largest == pytest.approx(norms.max())
    assert norms.min() < found.median < norms.max()
