"""A finished test of the reward as people use it: words, pages, files."""

from functools import cache
from pathlib import Path

import pytest
from rich.cells import cell_len

from sonde.errors import BadRequest
from sonde.results import Provenance, RewardSweep, Sweep, result_of
from sonde.results.reward import in_words, lines
from sonde.results.reward_page import reward_page
from tests.reward.test_sampling import BACKEND, asked, summary


@cache
def result() -> RewardSweep:
    source = Provenance.of(BACKEND.describe(), asked(), versions={})
    found = result_of(summary(asked()), source)
    assert isinstance(found, RewardSweep)
    return found


def test_the_verdict_comes_first_and_every_feature_stands_beside_random_directions() -> None:
    text = list(lines(result(), 100))
    assert " ".join(text).startswith(result().verdict[:40])
    for each in result().effects:
        assert any(line.startswith(each.label) for line in text)
        assert "random directions" in in_words(each)
        assert f"{each.changed} completion" in in_words(each)
    assert any("without any change; 12 prompts" in line for line in text)
    assert text[-1].endswith("adds nothing: the same completions")
    assert all(cell_len(line) <= 60 for line in lines(result(), 60))
    assert str(result()) == "\n".join(text)
    assert result().verdict in repr(result())


def test_completions_that_became_others_are_told_the_costliest_first() -> None:
    [first, *_] = result().effects
    changed = result().completions(first.feature)
    costs = [each.reward_after - each.reward_before for each in changed]
    assert costs == sorted(costs)
    assert len(changed) <= first.changed
    assert all(each.before != each.after for each in changed)
    with pytest.raises(BadRequest, match="was not tested; there are"):
        result().completions(99)


def test_it_is_kept_as_files_and_read_back(tmp_path: Path) -> None:
    kept = result().save(tmp_path / "reward.json")
    again = Sweep.from_json(kept)
    assert isinstance(again, RewardSweep)
    assert again.effects == result().effects
    for suffix in ("html", "png", "svg", "csv"):
        assert result().save(tmp_path / f"reward.{suffix}").stat().st_size > 500
    page = reward_page(result())
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert result().encoded("svg") == result().encoded("svg")
