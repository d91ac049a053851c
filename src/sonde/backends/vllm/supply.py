"""The values that writes take, made ready for the ranks.

Under pipeline parallelism each stage holds what its own layers gave, and under tensor parallelism
each share its own heads. A write that takes from a layer of another stage, or from a head of
another share, cannot find it there: the value is fetched from a rank that has it and sent along
with the request, as if the caller had given it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from sonde.backends.base import FromRun, Site, Write
from sonde.backends.spots import Term, terms
from sonde.backends.vllm.spec import Stored, TermSpec, WriteSpec, taken_from, to_bytes
from sonde.errors import SourceRunDropped

Keys = Callable[[], Mapping[str, str]]
"""Reads, anew each time, under which keys the ranks hold the runs that writes take from."""
Fetch = Callable[[Sequence[Stored]], list[bytes | None]]
"""What the ranks hold, whichever of them does; None where none does any more."""
Beside = Callable[[Site, Site], bool]
"""Whether every rank that holds the second site holds the first, too."""
KEPT = 256
"""Values of other ranks that are kept for the next row that takes them."""


class Supply:
    """What the writes of one call take from."""

    def __init__(self, keys: Keys, beside: Beside, fetch: Fetch) -> None:
        self._keys = keys
        self._beside = beside
        self._far = lru_cache(maxsize=KEPT)(lambda value: fetch([value])[0])
        self.runs = {key: run for run, key in keys().items()}
        """Key on the ranks -> name of the run."""

    def specs(self, writes: Sequence[Write]) -> tuple[WriteSpec, ...]:
        """The writes as the ranks read them; raises when a run was dropped meanwhile."""
        keys = self._keys()
        return tuple(self._spec(write, keys) for write in writes)

    def _spec(self, write: Write, keys: Mapping[str, str]) -> WriteSpec:
        return WriteSpec(
            write.site.hook,
            write.site.layer,
            write.site.positions,
            tuple(self._term(term, write, keys) for term in terms(write.source)),
            float(write.alpha),
            None if write.mask is None else to_bytes(write.mask),
            write.how,
            write.site.head,
        )

    def _term(self, term: Term, write: Write, keys: Mapping[str, str]) -> TermSpec:
        source = term.source
        if not isinstance(source, FromRun):
            return TermSpec(to_bytes(source.values), term.sign, term.of)
        taken = taken_from(source, write.site)
        value: Stored | bytes | None = Stored(
            keys[source.run], taken.hook, taken.layer, source.positions, taken.head
        )
        if not self._beside(taken, write.site):
            value = self._far(value)
        if value is None:
            raise SourceRunDropped(source.run)
        return TermSpec(value, term.sign, term.of)
