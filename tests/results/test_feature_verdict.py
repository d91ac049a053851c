"""The first line of a test of features."""

import pytest

from sonde.results.feature_table import FeatureEffect
from sonde.results.feature_verdict import corrected, verdict


def effect(feature: int | None, everywhere: float | None, *random: float) -> FeatureEffect:
    label = "error" if feature is None else f"7:{feature}"
    return FeatureEffect(feature, label, {}, {}, everywhere, random)


def draws(largest: float, n: int = 19) -> list[float]:
    return [largest * (k + 1) / n for k in range(n)]


def test_a_feature_that_moves_further_than_all_random_directions_matters() -> None:
    effects = [effect(1, -2.0, *draws(0.3)), effect(2, 0.1, *draws(0.3))]
    assert verdict(effects) == (
        "7:1 matters: removed, it moves the answer by −2.00 logits, random directions as long by "
        "at most +0.30 (p 0.0500, corrected over 2 features)."
    )
    both = [effect(1, -2.0, *draws(0.3)), effect(2, 1.9, *draws(0.3))]
    assert verdict(both, "patched").endswith("; so does 7:2.")


def test_none_is_said_honestly_with_the_most_there_is() -> None:
    effects = [effect(1, 0.2, *draws(0.3)), effect(2, 0.1, *draws(0.3))]
    text = verdict(effects)
    assert text.startswith("None of the 2 features tested moves the answer further than random")
    assert "7:1 with +0.20 logits, beside at most +0.30 (corrected p " in text
    assert verdict(effects[:1]).startswith("7:1 does not move the answer further")


def test_too_few_directions_are_no_no() -> None:
    text = verdict([effect(1, -2.0, 0.1, 0.2)])
    assert text.startswith("Nothing is sure with 2 random directions: no p can be below 0.333.")
    assert "nobody knows what that means" in verdict([effect(1, -2.0)])
    assert "No feature has a finite effect" in verdict([effect(1, None, 0.1)])


def test_p_is_corrected_over_features_and_not_over_the_other_rows() -> None:
    alone = corrected([effect(1, 0.5, *draws(0.4)), effect(None, 9.0, *draws(0.4))])
    assert alone == {"7:1": pytest.approx(1 / 20)}
    many = [effect(f, 0.05, *draws(0.4)[f:], *draws(0.4)[:f]) for f in range(2, 19)]
    assert (corrected([effect(1, 0.3, *draws(0.4)), *many])["7:1"] or 0) > 0.25
    assert corrected([effect(1, 0.5)]) == {"7:1": None}
