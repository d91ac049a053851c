"""Source runs: activations captured from one prompt, as clients see them."""

from sonde.schema.base import Wire
from sonde.schema.site import Hook


class SourceRun(Wire):
    """What a stored run holds and how long it is safe."""

    run: str
    generation: int
    """Different for every run ever stored, so that a name used twice is not taken for one run."""
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
