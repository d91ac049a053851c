"""Removed features in a terminal."""

import pytest
from rich.cells import cell_len

from sonde.results.ablation import in_words, render_ablation
from sonde.results.feature_table import feature_effects
from sonde.results.pen import Pen
from tests.results.features import CARD, RANDOM, REMOVED, feature_sweep, table


def shown(*, color: bool = False, width: int = 90) -> str:
    found = feature_sweep()
    return render_ablation(found, {1740: CARD}, pen=Pen(color), width=width, title="why")


def test_it_says_what_removing_did_and_what_random_directions_do() -> None:
    first = feature_effects(feature_sweep())[0]
    assert in_words(first) == "everywhere −0.75; random directions −0.50 to +1.00; p 0.667"
    text = shown()
    assert "15:1740       everywhere −0.75" in text
    assert "[·is<b> −0.25]" in text
    assert "promotes    ·malt" in text
    assert "“_”, log-probability −0.00130; its logit is +7.00 from that of “-”" in text
    assert "1.10e−5" in text
    assert "not active    88" in text
    assert text.index("15:1740") < text.index("15:9")


def test_a_feature_without_a_finite_number_says_so() -> None:
    broken = table("cells", REMOVED.axes, [None] * 6, REMOVED.activations)
    text = render_ablation(
        feature_sweep([broken, RANDOM]), {}, pen=Pen(False), width=90, title="why"
    )
    assert "no finite number" in text


def test_a_foil_that_was_named_is_not_called_a_rival() -> None:
    found = feature_sweep(notes={})
    text = render_ablation(found, {}, pen=Pen(False), width=90, title="why")
    assert "the answer, log-probability −0.00130; its logit is +7.00 from that of the foil" in text
    assert "not active" not in text


def test_without_colour_there_is_no_escape_and_with_it_only_ours() -> None:
    assert "\x1b" not in shown()
    assert "\x1b[31m" not in shown(color=True)
    assert "\x1b[" in shown(color=True)


@pytest.mark.parametrize("width", [40, 90])
def test_tokens_never_overflow_the_terminal(width: int) -> None:
    lines = shown(width=width).splitlines()
    assert all(cell_len(line) <= width for line in lines if "removed at" in line or line == "why")
