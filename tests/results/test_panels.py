"""The heatmap as HTML."""

import re

from sonde.results.panels import color_rules, escaped, legend, panel, table
from sonde.results.scale import Scale
from tests.results.summaries import SHAPES, sweep, three_hooks, with_tokens


def test_a_panel_has_one_cell_for_every_site() -> None:
    assert len(re.findall(r"<i class=", panel(three_hooks(30, 9), 2))) == 270


def test_every_class_of_a_cell_has_a_colour_in_both_themes() -> None:
    result = three_hooks(30, 9)
    rules = color_rules(Scale.of(result))
    markup = legend(result) + "".join(panel(result, n) for n in range(3))
    for name in set(re.findall(r'class="(c-?\d+)', markup)):
        assert rules.count(f".{name} ") == 2


def test_the_top_row_is_the_last_layer_and_the_marks_are_where_they_belong() -> None:
    cells = re.findall(r'<i class="([^"]*)"', panel(sweep(noise_floor=0.25), 0))
    assert cells == ["c40 max", "c-5", "c0 noise", "c0 noise", "c10", "none"]


def test_the_table_twin_has_the_rows_of_the_panel_and_every_number() -> None:
    markup = table(sweep(), 0)
    assert re.findall(r'<th scope="row" data-place="layer \d">(\d+)</th>', markup) == ["1", "0"]
    assert re.findall(r"<td[^>]*>([^<]*)</td>", markup) == [
        "−1.00",
        "−5.50",
        "−5.00",
        "−5.00",
        "−4.00",
        "no number",
    ]
    assert 'title="+4.00"' in markup


def test_other_peoples_text_is_inert_wherever_it_stands() -> None:
    result = with_tokens('"><script>alert(1)</script>', "a\x1b[31m")
    for markup in (panel(result, 0, titles=True), table(result, 0)):
        assert "<script" not in markup
        assert "\x1b" not in markup
        assert '"><' not in re.sub(r'="[^"]*"', "", markup).replace("&quot;", "")
    assert escaped("<b>&\n") == "&lt;b&gt;&amp;\\n"


def test_titles_are_for_pages_without_the_script() -> None:
    assert 'title="layer 1, “&lt;s&gt;”: −1.00"' in panel(sweep(), 0, titles=True)
    assert "title=" not in panel(sweep(), 0)


def test_the_legend_marks_the_baseline_between_its_ends() -> None:
    markup = legend(sweep())
    assert "left:11.11%" in markup  # -5 between -5.5 and -1
    assert "−5.50" in markup
    assert "<b" not in legend(sweep(corrupt=None))


def test_a_panel_and_its_table_have_the_sides_that_the_axes_make() -> None:
    one, three = SHAPES["one axis"], SHAPES["three axes"]
    assert "heatmap of 3 layers. Arrow keys" in panel(one, 0)
    assert "heatmap of 6 layer.features by 2 positions. Arrow" in panel(three, 0)
    markup = table(three, 0)
    assert '<th scope="col">layer.feature</th>' in markup
    assert '<th scope="row" data-place="layer 6, feature 9">6.9</th>' in markup
    assert '<th scope="col" data-place="position 2">' in markup
    assert 'title="layer 6, feature 9, “·Colos”: 0.50"' in panel(three, 0, titles=True)


def test_the_labels_of_any_axis_are_inert() -> None:
    for markup in (panel(SHAPES["words"], 0, titles=True), table(SHAPES["words"], 0)):
        assert "<b>cities" not in markup
        assert "\x1b" not in markup
