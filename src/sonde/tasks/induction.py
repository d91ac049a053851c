"""Induction: a list of random words begins again, and goes on as it did before.

In the corrupt prompt another word stood in that place, so the same pattern has another answer.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

from sonde.schema.pair import PromptPair, RoleSpans
from sonde.tasks.task import Task, Variant

WORDS: Final = (
    "stone", "river", "paper", "apple", "garden", "window", "music", "winter", "bread", "silver",
    "orange", "table", "horse", "coffee", "dream", "island", "letter", "mountain", "forest",
    "bridge", "castle", "market", "flower", "pencil", "doctor", "button", "kitchen", "blanket",
    "candle", "pocket", "mirror", "ladder", "shadow", "basket", "hammer", "anchor", "copper",
    "cotton", "dragon", "engine", "feather", "guitar", "helmet", "jungle", "kettle", "lemon",
    "magnet", "needle", "ocean", "parrot", "rabbit", "saddle", "ticket", "umbrella", "valley",
    "wagon", "yellow", "zebra", "bottle", "circle", "desert", "eagle", "finger", "glass", "honey",
)  # fmt: skip
"""No word is the beginning of another."""
LISTS: Final = range(10_000)
SHORT: Final = (6, 7, 8)
LONG: Final = (12, 14, 16)


def _pair(number: int, period: int, *, name: str) -> PromptPair:
    """A list of `period` words, said again up to one of its middle ones."""
    rng = Random(f"{name}/{period}/{number}")
    dice = [rng.random() for _ in WORDS]
    shuffled = [word for _, word in sorted(zip(dice, WORDS, strict=True))]
    words, other = shuffled[:period], shuffled[period]
    place = 2 + int(rng.random() * (period - 3))
    changed = [*words[:place], other, *words[place + 1 :]]
    again = words[:place]
    return PromptPair(
        clean=_said(words, again),
        corrupt=_said(changed, again),
        answer=f" {words[place]}",
        foil=f" {other}",
        roles={"before": RoleSpans(clean=f" {words[place]}", corrupt=f" {other}")},
        cluster=f"{name}, {period} words: {words[place]}",
    )


def _said(words: Sequence[str], again: Sequence[str]) -> str:
    return " ".join(["Words:", *words, *again])


def _short(number: int, period: int) -> PromptPair:
    return _pair(number, period, name="short")


def _long(number: int, period: int) -> PromptPair:
    return _pair(number, period, name="long")


INDUCTION: Final = Task(
    "induction",
    "A list of random words that begins again goes on as before.",
    (Variant("short", (LISTS, SHORT), _short), Variant("long", (LISTS, LONG), _long)),
)
