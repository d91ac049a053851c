"""The catalog: terms of a few kinds, and templates whose slots take them.

Small and versioned, because rewards are only comparable under one catalog. A term that is not in it
does not exist; a slot takes terms of its kinds, or, where it says so, another composition.
"""

from functools import cached_property
from pathlib import Path
from typing import Final

from pydantic import ConfigDict, Field, ValidationError

from sonde.errors import BadReward
from sonde.schema.base import Wire
from sonde.training.metadata import Task
from sonde.training.rewards.grammar import Composition

DATA: Final = Path(__file__).parent / "catalog_data"
CATALOG_FILE: Final = DATA / "catalog.json"
TOPICS_FILE: Final = DATA / "topics.json"
NULL_STATS_FILE: Final = DATA / "null_stats.json"

COMPOSITION: Final = "composition"
"""The kind of slot that another composition fills."""


class Slot(Wire):
    """One place of a template."""

    name: str
    takes: list[str]
    """Kinds of terms, or `composition`."""


class Template(Wire):
    """One way to put terms together."""

    name: str
    slots: list[Slot]
    says: str | None = None
    """The sentence that describes it, slots in braces; None where it is not put into words."""

    @property
    def is_complex(self) -> bool:
        """Whether it is made of other compositions."""
        return any(COMPOSITION in slot.takes for slot in self.slots)


class Catalog(Wire):
    """All terms and templates."""

    model_config = ConfigDict(ignored_types=(cached_property,))

    name: str
    version: str
    terms: dict[str, list[str]]
    """Terms by kind. A term may be of several kinds."""
    templates: list[Template] = Field(min_length=1)

    @cached_property
    def by_name(self) -> dict[str, Template]:
        """Templates by name."""
        return {template.name: template for template in self.templates}

    @cached_property
    def kinds(self) -> dict[str, frozenset[str]]:
        """The kinds of each term."""
        found: dict[str, set[str]] = {}
        for kind, terms in self.terms.items():
            for term in terms:
                found.setdefault(term, set()).add(kind)
        return {term: frozenset(kinds) for term, kinds in found.items()}

    def knows(self, composition: Composition) -> bool:
        """Whether template, number of slots and every filler are of this catalog."""
        template = self.by_name.get(composition.name)
        if template is None or len(template.slots) != len(composition.fillers):
            return False
        pairs = zip(template.slots, composition.fillers, strict=True)
        return all(self._fits(slot, filler) for slot, filler in pairs)

    def _fits(self, slot: Slot, filler: str | Composition) -> bool:
        if isinstance(filler, Composition):
            return COMPOSITION in slot.takes and self.knows(filler)
        return bool(self.kinds.get(filler, frozenset()) & set(slot.takes))


def load_catalog(path: Path = CATALOG_FILE) -> Catalog:
    """Read a catalog, and refuse one that contradicts itself."""
    try:
        catalog = Catalog.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        reason = str(error).splitlines()[0]
        raise BadReward(f"cannot read the catalog {path}: {reason}") from error
    for template in catalog.templates:
        for slot in template.slots:
            if unknown := set(slot.takes) - {*catalog.terms, COMPOSITION}:
                raise BadReward(
                    f"{path}: slot {slot.name!r} of {template.name!r} takes {sorted(unknown)}; "
                    f"there are {sorted(catalog.terms)}"
                )
    return catalog


def catalog_task(catalog: Catalog, path: Path = CATALOG_FILE) -> Task:
    """What a run on this catalog depends on."""
    return Task(
        name="catalog",
        catalog_path=str(path),
        catalog_version=catalog.version,
        n_templates=len(catalog.templates),
        n_verbalized=sum(template.says is not None for template in catalog.templates),
        n_complex=sum(template.is_complex for template in catalog.templates),
        t_i_cache_path=str(TOPICS_FILE),
        null_stats_path=str(NULL_STATS_FILE),
    )
