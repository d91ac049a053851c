"""Removed features as a page."""

from sonde.results.ablation_page import ablation_page
from tests.results.test_ablation import CARD, FOUND


def test_the_page_has_every_number_and_nothing_from_elsewhere() -> None:
    text = ablation_page(FOUND, {1740: CARD}, "why <it>")
    assert text.startswith("<!doctype html>")
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert "http://" not in text
    assert "https://" not in text
    for number in ("−0.78", "−0.58", "−0.02", "+7.04", "Not active here: 88."):
        assert number in text


def test_the_page_says_how_far_to_trust_it() -> None:
    text = ablation_page(FOUND, {1740: CARD}, "why <it>")
    draws = len(FOUND.features[0].random)
    assert f"{draws} directions drawn at random" in text
    assert f"{1 / (1 + draws):.3f}, the least there is" in text
    assert "There was nothing to remove." in text


def test_tokens_and_titles_are_escaped() -> None:
    text = ablation_page(FOUND, {1740: CARD}, "why <it>")
    assert "why &lt;it&gt;" in text
    assert "·is&lt;b&gt;" in text
    assert "<i>" not in text
    assert "\x1b" not in text
