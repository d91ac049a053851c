"""How numbers are written."""

import pytest

from sonde.results.numbers import (
    all_of,
    count,
    decimals_for,
    duration,
    fixed,
    number,
    rate,
    signed,
    size,
    span,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (0.66, "0.660"),
        (-5.2149, "−5.21"),
        (12.345, "12.3"),
        (1350.4, "1,350"),
        (1.2e-7, "1.20e−7"),
        (-3.5e9, "−3.50e9"),
        (None, "—"),
        (float("nan"), "—"),
    ],
)
def test_a_number_has_three_significant_digits_and_a_proper_minus(
    value: float | None, text: str
) -> None:
    assert number(value) == text


def test_numbers_beside_each_other_share_their_decimals() -> None:
    assert [fixed(value, 2) for value in (-5.0, 0.126, 12.0)] == ["−5.00", "0.13", "12.00"]


def test_what_rounds_to_nothing_has_no_sign() -> None:
    assert fixed(-0.001, 2) == "0.00"
    assert signed(0.001, 2) == "0.00"
    assert signed(-0.001, 2) == "0.00"


def test_a_difference_shows_its_sign() -> None:
    assert [signed(value, 1) for value in (1.5, -1.5, 0.0, None)] == ["+1.5", "−1.5", "0.0", "—"]


def test_decimals_show_three_digits_of_a_magnitude() -> None:
    assert [decimals_for(m) for m in (450.0, 45.0, 4.5, -0.045, 0.0)] == [0, 1, 2, 4, 2]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0071, "7.1 ms"),
        (0.71, "0.71 s"),
        (12.34, "12.3 s"),
        (125.0, "2 min 05 s"),
        (3725.0, "1 h 02 min"),
    ],
)
def test_a_duration_uses_the_unit_that_fits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_sizes_are_binary() -> None:
    assert [size(n) for n in (512, 2048, 12.3 * 2**20, 5 * 2**40)] == [
        "512 B",
        "2.0 KiB",
        "12.3 MiB",
        "5.0 TiB",
    ]


def test_rates_and_counts_name_what_they_count() -> None:
    assert rate(380.3, "cells") == "380 cells/s"
    assert count(1, "layer") == "1 layer"
    assert count(1350, "cell") == "1,350 cells"


def test_a_span_is_from_the_least_to_the_most() -> None:
    assert span([0.25, -0.5, 0.0], 2) == "−0.50 to +0.25"
    assert span([], 1) == "0.0 to 0.0"


def test_names_in_a_sentence() -> None:
    assert [all_of(names) for names in (["7"], ["7", "15"], ["7", "15", "21"])] == [
        "7", "7 and 15", "7, 15 and 21",
    ]  # fmt: skip
