from sonde.runs.analytics.goodlines import records
from sonde.runs.analytics.reading import LineBlock

LINE = b'{"step":1,"token_index":2,"layer_index":3,"top_feature_indices":[]}'
BAD = [
    b"not json",
    b'{"step":NaN,"token_index":2,"layer_index":3}',
    b'{"step":1,"token_index":2,"layer_index":3,"reconstruction_loss":NaN}',
    b'{"step":1,"token_index":2,"layer_index":3,}',
    b'{"step":"1","token_index":2,"layer_index":3}',
    b'{"step":1.5,"token_index":2,"layer_index":3}',
    b'{"step":true,"token_index":2,"layer_index":3}',
    b'{"step":-1,"token_index":2,"layer_index":3}',
    b'{"token_index":2,"layer_index":3}',
    LINE + LINE,
    b"[1,2]",
    LINE[:20],
    b"\xff\xfe",
]


def piece(*lines: bytes, start: int = 100) -> LineBlock:
    data = b"".join(line + b"\n" for line in lines)
    return LineBlock(start, start + len(data), data)


def test_good_lines_are_taken_as_they_are() -> None:
    found = records(piece(LINE, LINE), 10)
    assert (found.lines, found.withheld) == ([LINE, LINE], 0)
    assert found.end == 100 + 2 * len(LINE) + 2


def test_bad_lines_are_withheld_one_by_one_and_their_neighbours_are_not() -> None:
    for bad in BAD:
        found = records(piece(LINE, bad, LINE), 10)
        assert (found.lines, found.withheld) == ([LINE, LINE], 1), bad
    found = records(piece(b"", *BAD, b"  ", LINE + b"\r"), 100)
    assert (found.lines, found.withheld) == ([LINE], len(BAD))


def test_no_more_are_taken_than_were_asked_for_and_the_end_is_theirs() -> None:
    assert records(piece(LINE, LINE, LINE), 2).end == 100 + 2 * (len(LINE) + 1)
    found = records(piece(b"bad", LINE, b"bad", LINE, b"bad"), 1)
    assert (found.lines, found.withheld) == ([LINE], 1)
    assert found.end == 100 + 4 + len(LINE) + 1
    rest = records(piece(b"bad", LINE, b"bad"), 1)
    assert (rest.lines, rest.withheld) == ([LINE], 2)


def test_letters_outside_ascii_do_no_harm() -> None:
    line = LINE[:-1] + ',"note":"ü"}'.encode()
    assert records(piece(line), 5).lines == [line]


def test_a_line_too_long_to_be_read_counts_as_one() -> None:
    found = records(LineBlock(5, 10**7, b""), 10)
    assert (found.lines, found.withheld, found.end) == ([], 1, 10**7)
