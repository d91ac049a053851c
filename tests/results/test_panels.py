"""The heatmap as HTML."""

import re

from sonde.results.panels import color_rules, escaped, legend, panel, table
from sonde.results.scale import Scale
from tests.results.summaries import sweep, three_hooks, with_tokens


def test_a_panel_has_one_cell_for_every_site() -> None:
    assert len(re.findall(r"<i class=", panel(three_hooks(30, 9), "mlp_out"))) == 270


def test_every_class_of_a_cell_has_a_colour_in_both_themes() -> None:
    result = three_hooks(30, 9)
    rules = color_rules(Scale.of(result))
    markup = legend(result) + "".join(panel(result, hook) for hook in result.hooks)
    for name in set(re.findall(r'class="(c-?\d+)', markup)):
        assert rules.count(f".{name} ") == 2


def test_the_top_row_is_the_last_layer_and_the_marks_are_where_they_belong() -> None:
    cells = re.findall(r'<i class="([^"]*)"', panel(sweep(noise_floor=0.25), "post_block"))
    assert cells == ["c40 max", "c-5", "c0 noise", "c0 noise", "c10", "none"]


def test_the_table_twin_has_the_rows_of_the_panel_and_every_number() -> None:
    markup = table(sweep(), "post_block")
    assert re.findall(r'<th scope="row">(\d+)</th>', markup) == ["1", "0"]
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
    for markup in (panel(result, "post_block", titles=True), table(result, "post_block")):
        assert "<script" not in markup
        assert "\x1b" not in markup
        assert '"><' not in re.sub(r'="[^"]*"', "", markup).replace("&quot;", "")
    assert escaped("<b>&\n") == "&lt;b&gt;&amp;\\n"


def test_titles_are_for_pages_without_the_script() -> None:
    assert 'title="layer 1, “&lt;s&gt;”: −1.00"' in panel(sweep(), "post_block", titles=True)
    assert "title=" not in panel(sweep(), "post_block")


def test_the_legend_marks_the_baseline_between_its_ends() -> None:
    markup = legend(sweep())
    assert "left:11.11%" in markup  # -5 between -5.5 and -1
    assert "−5.50" in markup
    assert "<b" not in legend(sweep(corrupt=None))
