"""One feature over a whole run, compared with plain Python over the lines."""

import pytest

from sonde.runs.analytics.feature import AROUND, BINS, feature_in_run
from tests.runs.analytics.conftest import Read
from tests.runs.analytics.test_strongest import plainly


def test_counts_histogram_and_snippets_are_those_of_the_lines(run: Read) -> None:
    found = feature_in_run(run.known, run.cursor, 15, 7, snippets=5)
    expected = plainly(run, 15, 7)
    of_layer = [one for one in run.made.records if one["layer_index"] == 15]
    assert found.tokens == sum(7 in one["top_feature_indices"] for one in of_layer)
    assert found.recorded == len(of_layer)
    assert sum(found.counts) == len(expected), "one that was not finite has no place in it"
    assert len(found.edges) == BINS + 1
    high = expected[0][2]
    assert found.edges[-1] == pytest.approx(high)
    tallest = [value for _, _, value in expected if value >= found.edges[-2]]
    assert found.counts[-1] == len(tallest)
    assert [each.value for each in found.snippets] == sorted(
        (each.value for each in found.snippets), reverse=True
    )
    assert found.snippets[0].value == high
    assert len({each.generation_id for each in found.snippets}) == 5


def test_a_snippet_has_the_tokens_around_the_strong_one_where_they_can_be_told(run: Read) -> None:
    untold = feature_in_run(run.known, run.cursor, 15, 7, snippets=1).snippets[0]
    assert untold.tokens == []
    row = next(g for g in run.made.generations if g["generation_id"] == untold.generation_id)
    length = row["completion_tokens"]
    told = feature_in_run(
        run.known, run.cursor, 15, 7, split=lambda _: [f"t{n}" for n in range(length)], snippets=1
    ).snippets[0]
    start = max(0, told.position - AROUND)
    assert told.tokens[0] == f"t{start}"
    assert told.values[told.position - start] == told.value
    wrong = feature_in_run(run.known, run.cursor, 15, 7, split=lambda _: ["a"] * 99, snippets=1)
    assert wrong.snippets[0].tokens == []


def test_a_feature_that_is_nowhere_says_so(run: Read) -> None:
    found = feature_in_run(run.known, run.cursor, 15, 999_999)
    assert (found.tokens, found.edges, found.counts, found.snippets) == (0, [], [], [])
    assert found.reason is not None
