"""Attention as a result: arrays, pictures and files that hold the same numbers."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from sonde.errors import BadRequest
from sonde.results import Attention
from sonde.results.attention_page import page
from sonde.results.attention_panels import panels
from sonde.results.attention_plot import image
from sonde.results.attention_text import render
from sonde.results.pen import Pen
from tests.results.summaries import provenance

TOKENS = ["The", " Colos", "seum", " is"]


def patterns(layers: int = 2, heads: int = 3) -> Attention:
    drawn = np.random.default_rng(0).random((layers, heads, 4, 4)).astype(np.float32)
    drawn = np.tril(drawn)
    drawn /= drawn.sum(-1, keepdims=True)
    return Attention(
        TOKENS, [1, 2, 3, 4], list(range(4, 4 + layers)), list(range(heads)), drawn, None,
        provenance(),
    )  # fmt: skip


def scores() -> Attention:
    previous = np.array([[0.1, 0.9], [0.2, 0.4]])
    nothing = np.full((2, 2), np.nan)
    return Attention(
        TOKENS, [1, 2, 3, 4], [4, 5], [0, 1], None,
        {"previous": previous, "duplicate": nothing, "induction": nothing}, provenance(),
    )  # fmt: skip


def test_json_reads_back_to_the_last_bit(tmp_path: Path) -> None:
    for found in (patterns(), scores()):
        again = Attention.from_json(found.save(tmp_path / "found.json"))
        assert (again.tokens, again.token_ids) == (found.tokens, found.token_ids)
        assert (again.layers, again.heads) == (found.layers, found.heads)
        assert again.provenance == found.provenance
        if found.patterns is not None:
            assert again.patterns is not None
            assert again.patterns.dtype == np.float32
            assert np.array_equal(again.patterns, found.patterns)
        for name, each in (found.scores or {}).items():
            assert again.scores is not None
            np.testing.assert_array_equal(again.scores[name], each)
        assert "NaN" not in found.to_json()
    with pytest.raises(BadRequest, match="not attention saved as JSON"):
        Attention.from_json("{}")


def test_csv_has_a_line_for_every_key_that_a_position_can_see() -> None:
    found = patterns()
    head, *lines = csv.reader(io.StringIO(found.to_csv()))
    assert head == ["layer", "head", "position", "token", "key", "key_token", "weight"]
    assert len(lines) == 2 * 3 * (1 + 2 + 3 + 4)
    layer, which, position, token, key, seen, weight = lines[-1]
    assert (layer, which, position, token, key, seen) == ("5", "2", "3", " is", "3", " is")
    assert np.float32(weight) == found.pattern(5, 2)[3, 3]
    assert len(list(csv.reader(io.StringIO(scores().to_csv())))) == 1 + 3 * 4


def test_a_head_that_was_not_asked_for_is_refused() -> None:
    with pytest.raises(BadRequest, match=r"head 7 is not among the heads asked for: \[0, 1, 2\]"):
        patterns().pattern(4, 7)
    with pytest.raises(BadRequest, match="holds head scores"):
        scores().pattern(4, 0)
    with pytest.raises(BadRequest, match="holds patterns"):
        patterns().top("previous")


def test_the_highest_scores_come_first_and_missing_ones_never() -> None:
    assert scores().top("previous", 2) == [(4, 1, 0.9), (5, 1, 0.4)]
    assert scores().top("induction") == []


def test_scores_have_their_last_layer_on_top_and_patterns_their_first_position() -> None:
    first = panels(scores())[0]
    assert (first.rows, first.columns) == (["5", "4"], ["0", "1"])
    assert first.values[0].tolist() == [0.2, 0.4]
    drawn = panels(patterns())[0]
    assert drawn.rows[0] == "0 The"
    assert np.isnan(drawn.values[0, 1:]).all()


def test_the_terminal_says_what_each_position_looks_at_most() -> None:
    found = patterns(1, 1)
    assert found.patterns is not None
    text = render(found, pen=Pen(color=False), width=80)
    key = int(found.patterns[0, 0, 3].argmax())
    assert f"on {key} " in text.splitlines()[-1]
    assert "\x1b" not in text
    assert "\x1b" in render(found, pen=Pen(color=True), width=80)
    for width in (20, 40, 80):
        shown = render(found, pen=Pen(color=False), width=width).splitlines()
        assert max(map(len, shown)) <= width
    assert "previous   4.1 0.90   5.1 0.40" in render(scores(), pen=Pen(color=False), width=80)
    assert "no such keys" in render(scores(), pen=Pen(color=False), width=80)


def test_pictures_and_pages_hold_other_peoples_text_without_obeying_it() -> None:
    found = patterns(1, 2)
    found.tokens[0] = "<script>$x^2$"
    assert "<script>" not in page(found)
    assert image(found, "png").startswith(b"\x89PNG")
    assert image(found, "svg") == image(found, "svg")
    assert b"<svg" in scores().encoded("svg")
    assert page(scores()).count("<table>") == 3


def test_more_patterns_than_a_picture_has_room_for_are_refused() -> None:
    with pytest.raises(BadRequest, match="66 patterns are more than .* 64"):
        patterns(11, 6).encoded("png")
    with pytest.raises(BadRequest, match="png, svg, html, json, csv"):
        patterns().save("found.parquet")
