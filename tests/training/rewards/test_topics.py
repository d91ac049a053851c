import json

import pytest

from sonde.errors import BadReward
from sonde.training.rewards.catalog import DATA, NULL_STATS_FILE, TOPICS_FILE, load_catalog
from sonde.training.rewards.topics import load_topics, null_statistics


def test_the_null_statistics_are_those_of_the_topics() -> None:
    weights = json.loads(TOPICS_FILE.read_text())
    assert json.loads(NULL_STATS_FILE.read_text()) == null_statistics(weights)


def test_every_template_has_topics() -> None:
    assert set(json.loads(TOPICS_FILE.read_text())) == set(load_catalog().by_name)


def test_the_wanted_template_counts_full_and_a_strange_one_nothing() -> None:
    topics = load_topics()
    for name in load_catalog().by_name:
        assert topics.agreement(name, name) == pytest.approx(1)
    assert topics.agreement("made_of", "eats") == 0
    assert 0 < topics.agreement("made_of", "part_of") < 1


def test_missing_files_are_named() -> None:
    with pytest.raises(BadReward, match=r"absent\.json"):
        load_topics(DATA / "absent.json")
