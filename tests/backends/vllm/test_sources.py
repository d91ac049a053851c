"""The store decides once, and the ranks hear of it."""

from typing import Any

import pytest

from sonde.backends.vllm.sources import RankedRuns
from sonde.errors import RequestTooLarge, SourceRunDropped, UnknownSourceRun
from sonde.store.source_runs import Contents


class Ranks:
    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def tell(self, method: str, *args: Any) -> None:
        self.told.append((method, *args))

    def dropped(self) -> list[str]:
        return [key for method, key in self.told if method == "drop_patch_source_run"]


def contents(n_bytes: int = 40) -> Contents:
    return Contents("digest", 3, ("mlp_in",), (0,), (0,), n_bytes, "w")


@pytest.fixture
def ranks() -> Ranks:
    return Ranks()


@pytest.fixture
def runs(ranks: Ranks) -> RankedRuns:
    return RankedRuns(100, ranks)


def test_what_makes_room_is_dropped_on_the_ranks(runs: RankedRuns, ranks: Ranks) -> None:
    for name in ("a", "b", "c"):
        runs.put(name, contents(), f"{name}@1")
    assert list(runs.manifests()) == ["b", "c"]
    assert ranks.dropped() == ["a@1"]


def test_a_leased_run_is_not_what_makes_room(runs: RankedRuns, ranks: Ranks) -> None:
    runs.put("a", contents(), "a@1")
    assert runs.lease("a", "me")
    runs.put("b", contents(), "b@1")
    runs.put("c", contents(), "c@1")
    assert ranks.dropped() == ["b@1"]
    assert ("lease_patch_source_runs", ["a@1"]) in ranks.told
    assert runs.release("a", "me")
    assert ranks.told[-1] == ("lease_patch_source_runs", [])


def test_a_replaced_run_goes_from_the_ranks_and_the_new_one_stays(
    runs: RankedRuns, ranks: Ranks
) -> None:
    old = runs.put("a", contents(), "a@1")
    new = runs.put("a", contents(), "a@2")
    assert ranks.dropped() == ["a@1"]
    assert runs.keys({"a": None}, "w")() == {"a": "a@2"}
    with pytest.raises(SourceRunDropped):
        runs.keys({"a": old.generation}, "w")()
    assert runs.keys({"a": new.generation}, "w")() == {"a": "a@2"}


def test_a_run_given_up_goes_with_its_last_lease(runs: RankedRuns, ranks: Ranks) -> None:
    made = runs.put("a", contents(), "a@1")
    runs.lease("a", "other")
    assert runs.drop("a", made.generation)
    assert ranks.dropped() == []
    runs.release("a", "other")
    assert ranks.dropped() == ["a@1"]
    assert not runs.drop("a", made.generation)


def test_a_drop_is_a_drop_leased_or_not(runs: RankedRuns, ranks: Ranks) -> None:
    runs.put("a", contents(), "a@1")
    read = runs.keys({"a": None}, "w")
    runs.lease("a", "me")
    assert runs.drop("a")
    assert not runs.drop("a")
    assert ranks.dropped() == ["a@1"]
    with pytest.raises(SourceRunDropped):
        read()
    with pytest.raises(UnknownSourceRun):
        runs.keys({"a": None}, "w")


def test_what_does_not_fit_is_refused_before_it_is_captured(runs: RankedRuns) -> None:
    with pytest.raises(RequestTooLarge, match="source_budget"):
        runs.check("a", 101)
    assert runs.budget_bytes == 100
