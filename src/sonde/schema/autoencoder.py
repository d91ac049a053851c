"""The configuration beside the weights of an autoencoder that Sonde wrote."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from sonde.schema.base import Whole, Wire

CONFIG: Final = "autoencoder.json"
"""What the file is called."""

Positive = Annotated[Whole, Field(gt=0)]


class AutoencoderFile(Wire):
    """`autoencoder.json`: everything about a dictionary but its numbers."""

    format: Literal["sonde.autoencoder"] = "sonde.autoencoder"
    version: Literal[1] = 1
    weights: str = "autoencoder.safetensors"
    """The file with the tensors, beside this one."""
    sha256: str
    """Of that file."""
    d_in: Positive
    d_sae: Positive
    d_out: Positive
    activation: Literal["relu", "topk", "batchtopk", "jumprelu", "gated", "groupmax"]
    k: Positive | None = None
    """Of topk, batchtopk and groupmax."""
    relu: bool = True
    """Whether topk makes negative values 0."""
    threshold: float | None = None
    """Of batchtopk."""
    subtract_b_dec: bool
    norm_in: Literal["none", "layer_norm", "unit_norm"] = "none"
    hook: str | None = None
    hook_out: str | None = None
    layer: Whole | None = None
    model: str | None = None
    """What it was trained on."""
    notes: dict[str, Any] = {}
    """How it was made and what it reached, in plain values."""
