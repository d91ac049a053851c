"""Grades a completion of the catalog task against the composition that was described.

R_A  it parses, and the catalog knows template, slots and every filler
R_B  share of slots filled with what was described
R_C  nothing follows the composition
R_D  how close the template is in meaning to the described one, above chance
"""

from sonde.training.rewards.catalog import Catalog
from sonde.training.rewards.grammar import Composition, NotAComposition, parse
from sonde.training.rewards.scores import INVALID, Scores
from sonde.training.rewards.topics import Topics


class CatalogVerifier:
    """The verifier of one catalog."""

    def __init__(self, catalog: Catalog, topics: Topics) -> None:
        self._catalog = catalog
        self._topics = topics

    def __call__(self, prompt: str, completion: str, *, target: str, **_: object) -> Scores:
        """Grade the first line of a completion."""
        line, _newline, after = completion.strip().partition("\n")
        try:
            said = parse(line)
        except NotAComposition:
            return INVALID
        if not self._catalog.knows(said):
            return Scores(a=False)
        wanted = parse(target)
        return Scores(
            a=True,
            b=_slots(wanted, said),
            c=float(not after.strip()),
            d=self._topics.agreement(wanted.name, said.name),
        )


def _slots(wanted: Composition, said: Composition) -> float:
    """Share of the wanted fillers that are where they belong."""
    right = sum(
        place < len(said.fillers) and said.fillers[place] == filler
        for place, filler in enumerate(wanted.fillers)
    )
    return right / len(wanted.fillers)
