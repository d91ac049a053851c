"""A run in a few numbers, and what cannot be shown because a file is not there."""

from typing import TYPE_CHECKING

import numpy as np

from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.featuresums import all_names
from sonde.runs.analytics.generations import FAILED, PASSED
from sonde.schema.analytics import LayerCount, MissingFile, Overview

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PREVENTS = {
    "run.json": "the model, its dictionaries and how often tokens were recorded",
    "generations.jsonl": "rewards of records: scatter, vocabulary and single generations",
    "grpo_metrics.jsonl": "the reward curve",
    "sae_health.jsonl": "how well dictionaries fit over time, records left out, and warnings",
}


def overview(known: RunContents, cursor: "DuckDBPyConnection", run: str) -> Overview:
    """What there is of a run."""
    steps = known.steps()
    gates = known.generations.rows["gate"][known.generations.once]
    coverage = known.coverage
    every = [np.unique(part.bins["step"]) for part in known.parts]
    joined = int(known.losses(cursor)["records"].sum())
    return Overview(
        run=run,
        coverage=coverage,
        first_step=steps[0] if steps else None,
        last_step=steps[1] if steps else None,
        steps=len(np.unique(np.concatenate(every))) if every else 0,
        unit="token" if steps and steps[0] == steps[1] else "step",
        layers=[_layer(known, layer) for layer in known.layers],
        generations=len(gates),
        passed=int((gates == PASSED).sum()),
        failed=int((gates == FAILED).sum()),
        unjoined=coverage.records - joined,
        missing=[MissingFile(file=name, prevents=PREVENTS[name]) for name in known.missing],
        cache=str(known.cache) if known.cache else None,
    )


def _layer(known: RunContents, layer: int) -> LayerCount:
    rows = [part.layers[part.layers["layer"] == layer] for part in known.parts]
    features = [
        part.stored.read("feature", int(span["first"]), int(span["end"]))
        for part in known.parts
        if (span := part.span(layer)) is not None
    ]
    return LayerCount(
        layer=layer,
        records=sum(int(each["records"].sum()) for each in rows),
        features=len(all_names(features)),
    )
