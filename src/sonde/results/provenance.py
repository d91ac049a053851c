"""Where a result comes from: enough to run it again, or to know why it differs."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Self

from pydantic import JsonValue

from sonde import schema
from sonde.schema import ModelDescription, PatchSweepRequest
from sonde.schema.attention import AttentionRequest
from sonde.schema.circuit import CircuitRequest
from sonde.schema.table import SweepRequest

AnyRequest = PatchSweepRequest | SweepRequest | AttentionRequest | CircuitRequest


@cache
def versions() -> dict[str, str]:
    """Versions of what a result depends on; read once, which takes milliseconds."""
    from importlib.metadata import version

    return {name: version(name) for name in ("sonde", "torch", "transformers")}


class Provenance(schema.Provenance):
    """The wire's provenance, and how it comes about."""

    @classmethod
    def of(
        cls,
        model: ModelDescription,
        request: AnyRequest,
        *,
        versions: Mapping[str, str],
        created: datetime | None = None,
    ) -> Self:
        """The provenance of what has just been asked of this model."""
        return cls(
            model=model.name,
            architecture=model.architecture,
            weights=model.weights,
            special_tokens=model.special_tokens,
            dtype=model.dtype,
            device=model.device,
            n_layers=model.n_layers,
            exact=model.exact,
            versions=dict(versions),
            created=created or datetime.now(UTC).replace(microsecond=0),
            request=_recorded(request),
        )

    @classmethod
    def pending(
        cls, model: str, request: PatchSweepRequest | SweepRequest, *, versions: Mapping[str, str]
    ) -> Self:
        """Of a sweep whose model is not loaded yet: what only that can tell is empty."""
        return cls(
            model=model, architecture="", weights="", dtype="", device="", n_layers=0,
            versions=dict(versions), created=datetime.now(UTC).replace(microsecond=0),
            request=_recorded(request),
        )  # fmt: skip

    def asked(self, field: str) -> str | None:
        """A field of the request, when it was given and is text."""
        value = self.request.get(field)
        return value if isinstance(value, str) else None


def _recorded(request: AnyRequest) -> dict[str, JsonValue]:
    left = {"circuit"} if isinstance(request, CircuitRequest) else None
    fields: dict[str, JsonValue] = request.model_dump(mode="json", exclude_none=True, exclude=left)
    if isinstance(request, CircuitRequest):
        fields["circuit"] = {"digest": request.circuit.digest}
    if isinstance(request, PatchSweepRequest) and request.patch_vectors is not None:
        digest = hashlib.sha256(request.patch_vectors.data.encode()).hexdigest()
        fields["patch_vectors"] = {
            "dtype": request.patch_vectors.dtype,
            "shape": list(request.patch_vectors.shape),
            "sha256": digest,
        }
    if isinstance(request, SweepRequest | CircuitRequest) and request.pairs is not None:
        lines = "\n".join(pair.model_dump_json() for pair in request.pairs)
        digest = hashlib.sha256(lines.encode()).hexdigest()
        fields["pairs"] = {"count": len(request.pairs), "sha256": digest}
    return fields
