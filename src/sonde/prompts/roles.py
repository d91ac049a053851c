"""Roles of a prompt pair: named spans, found in each of its prompts.

A role that stands in both prompts may begin or end with other tokens in either: it is looked for in
each by itself. Its tokens in one are then paired with those in the other as the middle of two
prompts is.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from sonde.errors import SpanNotFound
from sonde.prompts.align import pair_span
from sonde.prompts.spans import Interval, find_matches, tokens_overlapping
from sonde.schema import Pairing
from sonde.schema.pair import Role, RoleSpans

LAST: Final = "_last"
END: Final = "end"

TokenText = tuple[str, Sequence[Interval]]
"""A prompt and the characters of each of its tokens."""


def role_names(roles: Mapping[str, Role]) -> list[str]:
    """The columns that a pair has by itself: its roles in their order, and the end."""
    return [*roles, *([] if END in roles else [END])]


def has_role(roles: Mapping[str, Role], name: str) -> bool:
    """Whether a pair can say where this is."""
    return name == END or name in roles or name.removesuffix(LAST) in roles


def role_sources(
    roles: Mapping[str, Role], name: str, clean: TokenText, corrupt: TokenText, pairing: Pairing
) -> dict[int, tuple[int, ...]]:
    """For each corrupt token of a role, the clean tokens that serve it."""
    if name == END and END not in roles:
        return {len(corrupt[1]) - 1: (len(clean[1]) - 1,)}
    whole = name in roles
    role = roles[name if whole else name.removesuffix(LAST)]
    spans = role if isinstance(role, RoleSpans) else RoleSpans(clean=role, corrupt=role)
    theirs = _tokens(spans.clean, clean, name, "clean")
    ours = _tokens(spans.corrupt, corrupt, name, "corrupt")
    if not whole:
        return {ours[-1]: (theirs[-1],)}
    paired = pair_span(len(theirs), len(ours), pairing)
    if len(paired) < len(ours):
        raise SpanNotFound(
            f"role {name!r} has {len(theirs)} token(s) in the clean prompt and {len(ours)} in the "
            f"corrupt one; take {name}{LAST}, or pairing 'proportional' or 'mean'"
        )
    return {ours[i]: tuple([theirs[j] for j in chosen]) for i, chosen in paired.items()}


def _tokens(span: str, prompt: TokenText, name: str, which: str) -> list[int]:
    """The tokens of its one match; an `end` is where the prompt ends, wherever else it stands."""
    text, offsets = prompt
    starts = find_matches(span, text)
    if name.removesuffix(LAST) == END and text.endswith(span):
        starts = starts[-1:]
    if not starts:
        raise SpanNotFound(f"role {name!r}: {span!r} is not in the {which} prompt {text[:200]!r}")
    if len(starts) > 1:
        raise SpanNotFound(
            f"role {name!r}: {span!r} is {len(starts)} times in the {which} prompt; "
            "take more of the text around it"
        )
    tokens = tokens_overlapping((starts[0], starts[0] + len(span)), offsets)
    if not tokens:
        raise SpanNotFound(f"role {name!r}: {span!r} covers no token of the {which} prompt")
    return tokens
