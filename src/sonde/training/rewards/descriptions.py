"""Prompts of the catalog task: three worked examples, then a description to put into a formula.

The same seed gives the same prompts in the same order. Examples and descriptions never share a
term, so an answer cannot be copied from above.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sonde.training.rewards.catalog import Catalog, Template

EXAMPLES: Final = (
    ("The lid is made of tin.", "made_of(lid, tin)"),
    ("The leaf is part of the tree.", "part_of(leaf, tree)"),
    ("The fox lives in the forest.", "lives_in(fox, forest)"),
)
"""Their terms are in no description."""

ASK: Final = "{description} ="


@dataclass(frozen=True)
class Question:
    """What a policy is asked, and what would be right."""

    prompt: str
    target: str


def questions(catalog: Catalog, count: int, seed: int) -> list[Question]:
    """Some descriptions, drawn evenly over the templates that can be put into words."""
    draw = random.Random(seed)
    spoken = [each for each in catalog.templates if each.says and not each.is_complex]
    pools = [sorted(described(catalog, template)) for template in spoken]
    for pool in pools:
        draw.shuffle(pool)
    found = []
    for number in range(count):
        pool = pools[number % len(pools)]
        description, target = pool[(number // len(pools)) % len(pool)]
        found.append(Question(_prompt(description), target))
    return found


def described(catalog: Catalog, template: Template) -> Iterator[tuple[str, str]]:
    """Every description of a template with what it describes."""
    used = {
        word
        for _, formula in EXAMPLES
        for word in formula.rstrip(")").replace("(", ", ").split(", ")
    }
    first, second = (
        [term for kind in slot.takes for term in catalog.terms[kind] if term not in used]
        for slot in template.slots
    )
    names = [slot.name for slot in template.slots]
    for one in first:
        for other in second:
            if one != other and template.says:
                filled = dict(zip(names, (one, other), strict=True))
                yield template.says.format(**filled), f"{template.name}({one}, {other})"


def _prompt(description: str) -> str:
    shown = "".join(f"{said} = {formula}\n" for said, formula in EXAMPLES)
    return shown + ASK.format(description=description)
