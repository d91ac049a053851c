"""Where a feature was most active, compared with plain Python over the lines."""

from typing import Any

import pytest
from duckdb import DuckDBPyConnection

from sonde.runs.analytics.strongest import strongest
from tests.runs.analytics.conftest import Read, reading
from tests.runs.analytics.made import made_run
from tests.runs.analytics.test_prompt_tokens import with_prompts


def plainly(read: Read, layer: int, feature: int) -> list[tuple[str, int, float]]:
    """The same by looking at every line."""
    found = []
    for record in read.made.records:
        if record["layer_index"] != layer or feature not in record["top_feature_indices"]:
            continue
        at = record["top_feature_indices"].index(feature)
        value = record["top_feature_activations"][at]
        for line in read.made.generations:
            start, end = line["token_start"], line["token_end"]
            inside = start <= record["token_index"] < end
            if line["step"] == record["step"] and inside and value is not None:
                found.append((line["generation_id"], record["token_index"] - start, value))
    return sorted(found, key=lambda each: -each[2])


@pytest.mark.parametrize(("layer", "feature"), [(15, 7), (0, 3)])
def test_the_strongest_tokens_of_the_whole_run_come_first(
    run: Read, layer: int, feature: int
) -> None:
    spots = strongest(run.known, run.cursor, layer, feature, limit=20)
    ids = run.known.generations.ids
    found = [(ids[spot.place], spot.position, spot.activation) for spot in spots]
    expected = plainly(run, layer, feature)[:20]
    assert [each[2] for each in found] == [each[2] for each in expected]
    assert set(found) <= set(plainly(run, layer, feature))
    assert len(found) == len(expected) >= 12


def test_a_feature_that_is_nowhere_has_none(run: Read) -> None:
    assert strongest(run.known, run.cursor, 15, 999_999) == []


def test_the_last_token_of_a_prompt_is_at_minus_one(
    tmp_path: Any, connection: DuckDBPyConnection
) -> None:
    made = made_run(tmp_path / "run")
    with reading(made, connection) as read:
        with_prompts(read)
    with reading(made, connection) as read:
        spots = strongest(read.known, read.cursor, 15, 38, limit=5)
    assert {(spot.position, spot.activation) for spot in spots} == {(-1, 9000.0)}
