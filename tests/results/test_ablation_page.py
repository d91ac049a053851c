"""Removed features as a page."""

from sonde.results.ablation import render_ablation
from sonde.results.ablation_page import ablation_page
from sonde.results.pen import Pen
from sonde.schema.feature import Label
from tests.results.features import CARD, feature_sweep

FOUND = feature_sweep()


def test_the_page_has_every_number_and_nothing_from_elsewhere() -> None:
    text = ablation_page(FOUND, {1740: CARD}, "why <it>")
    assert text.startswith("<!doctype html>")
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert "http://" not in text
    assert "https://" not in text
    for number in ("−0.75", "−0.50", "−0.25", "+7.00", "Not active here: 88."):
        assert number in text


def test_the_page_says_how_far_to_trust_it() -> None:
    text = ablation_page(FOUND, {1740: CARD}, "why <it>")
    assert "2 directions drawn at random" in text
    assert "0.333, the least there is" in text
    assert "There was nothing to remove." in text
    assert "tiny · post_block, layer 15 · weights abc · dictionary 0123456789abcdef<" in text


def test_a_label_is_shown_with_its_score_and_escaped() -> None:
    label = Label(
        text="to<wers", source="me", score=0.75, measure="detection", scorer="it", examples=20
    )
    text = ablation_page(FOUND, {1740: CARD.model_copy(update={"label": label})}, "why")
    assert "to&lt;wers" in text
    assert "detection 0.75 on 20 snippets by it · me" in text
    drawn = render_ablation(
        FOUND, {1740: CARD.model_copy(update={"label": label})}, pen=Pen(False), width=120,
        title="why",
    )  # fmt: skip
    assert "to<wers (detection 0.75 on 20 snippets by it · me)" in drawn


def test_tokens_and_titles_are_escaped() -> None:
    text = ablation_page(FOUND, {1740: CARD}, "why <it>")
    assert "why &lt;it&gt;" in text
    assert "·is&lt;b&gt;" in text
    assert "<i>" not in text
    assert "\x1b" not in text
