"""Contract sections 6.5 and 15: which tokens a piece of text stands for, over HTTP."""

from typing import Any

import httpx
import pytest

from tests.server.contract.asking import SWEEP, refused, summary_of, vector_body

PROMPT = "The Eiffel Tower is in the city of the Tower the Tower"
#           1   2      3     4  5  6   7    8  9   10    11  12; the special token is 0

SPANS: dict[str, tuple[list[Any], list[int]]] = {
    "one token": ([{"span": "Tower"}], [3]),
    "several tokens": ([{"span": "Eiffel Tower is"}], [2, 3, 4]),
    "partial overlap": ([{"span": "owe"}], [3]),
    "crossing a boundary": ([{"span": "fel Tow"}], [2, 3]),
    "leading space": ([{"span": " Tower"}], [3]),
    "only the space before a word": ([{"span": "l "}], [2, 3]),
    "repeated": ([{"span": "Tower", "occurrence": 1}], [10]),
    "repeated, last": ([{"span": "Tower", "occurrence": 2}], [12]),
    "overlapping matches": ([{"span": "the Tower the", "occurrence": 0}], [9, 10, 11]),
    "the whole prompt, never the special token": ([{"span": PROMPT}], list(range(1, 13))),
    "the first characters, never the special token": ([{"span": "T"}], [1]),
    "numbers and spans, once each, in order": (
        [5, {"span": "Eiffel Tower"}, 3, {"span": "Tower is"}, 5, 0],
        [5, 2, 3, 4, 0],
    ),
    "numbers alone keep their duplicates": ([3, 2, 3], [3, 2, 3]),
}


@pytest.mark.parametrize("case", SPANS)
def test_a_span_stands_for_the_tokens_that_share_a_character_with_it(
    http: httpx.Client, case: str
) -> None:
    positions, resolved = SPANS[case]
    body = vector_body(prompt=PROMPT, positions=positions, layers=[1])
    assert summary_of(http, body)["positions"] == resolved


def test_overlapping_matches_count(http: httpx.Client) -> None:
    """“ is is” occurs three times in four of them."""
    prompt = " is is is is"
    for occurrence, resolved in enumerate([[1, 2], [2, 3], [3, 4]]):
        place = {"span": " is is", "occurrence": occurrence}
        body = vector_body(prompt=prompt, positions=[place], layers=[1])
        assert summary_of(http, body)["positions"] == resolved
    body = vector_body(prompt=prompt, positions=[{"span": " is is", "occurrence": 3}])
    refused(http.post(SWEEP, json=body), 400, "out of range")


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ({"span": "Berlin"}, "not found"),
        ({"span": "tower"}, "not found"),
        ({"span": "<|end|>"}, "not found"),
        ({"span": ""}, "non-empty"),
        ({"span": "Tower", "occurrence": 3}, "out of range"),
    ],
)
def test_a_span_that_stands_for_nothing_is_refused(
    http: httpx.Client, place: dict[str, Any], says: str
) -> None:
    body = vector_body(prompt=PROMPT, positions=[0, place])
    refused(http.post(SWEEP, json=body), 400, says)
