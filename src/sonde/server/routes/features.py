"""What features mean: descriptions that lie beside the dictionaries, shipped ones and others.

A run says in `run.json` which dictionary each layer was read with. Its features are described if
that file's folder has descriptions, or if it is one that Sonde ships, by its hash. Descriptions of
another dictionary are never shown in its place: the same number means something else there.
"""

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query

from sonde.errors import BadRequest
from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.sae import shipped
from sonde.sae.feature_file import FEATURES, read_some
from sonde.sae.of_run import dictionary_of
from sonde.schema.feature import FeatureCards
from sonde.server.routes.analytics import numbers

MOST = 256
"""Features in one answer."""

Run = Annotated[
    str | None,
    Query(description="Whose dictionary. Without it, the one that Sonde ships for the layer."),
]
Features = Annotated[
    str, Query(description=f"Numbers with commas between, at most {MOST}: `12,4071`.")
]


def routes(hub: Hub) -> APIRouter:
    """The route that describes."""
    router = APIRouter(prefix="/api/saes", tags=["runs"])

    @router.get("/{layer}", operation_id="describe_features")
    def describe_features(layer: int, features: Features, run: Run = None) -> FeatureCards:
        """Where some features of a layer are active, and which tokens they promote."""
        named = _few(numbers(features))
        if run is None:
            return _cards(layer, shipped.find(str(layer)), named)
        return cards_of(hub.layout_of(run), layer, named)

    return router


def cards_of(layout: RunLayout, layer: int, named: list[int]) -> FeatureCards:
    """What some features of a run's dictionary mean, or why that is not known."""
    found, reason = dictionary_of(layout, layer)
    if found is None:
        return FeatureCards(layer=layer, dictionary="", features=[], reason=reason)
    return _cards(layer, found, named)


def _cards(layer: int, folder: Path, named: list[int]) -> FeatureCards:
    features = read_some(folder / FEATURES, named)
    return FeatureCards(layer=layer, dictionary=folder.name, features=features, reason=None)


def _few(found: list[int]) -> list[int]:
    """The features that were named, if they are not too many for one answer."""
    if len(found) > MOST:
        raise BadRequest(f"{len(found)} features are more than {MOST}; ask for fewer at a time")
    return found
