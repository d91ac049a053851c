"""Where a result comes from: enough to run it again, or to know why it differs."""

from pydantic import AwareDatetime, JsonValue

from sonde.schema.base import Wire
from sonde.schema.model import SpecialTokens


class Provenance(Wire):
    """The model, the software and the request behind one result."""

    model: str
    architecture: str
    """Empty, as all that only a loaded model tells, while a sweep waits for its model."""
    weights: str
    """Fingerprint of the weights."""
    special_tokens: SpecialTokens | None = None
    """Tokens that every prompt began and ended with; null in results that do not say."""
    dtype: str
    device: str
    n_layers: int
    exact: bool | None = None
    """Whether a cell had the same bits however it was batched; None in results made before this
    was kept."""
    versions: dict[str, str]
    """Version by package: sonde, torch, transformers."""
    created: AwareDatetime
    request: dict[str, JsonValue]
    """The request as it was sent, without its nulls; vector tables by their SHA-256."""
