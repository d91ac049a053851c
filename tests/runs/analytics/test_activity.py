import pytest

from sonde.runs.analytics.activity import activity
from tests.runs.analytics import plain
from tests.runs.analytics.conftest import Read


def test_it_is_the_sum_of_activations_over_all_records_of_the_step(run: Read) -> None:
    steps = [1, 2, 5, 10**6]
    found = activity(run.known, run.cursor, [(15, 7), (0, 3)], steps)
    for (layer, feature), values in found.items():
        for step, value in zip(steps[:-1], values[:-1], strict=True):
            records = [
                record
                for record in run.made.records
                if (record["step"], record["layer_index"]) == (step, layer)
            ]
            told = [v for _, f, v in plain.activations(records, layer) if f == feature]
            assert value == pytest.approx(sum(told) / len(records))
        assert values[-1] is None
    assert activity(run.known, run.cursor, [(15, 10**6)], [1])[15, 10**6] == [0.0]
    assert activity(run.known, run.cursor, [(3, 1)], [1])[3, 1] == [None]
