import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.errors import BadRequest
from sonde.runs.analytics.axis import FINE_TOKENS, axis


@given(st.integers(0, 10**9), st.integers(1, 10**9), st.integers(1, 512))
def test_columns_hold_the_stretch_and_are_the_finest_that_fit(
    start: int, length: int, most: int
) -> None:
    at = axis("step", start, start + length, most=most)
    assert at.start <= start
    assert at.end >= start + length
    assert 1 <= at.columns <= most
    assert at.start % at.width == 0
    if at.level:
        finer = (start + length - 1 >> at.level - 1) - (start >> at.level - 1) + 1
        assert finer > most


def test_long_stretches_of_tokens_are_shown_in_blocks() -> None:
    assert axis("token", 0, FINE_TOKENS, most=512, step=3).fine
    long = axis("token", 0, FINE_TOKENS + 1, most=512, step=3)
    assert (long.level, long.columns, long.fine) == (14, 9, False)
    assert not axis("step", 0, 2).fine


@pytest.mark.parametrize(
    ("start", "end", "asked"),
    [(5, 5, {}), (5, 4, {}), (0, 10, {"most": 0}), (0, 10, {"most": 513}), (0, 1000, {"level": 0})],
)
def test_what_cannot_be_shown_is_refused(start: int, end: int, asked: dict[str, int]) -> None:
    with pytest.raises(BadRequest):
        axis("step", start, end, **asked)
