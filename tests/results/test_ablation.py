"""Removed features in a terminal."""

import pytest
from rich.cells import cell_len

from sonde.results.ablation import in_words, render_ablation
from sonde.results.pen import Pen
from sonde.schema.ablation import Ablation, FeatureEffect
from sonde.schema.feature import Feature

EFFECT = FeatureEffect(
    feature=1740,
    activations=[0.0, 3.0, 2.0],
    effects=[None, -0.02, -0.58],
    everywhere=-0.78,
    random=[-0.68, 0.48],
    p=1 / 3,
)
FOUND = Ablation(
    model="tiny",
    weights="abc",
    dictionary="0123456789abcdef0123",
    hook="post_block",
    layer=15,
    tokens=["The", " brush\x1b[31m", " is<b>"],
    answer="_",
    answer_id=3,
    foil="-",
    foil_id=4,
    logprob=-0.0013,
    baseline=7.04,
    control=1.1e-5,
    features=[EFFECT],
    silent=[88],
)
CARD = Feature(feature=1740, rate=0.1, promoted=[" malt", "<i>"], suppressed=[], snippets=[])


def shown(*, color: bool = False, width: int = 90) -> str:
    return render_ablation(FOUND, {1740: CARD}, pen=Pen(color), width=width, title="why")


def test_it_says_what_removing_did_and_what_random_directions_do() -> None:
    assert in_words(EFFECT) == "everywhere −0.78; random directions −0.68 to +0.48; p 0.333"
    text = shown()
    assert "[·is<b> −0.58]" in text
    assert "promotes    ·malt" in text
    assert "its logit is +7.04 from that of “-”" in text
    assert "1.10e−5" in text
    assert "not active    88" in text


def test_without_colour_there_is_no_escape_and_with_it_only_ours() -> None:
    assert "\x1b" not in shown()
    assert "\x1b[31m" not in shown(color=True)
    assert "\x1b[" in shown(color=True)


@pytest.mark.parametrize("width", [40, 90])
def test_tokens_never_overflow_the_terminal(width: int) -> None:
    lines = shown(width=width).splitlines()
    assert all(cell_len(line) <= width for line in lines if "removed at" in line or line == "why")
