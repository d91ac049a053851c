"""What travels with a request to every rank: its writes, and what to keep of its activations.

Plain data only (dict, list, str, int, float, bytes): an array or a tensor among a request's
arguments ends vLLM's engine process. Sources are named by the key under which the ranks hold them.
Activations themselves travel in two cases: vectors that the caller gave, and what a stage of the
pipeline writes that another stage holds (`supply`).

A request with a spec but no writes is an unpatched run that takes the patched runs' way, so that
what it is compared with differs by the writes alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sonde.backends.base import FromRun, Site, Vector
from sonde.schema import HOOK_TABLE, Hook

ARGUMENT = "sonde"
"""The key among a request's extra arguments."""


@dataclass(frozen=True)
class Stored:
    """Activations of a captured run, as the ranks find them."""

    key: str
    hook: Hook
    layer: int
    positions: tuple[int, ...]
    """One for each position that is written."""
    head: int | None = None
    """Which one, where the hook has heads."""


@dataclass(frozen=True)
class TermSpec:
    """One summand of a source: `sign * value / of`."""

    value: Stored | bytes
    """Bytes are float32: one vector for every position that is written, or one for each."""
    sign: int = 1
    of: int = 1


@dataclass(frozen=True)
class WriteSpec:
    """One write at one or several positions, as the ranks read it."""

    hook: Hook
    layer: int
    positions: tuple[int, ...]
    terms: tuple[TermSpec, ...]
    alpha: float = 1.0
    mask: bytes | None = None
    how: Literal["set", "add"] = "set"
    head: int | None = None
    """Which one, where the hook has heads."""


@dataclass(frozen=True)
class CaptureSpec:
    """What to keep of a run, and the key to keep it under."""

    key: str
    hooks: tuple[Hook, ...]
    layers: tuple[int, ...]
    positions: tuple[int, ...]


@dataclass(frozen=True)
class RequestSpec:
    """All that the ranks must know of one request."""

    uid: str
    writes: tuple[WriteSpec, ...] = ()
    capture: CaptureSpec | None = None

    def spots(self) -> list[tuple[Hook, int, int]]:
        """Hook, layer and position of all that is written; ranks report by these numbers."""
        return [(w.hook, w.layer, position) for w in self.writes for position in w.positions]

    def first_position(self) -> int | None:
        """The lowest position that is written: below it, this request is like any other."""
        return min((position for _, _, position in self.spots()), default=None)

    def to_plain(self) -> dict[str, Any]:
        """As data that any serialiser takes."""
        kept = self.capture
        return {
            "uid": self.uid,
            "writes": [
                [w.hook, w.layer, list(w.positions), list(map(_plain_term, w.terms)),
                 w.alpha, w.mask, w.how, w.head]
                for w in self.writes
            ],
            "capture": None if kept is None
            else [kept.key, list(kept.hooks), list(kept.layers), list(kept.positions)],
        }  # fmt: skip

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "RequestSpec":
        """The inverse of `to_plain`."""
        writes = tuple(
            WriteSpec(hook, layer, tuple(positions), tuple(map(_term, terms)), *rest)
            for hook, layer, positions, terms, *rest in plain["writes"]
        )
        kept = plain["capture"]
        capture = None
        if kept is not None:
            capture = CaptureSpec(kept[0], tuple(kept[1]), tuple(kept[2]), tuple(kept[3]))
        return cls(plain["uid"], writes, capture)


def _plain_term(term: TermSpec) -> list[Any]:
    value: Any = term.value
    if isinstance(value, Stored):
        value = [value.key, value.hook, value.layer, list(value.positions), value.head]
    return [value, term.sign, term.of]


def _term(plain: Sequence[Any]) -> TermSpec:
    value, sign, of = plain
    if not isinstance(value, bytes):
        key, hook, layer, positions, head = value
        value = Stored(key, hook, layer, tuple(positions), head)
    return TermSpec(value, sign, of)


def read_spec(extra_args: Mapping[str, Any] | None) -> RequestSpec | None:
    """The spec among a request's extra arguments, if it carries one."""
    plain = (extra_args or {}).get(ARGUMENT)
    return None if plain is None else RequestSpec.from_plain(plain)


def taken_from(source: FromRun, site: Site) -> Site:
    """Where in its run a write at `site` takes from."""
    hook = source.hook or site.hook
    layer = site.layer if source.layer is None else source.layer
    here = site.head if HOOK_TABLE[hook].per != "model" else None
    return Site(hook, layer, source.positions, here if source.head is None else source.head)


def to_bytes(values: Vector) -> bytes:
    """Vectors as little-endian float32, row by row."""
    return np.ascontiguousarray(values, dtype="<f4").tobytes()


def from_bytes(data: bytes) -> Vector:
    """The inverse of `to_bytes`, as one row."""
    return np.frombuffer(data, dtype="<f4").astype(np.float32)
