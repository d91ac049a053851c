"""Snippets laid over one another: every one is there, and the row is short."""

import random

from sonde.sae.shingles import laid


def test_every_window_lies_where_it_is_said_to() -> None:
    draw = random.Random(0)
    text = [draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(400)]
    windows = [tuple(text[at : at + 15]) for at in draw.sample(range(386), 200)]
    windows += [tuple(text[:4]), tuple(text[-1:]), ()]  # a context's ends are shorter
    found = laid(windows)
    assert set(found.starts) == set(windows)
    for window, start in found.starts.items():
        assert tuple(found.row[start : start + len(window)]) == window


def test_windows_of_one_text_come_out_as_that_text() -> None:
    text = list("what was cut from one place is put together")
    windows = [tuple(text[at : at + 8]) for at in range(0, len(text) - 7, 2)]
    windows += [tuple(text[-8:])]
    assert len(laid(reversed(windows)).row) == len(text)


def test_windows_that_would_follow_each_other_in_a_ring_do_not() -> None:
    ring = "abcd"
    windows = [tuple((ring + ring)[at : at + 4]) for at in range(4)]
    found = laid(windows)
    assert len(found.row) == 7
    assert all(
        tuple(found.row[start : start + 4]) == window for window, start in found.starts.items()
    )


def test_nothing_is_laid_in_an_empty_row() -> None:
    assert laid([]) == ([], {})
