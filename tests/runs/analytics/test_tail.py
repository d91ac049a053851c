from duckdb import DuckDBPyConnection

from sonde.runs.analytics.tail import COLUMNS, Tail

GOOD = (
    b'{"step":1,"token_index":2,"layer_index":3,"top_feature_indices":[4,5],'
    b'"top_feature_activations":[1.5,null],"reconstruction_loss":7.25,"more":{"a":[]}}'
)


def test_lines_become_rows_in_their_order(connection: DuckDBPyConnection) -> None:
    tail = Tail(connection, "in_order")
    assert tail.add([GOOD, GOOD.replace(b'"step":1', b'"step":9')]) == 0
    assert tail.add([GOOD]) == 0
    rows = connection.execute(f"SELECT {COLUMNS} {tail.rows_from(0, 3)}").fetchall()
    assert rows[0] == (1, 2, 3, [4, 5], [1.5, None], 7.25)
    assert [row[0] for row in rows] == [1, 9, 1]
    later = connection.execute(f"SELECT step {tail.rows_from(1, 2)}").fetchall()
    assert later == [(9,)]
    tail.drop()


def test_what_is_no_record_is_left_out_and_counted(connection: DuckDBPyConnection) -> None:
    tail = Tail(connection, "odd")
    wrong = [
        GOOD.replace(b"[4,5]", b"[4]"),
        GOOD.replace(b"[4,5]", b'{"4":5}'),
        GOOD.replace(b'"top_feature_indices":[4,5],', b""),
    ]
    assert tail.add([*wrong, GOOD]) == 3
    assert tail.rows == 1
    assert tail.add([]) == 0
    tail.drop()


def test_numbers_too_large_to_be_any_are_null(connection: DuckDBPyConnection) -> None:
    tail = Tail(connection, "large")
    tail.add([GOOD.replace(b"1.5", b"1e999").replace(b"7.25", b"-1e999")])
    found = connection.execute(f"SELECT activations, loss {tail.rows_from(0, 1)}").fetchall()
    assert found == [([None, None], None)]
    tail.drop()
