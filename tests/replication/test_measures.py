"""What measures make of pairs in which two roles are one token, and of too few."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from sonde.replication.measures import crossing, relay
from sonde.replication.parts import Parts
from sonde.schema.pair import PromptPair
from tests.results.test_pairs import NAMES, model

APART, ONE = (
    [
        PromptPair(
            clean=f"The {a}{rest}", corrupt=f"The {b}{rest}", answer=" Paris", foil=" Rome",
            roles={"name": {"clean": f" {a}", "corrupt": f" {b}"}},  # type: ignore[dict-item]
        )
        for a, b in zip(NAMES, NAMES[1:], strict=False)
    ]
    for rest in (" is in the Tower of", "")
)  # fmt: skip
"""The second kind ends with the name, which is at `name_last` and at `end`, in any layer."""


def parts(pairs: list[PromptPair]) -> Parts:
    """Only what these measures read."""
    swept = model().sweep(
        pairs=pairs, hooks=["post_block"], positions=["name_last", "end"], metric="recovered",
        drop_wrong=False,
    )  # fmt: skip
    return cast(Parts, SimpleNamespace(residual=swept))


def asked(measure: Any, pairs: list[PromptPair]) -> Any:
    return measure(parts(pairs), "name_last", "end")


@pytest.mark.parametrize("measure", [relay, crossing])
def test_pairs_in_which_both_roles_are_one_token_say_nothing_of_a_hand_over(measure: Any) -> None:
    alone, mixed = asked(measure, APART), asked(measure, [*ONE, *APART])
    assert mixed == alone
    assert f"{len(APART)} pairs in which these are two positions" in alone.said
    none = asked(measure, ONE)
    assert (none.value, none.low, none.high) == (None, None, None)
    assert "0 pairs in which these are two positions" in none.said


def test_a_number_without_an_interval_says_why() -> None:
    found = asked(relay, APART[:1])
    assert found.value is not None
    assert found.low is None
    assert "so there is no interval" in found.said
