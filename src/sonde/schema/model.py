"""A loaded model, described."""

from typing import Literal

from sonde.schema.base import Wire
from sonde.schema.site import Hook


class ModelDescription(Wire):
    """What a backend has loaded and what can be done with it."""

    name: str
    architecture: str
    backend: Literal["torch", "vllm"]
    n_layers: int
    width: int
    vocabulary: int
    max_tokens: int
    hooks: list[Hook]
    end_ids: list[int]
    """Tokens that end a completion."""
    dtype: str
    device: str
    weights: str
    """Fingerprint of the weights."""
    path: Literal["packed", "whole_sequence"]
    """`packed` recomputes only what a patch can change; `whole_sequence` recomputes every position
    from the patched layer up, because some layer of this model is not plain attention."""
    path_reason: str | None
    """Why the path is not `packed`; None when it is."""
    exact: bool
    """A cell has the same bits alone, in any grid, in any chunking: tested when it was loaded."""


class ModelEntry(Wire):
    """A model as OpenAI's API lists it."""

    id: str
    object: Literal["model"] = "model"
    created: int
    """When the server began to offer it, in seconds since 1970."""
    owned_by: Literal["sonde"] = "sonde"
    max_model_len: int


class ModelList(Wire):
    """The models a server offers."""

    object: Literal["list"] = "list"
    data: list[ModelEntry]
