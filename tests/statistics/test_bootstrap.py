"""Intervals are scipy's, and hold the truth about as often as they say."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from sonde.statistics import bootstrap
from sonde.statistics.bootstrap import Method, counts, intervals
from sonde.statistics.clusters import Clusters, fold

METHODS: tuple[Method, ...] = ("percentile", "bca")
RNG = np.random.default_rng(0)
SKEWED = RNG.exponential(size=(40, 3))

each_method = pytest.mark.parametrize("method", METHODS)


def ends(clusters: Clusters, method: Method, **options: Any) -> tuple[Any, Any]:
    options = {"level": 0.95, "resamples": 10_000, "seed": 0, **options}
    found = intervals(clusters, method=method, **options)
    assert found.why == {}
    return found.low, found.high


class Same:
    """A generator that gives scipy the very resamples that we draw."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def integers(self, *args: Any, size: tuple[int, int], **_: Any) -> Any:
        rows, n = size
        return np.vstack(
            [
                self._rng.integers(0, n, (min(bootstrap.ROWS, rows - start), n))
                for start in range(0, rows, bootstrap.ROWS)
            ]
        )


@each_method
def test_on_the_same_resamples_an_interval_is_that_of_scipy(
    method: Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    low, high = ends(fold(SKEWED, None, None), method, resamples=2000, seed=3)
    for cell in range(3):
        drawn = Same(3).integers(size=(2000, 40))
        theirs = _scipy(SKEWED[:, cell], drawn, method, monkeypatch)
        assert (low[cell], high[cell]) == pytest.approx(theirs, rel=1e-12)


def _scipy(
    numbers: Any, drawn: Any, method: Method, monkeypatch: pytest.MonkeyPatch
) -> tuple[float, float]:
    from scipy.stats import _resampling

    monkeypatch.setattr(
        _resampling, "_bootstrap_resample", lambda sample, *_, **__: sample[..., drawn]
    )
    found = stats.bootstrap(
        (numbers,), np.mean, n_resamples=2000, method=method, vectorized=True
    ).confidence_interval
    return float(found.low), float(found.high)


@each_method
def test_with_dice_of_its_own_scipy_says_about_the_same(method: Method) -> None:
    low, high = ends(fold(SKEWED, None, None), method)
    theirs = stats.bootstrap((SKEWED,), np.mean, n_resamples=10_000, method=method, rng=1, axis=0)
    assert low == pytest.approx(theirs.confidence_interval.low, abs=0.03)
    assert high == pytest.approx(theirs.confidence_interval.high, abs=0.03)


@each_method
def test_a_ratio_is_resampled_with_its_denominator(method: Method) -> None:
    under = 1 + RNG.random((40, 1))
    top = SKEWED[:, :1] * under
    low, high = ends(fold(top, under, None), method)

    def ratio(a: Any, b: Any, axis: int) -> Any:
        return a.mean(axis=axis) / b.mean(axis=axis)

    theirs = stats.bootstrap(
        (top[:, 0], under[:, 0]), ratio, n_resamples=10_000, method=method, paired=True, rng=1
    ).confidence_interval
    assert low[0] == pytest.approx(theirs.low, abs=0.03)
    assert high[0] == pytest.approx(theirs.high, abs=0.03)


@each_method
def test_ninety_five_per_cent_hold_the_truth(method: Method) -> None:
    """1,000 experiments of 100 trials at once, as the cells of one table."""
    low, high = ends(
        fold(0.3 + np.random.default_rng(1).normal(size=(100, 1000)), None, None), method
    )
    assert 0.93 <= float(((low <= 0.3) & (high >= 0.3)).mean()) <= 0.97


@each_method
def test_so_they_do_where_pairs_of_a_template_share_an_effect(method: Method) -> None:
    rng = np.random.default_rng(2)
    template = np.repeat(np.arange(60), 4)
    values = rng.normal(size=(60, 1000))[template] + rng.normal(size=(240, 1000))
    names = [f"template {one}" for one in template]
    low, high = ends(fold(values, None, names), method)
    assert 0.93 <= float(((low <= 0) & (high >= 0)).mean()) <= 0.97
    low, high = ends(fold(values, None, None), method)
    alone = float(((low <= 0) & (high >= 0)).mean())
    assert alone < 0.85, "taken for independent, their interval is far too narrow"


@each_method
def test_a_cell_has_the_same_interval_in_any_turn(
    method: Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = RNG.normal(size=(30, 7))
    together = ends(fold(values, None, None), method, resamples=500)
    monkeypatch.setattr(bootstrap, "AT_ONCE", 1000)
    apart = ends(fold(values, None, None), method, resamples=500)
    assert np.allclose(together, apart, rtol=1e-12, atol=0)


def test_each_resample_has_so_many_draws() -> None:
    drawn = np.vstack(list(counts(7, 600, 0)))
    assert drawn.shape == (600, 7)
    assert (drawn.sum(axis=1) == 7).all()
    assert drawn.mean(axis=0) == pytest.approx(1.0, abs=0.2)


@each_method
def test_numbers_that_are_all_one_have_an_interval_of_no_width(method: Method) -> None:
    low, high = ends(fold(np.full((12, 2), (0.0, 0.1)), None, None), method)
    assert low.tolist() == high.tolist() == pytest.approx([0.0, 0.1])
