"""A table as rows and columns."""

import numpy as np
import pytest

from sonde.results.views import Coordinate, FoundCell, TableView, alike, briefly, in_words
from tests.results.summaries import LAYERS, SHAPES, TOKENS, axis, table

TWO = TableView.of(table(LAYERS, TOKENS), "logprob")
THREE = TableView.of(table(LAYERS, axis("feature", 7, 9), TOKENS), "logprob")


def test_the_last_of_several_axes_goes_along_and_the_others_up() -> None:
    assert TWO.picture.shape == (3, 2)
    assert (TWO.rows.labels, TWO.columns.labels) == (["0", "3", "6"], ["The", "·Colos"])
    assert THREE.values.shape == (3, 2, 2)
    assert THREE.picture.shape == (6, 2)
    assert THREE.rows.name == "layer.feature"
    assert THREE.rows.labels == ["0.7", "0.9", "3.7", "3.9", "6.7", "6.9"]
    np.testing.assert_array_equal(THREE.picture[3], THREE.values[1, 1])


def test_one_axis_is_a_single_column_and_none_a_single_cell() -> None:
    one = TableView.of(table(LAYERS), "logprob")
    assert (one.values.shape, one.picture.shape) == ((3,), (3, 1))
    assert (one.columns.name, one.columns.labels, one.columns.places) == ("", [""], [()])
    assert TableView.of(table(), "logprob").picture.shape == (1, 1)


def test_values_cannot_be_changed_by_accident() -> None:
    with pytest.raises(ValueError, match="read-only"):
        TWO.values[0, 0] = 1.0


def test_a_place_is_said_with_its_token_and_other_labels_only_where_they_say_more() -> None:
    layer, token = Coordinate("layer", 3, "3"), Coordinate("position", 2, " Colos")
    assert in_words((layer, token)) == "layer 3, position 2 “·Colos”"
    assert briefly((layer, token)) == "layer 3, “·Colos”"
    assert in_words((Coordinate("position", 2, "2"),)) == "position 2 “2”"
    shared = Coordinate("head", 1, "q3–5")
    assert in_words((layer, shared)) == "layer 3, head 1 (q3–5)"
    assert briefly((layer, shared)) == "layer 3, head 1"
    assert in_words((Coordinate("feature", 9, "a\x1b city"),)) == "feature 9 “a\\x1b city”"
    cell = FoundCell(0, 1, 1, "mlp_out", (layer, token), 0.5)
    assert str(cell) == "mlp_out, layer 3, position 2 “·Colos”"
    assert cell.at("position") == token
    assert cell.at("feature") is None
    assert str(FoundCell(0, 0, 0, "mlp_out", (), 0.5)) == "mlp_out"


def test_pictures_of_the_same_axes_stand_together() -> None:
    assert alike(SHAPES["two axes"].views) == [[0, 1]]
    assert alike(SHAPES["unlike axes"].views) == [[0], [1]]
