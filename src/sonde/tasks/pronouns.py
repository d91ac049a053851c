"""Gendered pronouns: who was named decides between *he* and *she*, *his* and *her*."""

from itertools import product
from typing import Final

from sonde.schema.pair import PromptPair, RoleSpans
from sonde.tasks.task import Task, Variant

WOMEN: Final = (
    "Mary", "Anna", "Sarah", "Laura", "Emma", "Alice", "Jane", "Lucy", "Julia", "Kate", "Susan",
    "Helen", "Lisa", "Maria", "Rachel", "Emily", "Karen", "Linda", "Nancy", "Elizabeth",
)  # fmt: skip
MEN: Final = (
    "John", "Tom", "Peter", "Paul", "James", "David", "Robert", "Simon", "Daniel", "Michael",
    "George", "Henry", "Frank", "Martin", "Adam", "Andrew", "Kevin", "Eric", "William", "Charles",
)  # fmt: skip
SUBJECT: Final = (
    "When {} came home late,",
    "We asked {} to stay, but",
    "Everybody likes {} because",
    "If {} is hungry,",
)
OWN: Final = (
    "Yesterday {} was proud of",
    "Last week {} forgot to lock",
    "In the morning {} opened the door and put on",
)


def _pair(template: str, names: tuple[str, str], woman: bool, words: tuple[str, str]) -> PromptPair:
    """The same sentence about a woman and about a man."""
    clean, corrupt = names if woman else names[::-1]
    answer, foil = words if woman else words[::-1]
    return PromptPair(
        clean=template.format(clean),
        corrupt=template.format(corrupt),
        answer=answer,
        foil=foil,
        roles={"name": RoleSpans(clean=f" {clean}", corrupt=f" {corrupt}")},
        cluster=f"{template.format('…')} {clean}",
    )


def _subject(template: str, names: tuple[str, str], woman: bool) -> PromptPair:
    return _pair(template, names, woman, (" she", " he"))


def _own(template: str, names: tuple[str, str], woman: bool) -> PromptPair:
    return _pair(template, names, woman, (" her", " his"))


_NAMES: Final = tuple(product(WOMEN, MEN))

PRONOUNS: Final = Task(
    "pronouns",
    "A pronoun agrees with the name it stands for.",
    (
        Variant("subject", (SUBJECT, _NAMES, (True, False)), _subject),
        Variant("possessive", (OWN, _NAMES, (True, False)), _own),
    ),
)
