import math
from collections.abc import Callable

import pytest

from sonde.errors import BadRequest
from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.heatmap import feature_tile, layer_tile, time_axis
from sonde.schema.analytics import Measure, Ranking, Tile
from tests.runs.analytics import plain
from tests.runs.analytics.conftest import Read


def as_cells(tile: Tile) -> dict[tuple[int, int], tuple[int, float, float, float]]:
    """(row's name, column) -> count, mean, least, greatest."""
    found = {}
    for row, name in enumerate(tile.rows):
        for column in range(tile.columns):
            if count := tile.count[row][column]:
                mean, low, high = (
                    values[row][column] for values in (tile.mean, tile.low, tile.high)
                )
                assert mean is not None
                assert low is not None
                assert high is not None
                found[name, column] = (count, mean, low, high)
            else:
                assert tile.mean[row][column] is None
    return found


def same(found: object, expected: dict[tuple[int, int], tuple[int, float, float, float]]) -> None:
    assert isinstance(found, dict)
    assert found.keys() == expected.keys()
    for key, (count, mean, low, high) in expected.items():
        assert found[key][0] == count
        assert found[key][1] == pytest.approx(mean, rel=1e-12)
        assert found[key][2:] == (low, high)  # extremes to the last bit


@pytest.mark.parametrize("measure", ["loss", "activation", "active"])
@pytest.mark.parametrize("columns", [256, 5, 1])
def test_layers_over_steps_are_what_adding_up_by_hand_gives(
    run: Read, measure: Measure, columns: int
) -> None:
    tile = layer_tile(
        run.known, run.cursor, time_axis(run.known, None, None, None, columns=columns), measure
    )
    assert tile.columns <= columns
    expected = plain.cells(
        (
            (record["layer_index"], (record["step"] - tile.start) // tile.width),
            plain.measured(record, measure),
        )
        for record in run.made.records
    )
    same(as_cells(tile), expected)


@pytest.mark.parametrize("columns", [256, 4])
@pytest.mark.parametrize("stretch", [(None, None), (3, 9)])
def test_features_over_steps_are_what_adding_up_by_hand_gives(
    run: Read, columns: int, stretch: tuple[int | None, int | None]
) -> None:
    at = time_axis(run.known, "step", *stretch, columns=columns)
    tile = feature_tile(run.known, run.cursor, at, 15, top=40)
    end = tile.start + tile.columns * tile.width
    expected = plain.cells(
        ((feature, (record["step"] - tile.start) // tile.width), value)
        for record, feature, value in plain.activations(run.made.records, 15)
        if tile.start <= record["step"] < end
    )
    same(as_cells(tile), expected)
    records = [0] * tile.columns
    for record in run.made.records:
        if record["layer_index"] == 15 and tile.start <= record["step"] < end:
            records[(record["step"] - tile.start) // tile.width] += 1
    assert tile.records == [records]


@pytest.mark.parametrize("level", [0, 1, 3])
def test_tokens_of_one_step_are_shown_as_finely_as_they_are_recorded(run: Read, level: int) -> None:
    at = time_axis(run.known, "token", None, None, level=level, step=7)
    mine = [record for record in run.made.records if record["step"] == 7]
    layers = layer_tile(run.known, run.cursor, at)
    same(
        as_cells(layers),
        plain.cells(
            (
                (record["layer_index"], (record["token_index"] - layers.start) >> level),
                record["reconstruction_loss"],
            )
            for record in mine
        ),
    )
    features = feature_tile(run.known, run.cursor, at, 0, top=40)
    same(
        as_cells(features),
        plain.cells(
            ((feature, (record["token_index"] - features.start) >> level), value)
            for record, feature, value in plain.activations(mine, 0)
        ),
    )


@pytest.mark.parametrize("level", [3, 14])
def test_a_run_that_counts_no_steps_is_shown_by_tokens(reference: Read, level: int) -> None:
    """Level 14 comes from sums, level 3 from records."""
    at = time_axis(reference.known, None, 0, 4096 if level == 3 else None, level=level)
    assert at is not None
    assert (at.unit, at.step) == ("token", 0)
    tile = layer_tile(reference.known, reference.cursor, at)
    features = feature_tile(reference.known, reference.cursor, at, 0, top=40)
    end = tile.start + tile.columns * tile.width
    mine = [record for record in reference.made.records if record["token_index"] < end]
    same(
        as_cells(tile),
        plain.cells(
            ((0, record["token_index"] >> level), record["reconstruction_loss"]) for record in mine
        ),
    )
    same(
        as_cells(features),
        plain.cells(
            ((feature, record["token_index"] >> level), value)
            for record, feature, value in plain.activations(mine, 0)
        ),
    )


@pytest.mark.parametrize("by", ["sum", "count", "high"])
@pytest.mark.parametrize("stretch", [(1, 13), (4, 7)])
def test_features_are_ranked_within_the_stretch_that_is_shown(
    run: Read, by: Ranking, stretch: tuple[int, int]
) -> None:
    first, end = stretch
    at = time_axis(run.known, "step", first, end)
    tile = feature_tile(run.known, run.cursor, at, 15, by=by, top=10, skip=2)
    totals: dict[int, list[float]] = {}
    for record, feature, value in plain.activations(run.made.records, 15):
        if first <= record["step"] < end:
            totals.setdefault(feature, []).append(value)
    score: dict[Ranking, Callable[[list[float]], float]]
    score = {"sum": math.fsum, "count": len, "high": max}
    ranked = sorted(totals, key=lambda name: (-round(score[by](totals[name]), 9), name))
    assert tile.rows == ranked[2:12]


def test_features_can_be_named_in_any_order_and_an_unknown_one_is_empty(run: Read) -> None:
    at = time_axis(run.known, None, None, None)
    tile = feature_tile(run.known, run.cursor, at, 15, features=[9, 7, 123456, 7])
    assert tile.rows == [9, 7, 123456]
    assert not any(tile.count[2])
    alone = feature_tile(run.known, run.cursor, at, 15, features=[7])
    assert alone.count[0] == tile.count[1]


def test_one_spike_among_many_tokens_shows_at_every_width(run: Read) -> None:
    highest = max(
        record["reconstruction_loss"] or 0
        for record in run.made.records
        if record["layer_index"] == 15
    )
    for columns in (256, 8, 2, 1):
        at = time_axis(run.known, None, None, None, columns=columns)
        tile = layer_tile(run.known, run.cursor, at)
        assert max(value or 0 for value in tile.high[1]) == highest


def test_columns_stay_what_they_are_when_a_run_grows(run: Read) -> None:
    short = layer_tile(run.known, run.cursor, time_axis(run.known, None, 1, 9, level=1))
    longer = layer_tile(run.known, run.cursor, time_axis(run.known, None, 1, 13, level=1))
    assert longer.start == short.start
    assert [row[: short.columns] for row in longer.mean] == short.mean


def test_a_run_without_records_is_empty_and_says_so(run: Read) -> None:
    nothing = RunContents()
    at = time_axis(nothing, None, None, None)
    assert at is None
    assert layer_tile(nothing, run.cursor, at).reason
    tile = feature_tile(nothing, run.cursor, at, 15)
    assert (tile.rows, tile.columns) == ([], 0)
    assert tile.reason


def test_more_rows_than_can_be_shown_are_refused(run: Read) -> None:
    at = time_axis(run.known, None, None, None)
    with pytest.raises(BadRequest, match="ask for fewer"):
        feature_tile(run.known, run.cursor, at, 15, top=1000)
    with pytest.raises(BadRequest, match="no records of step 99"):
        time_axis(run.known, "token", None, None, step=99)
