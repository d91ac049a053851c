"""Indirect objects: of two people, the one who is named once is given something.

ABBA and BABA say which of the two is named first. The corrupt prompt names the other one again, so
that everything but one name is the same. A name stands twice in a prompt; a role is the name with
the word before it, and its last token is the name.
"""

from itertools import permutations
from typing import Final

from sonde.schema.pair import PromptPair, RoleSpans
from sonde.tasks.task import Task, Variant

NAMES: Final = (
    "Mary", "John", "Anna", "Tom", "Sarah", "Peter", "Laura", "Paul", "Emma", "James", "Alice",
    "David", "Lucy", "Robert", "Julia", "Simon", "Kate", "Daniel", "Susan", "Michael", "Helen",
    "George", "Lisa", "Henry", "Maria", "Martin", "Rachel", "Adam", "Emily", "Kevin", "Karen",
    "Linda", "Eric", "Nancy", "Victor", "Oliver", "Jack", "Ruth", "Ryan", "Thomas",
)  # fmt: skip
PLACES: Final = (
    "park", "station", "market", "office", "library", "museum", "beach", "school", "garden",
    "hospital", "restaurant", "airport", "hotel", "church", "farm", "lake", "bridge", "castle",
)  # fmt: skip
THINGS: Final = (
    "book", "key", "letter", "ring", "map", "camera", "bottle", "ticket", "coat", "phone", "bag",
    "hat", "pen", "basket", "ball", "gift", "box", "knife", "watch", "lamp",
)  # fmt: skip
TEMPLATES: Final = (
    "When {} and {} came back from the {}, {} handed the {} to",
    "While {} and {} were waiting at the {}, {} gave a {} to",
    "After {} and {} had met at the {}, {} brought the {} to",
    "Because {} and {} could not leave the {}, {} offered a {} to",
)
PEOPLE: Final = tuple(permutations(NAMES, 2))


def _pair(
    template: str, people: tuple[str, str], place: str, thing: str, *, first: bool
) -> PromptPair:
    receiver, giver = people
    one, two = (receiver, giver) if first else (giver, receiver)
    before = template.partition(" ")[0]
    named = {one: f"{before} {one}", two: f"and {two}"}
    return PromptPair(
        clean=template.format(one, two, place, giver, thing),
        corrupt=template.format(one, two, place, receiver, thing),
        answer=f" {receiver}",
        foil=f" {giver}",
        roles={
            "receiver": named[receiver],
            "giver": named[giver],
            "giver_again": RoleSpans(clean=f", {giver}", corrupt=f", {receiver}"),
        },
        cluster=f"{'ABBA' if first else 'BABA'}, {before}: {giver}",
    )


def _abba(template: str, people: tuple[str, str], place: str, thing: str) -> PromptPair:
    return _pair(template, people, place, thing, first=True)


def _baba(template: str, people: tuple[str, str], place: str, thing: str) -> PromptPair:
    return _pair(template, people, place, thing, first=False)


IOI: Final = Task(
    "ioi",
    "Of two people the one who was named once is the indirect object.",
    (
        Variant("ABBA", (TEMPLATES, PEOPLE, PLACES, THINGS), _abba),
        Variant("BABA", (TEMPLATES, PEOPLE, PLACES, THINGS), _baba),
    ),
)
