"""The strongest cells of other trials: the same ones, or not."""

import numpy as np
import pytest
from scipy import stats

from sonde.errors import BadRequest
from sonde.statistics import stability
from sonde.statistics.stability import top

RNG = np.random.default_rng(0)
STRONG = np.linspace(-3, 3, 40)


def test_cells_that_hold_are_the_same_in_every_half_and_cluster() -> None:
    values = STRONG + 1e-6 * RNG.normal(size=(60, 40))
    found = stability(values, clusters=["a", "b", "c"] * 20, k=6)
    assert found.halves.jaccard == 1.0
    assert found.halves.spearman == pytest.approx(1.0)
    assert (found.between_clusters.jaccard, found.between_clusters.compared) == (1.0, 3)


def test_cells_of_noise_share_what_chance_gives() -> None:
    found = stability(RNG.normal(size=(200, 100)), k=10, splits=300)
    assert found.halves.jaccard == pytest.approx(1 / 19, abs=0.03)
    assert found.halves.spearman == pytest.approx(0, abs=0.1)


def test_templates_that_disagree_show_between_clusters_and_not_between_halves() -> None:
    """Each half has trials of every template; no two templates have a cell in common."""
    template = np.arange(200) % 4
    values = 0.01 * RNG.normal(size=(200, 40))
    for one in range(4):
        values[template == one, one * 5 : one * 5 + 5] += [1, 2, 4, 8, 16][one]
    whole = stability(values, k=5)
    apart = stability(values, clusters=[f"template {one}" for one in template], k=5)
    assert whole.halves.jaccard is not None
    assert whole.halves.jaccard > 0.9
    assert apart.between_clusters.jaccard == 0.0


def test_two_clusters_are_compared_as_scipy_does() -> None:
    values = RNG.integers(0, 5, size=(2, 30)).astype(float)
    found = stability(values, clusters=["a", "b"], k=7).between_clusters
    one, other = top(values, 7)
    assert found.spearman == pytest.approx(stats.spearmanr(values[0], values[1]).statistic)
    assert found.jaccard == pytest.approx((one & other).sum() / (one | other).sum())


def test_a_cluster_is_never_cut_in_two() -> None:
    """Two clusters have one way to be halves, whatever the dice."""
    values = RNG.normal(size=(50, 20))
    found = stability(values, clusters=["a"] * 10 + ["b"] * 40, k=3)
    assert found.halves.jaccard == pytest.approx(found.between_clusters.jaccard)
    assert found.halves.spearman == pytest.approx(found.between_clusters.spearman)


def test_what_cannot_be_compared_says_why() -> None:
    few = stability(RNG.normal(size=(10, 5)), k=10)
    assert few.halves.jaccard is None
    assert few.halves.spearman is not None
    assert "5 cells are no more than k, 10" in str(few.halves.reason)
    assert few.between_clusters.reason == "there are no two clusters"
    one = stability(RNG.normal(size=(1, 30)))
    assert one.halves.reason == "two trials, or clusters, are needed"
    same = stability(np.zeros((4, 30)))
    assert same.halves.spearman is None
    assert same.halves.reason == "all cells of a half, or of a cluster, are the same"
    with pytest.raises(BadRequest, match="k is 0"):
        stability(np.zeros((4, 30)), k=0)


def test_cells_that_some_trial_lacks_are_left_out_and_counted() -> None:
    values = STRONG + 1e-6 * RNG.normal(size=(8, 40))
    values[3, :4] = np.nan
    assert stability(values, k=4).left_out == 4
    assert stability(np.full((3, 2), np.nan), k=1).halves.reason is not None


def test_the_same_seed_gives_the_same_halves() -> None:
    values = RNG.normal(size=(30, 25))
    assert stability(values, seed=1) == stability(values, seed=1)
    assert stability(values, seed=1) != stability(values, seed=2)
