"""Subject and verb agree in number: after the key, *is*; after the keys, *are*.

Beside the subject alone, a noun of either number comes between it and the verb: in a prepositional
phrase, or in a relative clause, whose own verb has one form for both.
"""

from typing import Final

from sonde.schema.pair import PromptPair, RoleSpans
from sonde.tasks.task import Task, Variant

NOUNS: Final = (
    "key", "book", "car", "house", "tree", "table", "chair", "bird", "horse", "dog", "machine",
    "picture", "letter", "flower", "door", "window", "boat", "ship", "train", "bridge", "road",
    "garden", "bottle", "lamp", "clock", "phone", "computer", "engine", "plant", "song", "poem",
    "building", "tower", "castle", "school", "hotel", "kitchen", "rabbit", "lion", "snake",
)  # fmt: skip
"""Singular and plural are one token each in many vocabularies, so that prompts have one length."""
BETWEEN: Final = ("river", "museum", "hospital", "cup", "star", "hunter", "sailor", "guard")
PEOPLE: Final = ("teacher", "doctor", "farmer", "writer", "singer", "soldier", "lawyer", "pilot")
VERBS: Final = (("is", "are"), ("was", "were"), ("has", "have"))
NUMBERS: Final = (0, 1)
"""Whether it is the plural."""

OPENINGS: Final = ("The", "As you can see, the", "We were told that the", "In this story, the")
PHRASES: Final = ("near the", "behind the", "next to the", "in front of the")
CLAUSES: Final = ("that the {} saw", "that the {} liked", "that the {} remembered")


def _form(noun: str, plural: int) -> str:
    return f" {noun}s" if plural else f" {noun}"


def _pair(
    opening: str, noun: str, plural: int, verb: tuple[str, str], rest: str, middle: str, name: str
) -> PromptPair:
    """The same sentence with the subject in one number and in the other."""
    one, other = _form(noun, plural), _form(noun, 1 - plural)
    subject = RoleSpans(clean=one, corrupt=other)
    return PromptPair(
        clean=f"{opening}{one}{rest}",
        corrupt=f"{opening}{other}{rest}",
        answer=f" {verb[plural]}",
        foil=f" {verb[1 - plural]}",
        roles={"subject": subject} | ({"attractor": middle} if middle else {}),
        cluster=f"{name}: {noun}",
    )


def _simple(opening: str, noun: str, plural: int, verb: tuple[str, str]) -> PromptPair:
    return _pair(opening, noun, plural, verb, "", "", f"simple, {opening}")


def _phrase(
    phrase: str, noun: str, plural: int, other: str, others: int, verb: tuple[str, str]
) -> PromptPair:
    middle = _form(other, others)
    return _pair("The", noun, plural, verb, f" {phrase}{middle}", middle, f"phrase, {phrase}")


def _clause(
    clause: str, noun: str, plural: int, other: str, others: int, verb: tuple[str, str]
) -> PromptPair:
    middle = _form(other, others)
    rest = f" {clause.format(middle.strip())}"
    return _pair("The", noun, plural, verb, rest, middle, f"clause, {clause.format('…')}")


AGREEMENT: Final = Task(
    "agreement",
    "A verb agrees with its subject in number, alone and across a phrase or a relative clause.",
    (
        Variant("simple", (OPENINGS, NOUNS, NUMBERS, VERBS), _simple),
        Variant("phrase", (PHRASES, NOUNS, NUMBERS, BETWEEN, NUMBERS, VERBS), _phrase),
        Variant("clause", (CLAUSES, NOUNS, NUMBERS, PEOPLE, NUMBERS, VERBS), _clause),
    ),
)
