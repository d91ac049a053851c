"""Greater than: what begins in 1782 ends after it, so its tens are not 2 to 7.

For vocabularies that split numbers into digits. The prompt ends inside the second year, and the
next digit is graded: of two years the digits above the later one's tens against those between the
two. Either of the two is the clean one.
"""

from typing import Final

from sonde.schema.pair import PromptPair, RoleSpans
from sonde.tasks.task import Task, Variant

EVENTS: Final = (
    "war", "siege", "expedition", "strike", "drought", "voyage", "reign", "project", "career",
    "conflict", "marriage", "plague",
)  # fmt: skip
CENTURIES: Final = (14, 15, 16, 17, 18)
TENS: Final = tuple((low, high) for low in range(1, 6) for high in range(low + 2, 9))
"""Something lies between them, and something above."""
ONES: Final = (1, 2, 3, 4, 6, 7, 8, 9)
TEMPLATES: Final = (
    "The {} lasted from the year {} to the year {}",
    "The {} began in {} and ended in {}",
)


def _pair(
    template: str, event: str, century: int, tens: tuple[int, int], ones: int, *, late: bool
) -> PromptPair:
    low, high = tens
    years = {ten: f"{century}{ten}{ones}" for ten in tens}
    clean, corrupt = (years[high], years[low]) if late else (years[low], years[high])
    above, between = _digits(high + 1, 10), _digits(low + 1, high)
    return PromptPair(
        clean=template.format(event, clean, century),
        corrupt=template.format(event, corrupt, century),
        answer=above if late else between,
        foil=between if late else above,
        roles={
            "year": RoleSpans(clean=clean, corrupt=corrupt),
            "tens": RoleSpans(clean=clean[:-1], corrupt=corrupt[:-1]),
        },
        cluster=f"{template.split()[2]}: {event}",
    )


def _digits(start: int, stop: int) -> list[str | int]:
    return [str(digit) for digit in range(start, stop)]


def _late(template: str, event: str, century: int, tens: tuple[int, int], ones: int) -> PromptPair:
    return _pair(template, event, century, tens, ones, late=True)


def _early(template: str, event: str, century: int, tens: tuple[int, int], ones: int) -> PromptPair:
    return _pair(template, event, century, tens, ones, late=False)


_WORDS: Final = (TEMPLATES, EVENTS, CENTURIES, TENS, ONES)

GREATER_THAN: Final = Task(
    "greater-than",
    "What begins in one year ends in a later one; digit by digit.",
    (Variant("late", _WORDS, _late), Variant("early", _WORDS, _early)),
)
