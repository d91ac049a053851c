"""Where a result comes from: enough to run it again, or to know why it differs."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Self

from pydantic import JsonValue

from sonde import schema
from sonde.schema import ModelDescription, PatchSweepRequest


class Provenance(schema.Provenance):
    """The wire's provenance, and how it comes about."""

    @classmethod
    def of(
        cls,
        model: ModelDescription,
        request: PatchSweepRequest,
        *,
        versions: Mapping[str, str],
        created: datetime | None = None,
    ) -> Self:
        """The provenance of a sweep that has just been asked of this model."""
        return cls(
            model=model.name,
            architecture=model.architecture,
            weights=model.weights,
            dtype=model.dtype,
            device=model.device,
            n_layers=model.n_layers,
            versions=dict(versions),
            created=created or datetime.now(UTC).replace(microsecond=0),
            request=_recorded(request),
        )

    def asked(self, field: str) -> str | None:
        """A field of the request, when it was given and is text."""
        value = self.request.get(field)
        return value if isinstance(value, str) else None


def _recorded(request: PatchSweepRequest) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = request.model_dump(mode="json", exclude_none=True)
    if request.patch_vectors is not None:
        digest = hashlib.sha256(request.patch_vectors.data.encode()).hexdigest()
        fields["patch_vectors"] = {
            "dtype": request.patch_vectors.dtype,
            "shape": list(request.patch_vectors.shape),
            "sha256": digest,
        }
    return fields
