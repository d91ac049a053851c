"""Source runs: activations captured from one prompt, as clients see them."""

from typing import Annotated, Final

from pydantic import Field

from sonde.schema.base import Wire
from sonde.schema.site import Hook

NAME: Final = r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$"
"""1 to 128 letters, digits, '.', '_' or '-', and no '.' first: it becomes part of URLs."""

RunName = Annotated[str, Field(pattern=NAME)]


class SourceRun(Wire):
    """What a stored run holds and how long it is safe."""

    run: str
    generation: int
    """Different for every run ever stored, so that a name used twice is not taken for one run."""
    prompt: str
    """Digest of the token ids it was captured from: equal for equal prompts."""
    n_tokens: int
    """Length of the prompt it was captured from, special tokens included."""
    hooks: list[Hook]
    layers: list[int]
    positions: list[int]
    bytes: int
    weights: str
    """Fingerprint of the weights it was captured under."""
    age_seconds: float
    lease_seconds: float | None
    """Seconds until the lease that protects it from eviction runs out; None when not leased."""


class SourceRunList(Wire):
    """The stored runs, next to be evicted first."""

    runs: list[SourceRun]
    used_bytes: int
    budget_bytes: int


class SourceRunDropped(Wire):
    """A run is gone."""

    dropped: bool
