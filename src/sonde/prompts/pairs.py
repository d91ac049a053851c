"""Demo pairs: prompts that show something on the default model, by name.

In each, SmolLM2-135M-Instruct answers the clean prompt with `answer` and the corrupt one with
`foil`, each as its most likely next token. Deliberately not a benchmark: five pairs are for seeing
that a sweep works, and for examples and tests that need prompts known to differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from sonde.errors import BadRequest


@dataclass(frozen=True)
class DemoPair:
    """Two prompts that differ in one fact, and the one-token answers that tell them apart."""

    name: str
    clean: str
    corrupt: str
    answer: str
    foil: str
    shows: str
    """One sentence on what a sweep over this pair makes visible."""


_ALL = (
    DemoPair(
        name="eiffel",
        clean="The Eiffel Tower is in the city of",
        corrupt="The Colosseum is in the city of",
        answer=" Paris",
        foil=" Rome",
        shows="Where a fact about a landmark sits, and where it moves to the last token.",
    ),
    DemoPair(
        name="ioi",
        clean="When Mary and John went to the store, John gave a drink to",
        corrupt="When Mary and John went to the store, Mary gave a drink to",
        answer=" Mary",
        foil=" John",
        shows="How the model names the person who was not mentioned twice.",
    ),
    DemoPair(
        name="sister",
        clean="My sister lost",
        corrupt="My brother lost",
        answer=" her",
        foil=" his",
        shows="How one noun decides a pronoun, in three tokens: the smallest grid worth a look.",
    ),
    DemoPair(
        name="korea",
        clean="The capital of South Korea is the city of",
        corrupt="The capital of Japan is the city of",
        answer=" Seoul",
        foil=" Tokyo",
        shows="A clean name of two tokens against a corrupt one of one: pairing is a choice.",
    ),
    DemoPair(
        name="britain",
        clean="The capital of France is",
        corrupt="The capital of the United Kingdom is",
        answer=" Paris",
        foil=" London",
        shows="A clean name of one token against a corrupt one of three: some have no counterpart.",
    ),
)

PAIRS: Final[Mapping[str, DemoPair]] = MappingProxyType({pair.name: pair for pair in _ALL})


def demo_pair(name: str) -> DemoPair:
    """The pair of that name."""
    if name not in PAIRS:
        raise BadRequest(f"no demo pair is called {name!r}; there are {sorted(PAIRS)}")
    return PAIRS[name]
