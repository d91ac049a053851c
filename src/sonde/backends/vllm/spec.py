"""What travels with a request to every rank: its patches, and what to keep of its activations.

Plain data only (dict, list, str, int, float, bytes): an array or a tensor among a request's
arguments ends vLLM's engine process. Sources are named by the key under which the ranks hold them;
activations themselves never travel, except vectors that the caller gave.

A request with a spec but no patches is an unpatched run that takes the patched runs' way, so that
what it is compared with differs by the patch alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.backends.base import FromVector, Patch, Vector
from sonde.schema import Hook

ARGUMENT = "sonde"
"""The key among a request's extra arguments."""


@dataclass(frozen=True)
class PatchSpec:
    """One write, as the ranks read it."""

    hook: Hook
    layer: int
    position: int
    key: str | None
    """The captured run on the ranks; None when `vector` holds the values."""
    sources: tuple[int, ...]
    """Positions of that run; of several, the mean is taken."""
    vector: bytes | None
    alpha: float
    mask: bytes | None


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
    patches: tuple[PatchSpec, ...] = ()
    capture: CaptureSpec | None = None

    def first_position(self) -> int | None:
        """The lowest patched position: below it, this request is like any other."""
        return min((patch.position for patch in self.patches), default=None)

    def to_plain(self) -> dict[str, Any]:
        """As data that any serialiser takes."""
        capture = self.capture
        return {
            "uid": self.uid,
            "patches": [
                [p.hook, p.layer, p.position, p.key, list(p.sources), p.vector, p.alpha, p.mask]
                for p in self.patches
            ],
            "capture": None
            if capture is None
            else [
                capture.key,
                list(capture.hooks),
                list(capture.layers),
                list(capture.positions),
            ],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "RequestSpec":
        """The inverse of `to_plain`."""
        patches = tuple(
            PatchSpec(hook, layer, position, key, tuple(sources), vector, alpha, mask)
            for hook, layer, position, key, sources, vector, alpha, mask in plain["patches"]
        )
        kept = plain["capture"]
        capture = None
        if kept is not None:
            capture = CaptureSpec(kept[0], tuple(kept[1]), tuple(kept[2]), tuple(kept[3]))
        return cls(plain["uid"], patches, capture)


def read_spec(extra_args: Mapping[str, Any] | None) -> RequestSpec | None:
    """The spec among a request's extra arguments, if it carries one."""
    plain = (extra_args or {}).get(ARGUMENT)
    return None if plain is None else RequestSpec.from_plain(plain)


def patch_spec(patch: Patch, keys: Mapping[str, str]) -> PatchSpec:
    """A patch for the ranks; `keys` says under which key they hold each run."""
    source = patch.source
    mask = None if patch.mask is None else to_bytes(patch.mask)
    site = (patch.hook, patch.layer, patch.position)
    if isinstance(source, FromVector):
        return PatchSpec(*site, None, (), to_bytes(source.values), float(patch.alpha), mask)
    return PatchSpec(*site, keys[source.run], source.positions, None, float(patch.alpha), mask)


def to_bytes(values: Vector) -> bytes:
    """A vector as little-endian float32."""
    return np.ascontiguousarray(values, dtype="<f4").tobytes()


def from_bytes(data: bytes) -> Vector:
    """The inverse of `to_bytes`."""
    return np.frombuffer(data, dtype="<f4").astype(np.float32)
