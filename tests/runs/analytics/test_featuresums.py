import numpy as np
import pytest

from sonde.runs.analytics import featuresums
from sonde.runs.analytics.axis import axis
from sonde.runs.analytics.featuresums import all_names, bin_columns, counted, of_part, ranked
from tests.runs.analytics.conftest import Read


def test_features_beyond_any_dictionary_are_ranked_all_the_same(
    run: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = axis("step", 1, 13)
    sums = [found for part in run.known.parts if (found := of_part(part, 15, at))]
    usual = ranked(sums, "sum")
    monkeypatch.setattr(featuresums, "DENSE", 3)
    assert ranked(sums, "sum").tolist() == usual.tolist()
    assert counted(np.array([9, 4, 9]))[0].tolist() == [4, 9]


def test_names_are_united_and_counted() -> None:
    assert all_names([np.array([2, 5]), np.array([5, 7]), np.array([])]).tolist() == [2, 5, 7]
    assert all_names([]).tolist() == []
    names, counts = counted(np.array([3, 1, 3]))
    assert (names.tolist(), counts.tolist()) == ([1, 3], [1, 2])
    assert counted(np.zeros(0, np.int64))[0].tolist() == []


def test_totals_of_part_of_a_part_are_those_of_its_rows(run: Read) -> None:
    part = next(part for part in run.known.parts if part.first_step < part.last_step)
    whole = of_part(part, 15, axis("step", 0, 100))
    inside = of_part(part, 15, axis("step", part.first_step, part.first_step + 1))
    after = of_part(part, 15, axis("step", part.first_step + 1, 100))
    assert whole is not None
    assert inside is not None
    assert after is not None
    added = [int(each.totals("count")[1].sum()) for each in (inside, after, whole)]
    assert added[0] + added[1] == added[2]
    assert of_part(part, 15, axis("step", 500, 501)) is None
    assert of_part(part, 99, axis("step", 0, 100)) is None


def test_a_bin_is_in_the_column_of_its_step_or_block(run: Read, reference: Read) -> None:
    part = run.known.parts[0]
    assert bin_columns(part, axis("step", 0, 32, level=2)).tolist() == [
        step // 4 for step in part.bins["step"]
    ]
    tokens = bin_columns(reference.known.parts[-1], axis("token", 0, 10**6, step=0, most=512))
    assert set(tokens.tolist()) == {1}
