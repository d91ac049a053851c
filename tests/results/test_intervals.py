"""Cells of a sweep over pairs with their intervals: which come first, and what is said of them."""

import numpy as np

from sonde.results import PairSweep
from sonde.results.intervals import (
    Interval,
    interval_plot,
    lines,
    strongest_intervals,
    verdict,
)
from tests.results.test_pairs import model, swept


def test_the_strongest_are_those_farthest_from_the_baseline_with_the_sweep_s_own_numbers() -> None:
    found = swept(right=True)
    every = strongest_intervals(found, 100)
    flat = np.concatenate([found.mean[hook].ravel() for hook in ("z", "v")])
    assert [abs(each.mean) for each in every] == sorted(abs(flat), reverse=True)
    layer, head = np.unravel_index(np.argmax(abs(found.mean["z"])), found.mean["z"].shape)
    own = next(each for each in every if each.label == f"z {layer}.{head}")
    for grid, value in zip((found.mean, found.low, found.high, found.p), own[1:], strict=True):
        assert grid["z"][layer, head] == value
    assert strongest_intervals(found, 2) == every[:2]


def test_a_cell_that_is_no_head_is_called_by_its_axes() -> None:
    pairs = swept(right=True).pairs
    found = model().sweep(
        pairs=pairs, hooks="post_block", positions=["name_last"], metric="recovered",
        drop_wrong=False,
    )  # fmt: skip
    assert isinstance(found, PairSweep)
    assert strongest_intervals(found, 1)[0].label.startswith("post_block, layer ")


def test_the_verdict_names_the_strongest_that_is_sure_or_says_that_none_is() -> None:
    found = swept(right=True)
    never, always = found.statistics(alpha=0.0), found.statistics(alpha=1.0)
    strongest = strongest_intervals(found, 1)[0]
    assert "none moves the answer by more than chance does" in verdict(never)
    assert strongest.label in verdict(never)
    of = found.mean["z"].size + found.mean["v"].size
    assert f"{of} of the {of} are told from 0" in verdict(always)
    assert f"{len(found.pairs)} pairs and {of} heads" in verdict(always)
    sure = next(each for each in strongest_intervals(found, of) if each.p <= 0.5)
    assert verdict(found.statistics(alpha=0.5)).startswith(f"{sure.label} matters: ")


def test_a_sweep_tells_its_verdict_and_shows_its_intervals() -> None:
    import matplotlib.pyplot as plt

    found = swept(right=True)
    assert found.verdict == verdict(found)
    figure = found.intervals(2)
    assert len(figure.axes[0].get_yticklabels()) == 2
    plt.close(figure)


def test_a_line_has_its_interval_where_its_numbers_say() -> None:
    one, other = lines([Interval("z 1.0", 1.0, 0.5, 1.0, 0.01), Interval("z 1.10", 0, 0, 0, 1.0)])
    assert one.index("●") - one.index("│") == 19
    assert one.count("─") == 9
    assert "1.00 [0.50, 1.00], p 0.0100" in one
    assert other.startswith("z 1.10  ●")


def test_the_picture_is_of_the_strongest_and_greys_what_is_not_sure() -> None:
    found = swept(right=True)
    figure = interval_plot(found.statistics(alpha=0.0), 3)
    ax = figure.axes[0]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [each.label for each in strongest_intervals(found, 3)][::-1]
    colors = {line.get_color() for line in ax.lines if line.get_marker() == "o"}
    assert colors == {"#9aa0a6"}
