"""A role is found in each of its prompts, and its tokens there are paired."""

import pytest

from sonde.errors import SpanNotFound
from sonde.prompts.roles import TokenText, has_role, role_names, role_sources
from sonde.schema.pair import Role, RoleSpans


def words(text: str) -> TokenText:
    """One token a word, with the blank before it."""
    offsets, start = [], 0
    for word in text.split(" "):
        end = start + len(word) + (start > 0)
        offsets.append((start, end))
        start = end
    return text, offsets


CLEAN, CORRUPT = words("The big Eiffel Tower is"), words("The Colosseum is")
ROLES: dict[str, Role] = {
    "subject": RoleSpans(clean="Eiffel Tower", corrupt="Colosseum"),
    "verb": " is",
}


def test_the_columns_of_a_pair_are_its_roles_and_its_end() -> None:
    assert role_names(ROLES) == ["subject", "verb", "end"]
    assert role_names({"end": " is"}) == ["end"]
    assert [has_role(ROLES, n) for n in ("verb", "verb_last", "end", "noun", "noun_last")] == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_a_role_in_both_prompts_is_where_it_stands_in_each() -> None:
    assert role_sources(ROLES, "verb", CLEAN, CORRUPT, "strict") == {2: (4,)}
    assert role_sources(ROLES, "end", CLEAN, CORRUPT, "strict") == {2: (4,)}


def test_the_last_token_of_a_role_has_one_counterpart_whatever_its_length() -> None:
    assert role_sources(ROLES, "subject_last", CLEAN, CORRUPT, "strict") == {1: (3,)}


@pytest.mark.parametrize(
    ("pairing", "sources"), [("mean", (2, 3)), ("proportional", (3,)), ("first", (2,))]
)
def test_a_role_of_other_lengths_is_paired_as_the_middle_of_two_prompts_is(
    pairing: str, sources: tuple[int, ...]
) -> None:
    found = role_sources(ROLES, "subject", CLEAN, CORRUPT, pairing)  # type: ignore[arg-type]
    assert found == {1: sources}


def test_a_role_that_cannot_be_paired_says_what_could() -> None:
    with pytest.raises(SpanNotFound, match=r"2 token\(s\) in the clean .*take subject_last"):
        role_sources(ROLES, "subject", CLEAN, CORRUPT, "strict")


def test_a_role_has_to_be_in_the_prompt_once() -> None:
    with pytest.raises(SpanNotFound, match="'Rome' is not in the clean prompt"):
        role_sources({"a": "Rome"}, "a", CLEAN, CORRUPT, "strict")
    twice = words("is it is")
    with pytest.raises(SpanNotFound, match="2 times in the clean prompt"):
        role_sources({"a": "is"}, "a", twice, CORRUPT, "strict")
    assert role_sources({"end": "is"}, "end", twice, CORRUPT, "strict") == {2: (2,)}
