"""Where a result comes from: enough to run it again, or to know why it differs."""

from pydantic import AwareDatetime, JsonValue

from sonde.schema.base import Wire


class Provenance(Wire):
    """The model, the software and the request behind one result."""

    model: str
    architecture: str
    weights: str
    """Fingerprint of the weights."""
    dtype: str
    device: str
    n_layers: int
    versions: dict[str, str]
    """Version by package: sonde, torch, transformers."""
    created: AwareDatetime
    request: dict[str, JsonValue]
    """The request as it was sent, without its nulls; vector tables by their SHA-256."""
