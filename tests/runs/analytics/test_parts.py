import numpy as np
from duckdb import DuckDBPyConnection

from sonde.runs.analytics.parts import FEATURE, sum_up, table
from sonde.runs.analytics.tail import Tail
from tests.runs.analytics.conftest import Read


def test_a_part_knows_its_records_steps_and_layers(run: Read) -> None:
    parts = run.known.parts
    assert len(parts) > 4, "several volumes and pieces"
    assert sum(part.records for part in parts) == len(run.made.records)
    assert min(part.first_step for part in parts) == 1
    assert max(part.last_step for part in parts) == 12


def test_rows_of_features_lie_sorted_and_the_index_says_where(run: Read) -> None:
    part = run.known.parts[0]
    assert part.spans["layer"].tolist() == [0, 15]
    assert part.span(3) is None
    for span in part.spans:
        feature, start, count = (
            part.stored.read(name, span["first"], span["end"])
            for name in ("feature", "start", "count")
        )
        assert feature.tolist() == sorted(set(feature.tolist()))
        ends = np.append(start[1:], span["stop"])
        for begin, end, total in zip(start, ends, count, strict=True):
            rows = part.stored.read("rows", begin, end)
            assert (np.diff(rows["bin"].astype(int)) > 0).all()
            assert rows["count"].sum() == total


def test_records_without_features_are_counted_and_have_no_rows(
    connection: DuckDBPyConnection,
) -> None:
    tail = Tail(connection, "bare")
    line = b'{"step":3,"token_index":20000,"layer_index":2,"top_feature_indices":[],'
    tail.add([line + b'"top_feature_activations":[],"reconstruction_loss":null}'])
    part = sum_up(connection, tail.rows_from(0, 1))
    assert part.records == 1
    assert len(part.stored.read("rows", 0, 10)) == len(part.spans) == 0
    assert part.bins.tolist() == [(3, 1, 20000, 20000)]
    assert part.layers["loss_count"].tolist() == [0]
    assert part.layers["active_sum"].tolist() == [0.0]
    tail.drop()


def test_a_sum_of_nothing_is_nothing() -> None:
    columns = {"bin": [1], "count": [0], "low": [0.0], "high": [0.0]}
    rows = table(FEATURE, columns | {"sum": np.ma.masked_array([1.0], [True])})
    assert rows["sum"].tolist() == [0.0]
