"""An adaptive sweep of a 300-token prompt finds what the whole grid has, at a tenth of its cost."""

import json

import numpy as np
import pytest

import sonde
from tests.engine.long_prompt import FILE, TOKENS, asked, changes, cost, strongest

WANTED = 10
GRADIENT = 3 * TOKENS
"""Token-layers that one gradient costs in each layer: a pass forward, and two such backward."""


@pytest.mark.slow
def test_the_ten_strongest_of_a_long_prompt_are_found_at_a_tenth_of_the_grid_s_cost() -> None:
    record = json.loads(FILE.read_text())
    model = sonde.load("smollm2")
    assert model.describe().weights == record["weights"]

    found = changes(
        model.sweep(
            **asked(model), metric="logit_diff", method="adaptive", verify=WANTED, sample=20
        )
    )

    n_layers = found.shape[0]
    assert found.size == record["cells"]
    ran = np.isfinite(found)
    best = strongest(np.where(ran, found, 0), WANTED)
    assert set(best) == {(layer, p) for layer, p, _ in record["strongest"][:WANTED]}
    for layer, position, change in record["strongest"][:WANTED]:
        assert found[layer, position] == pytest.approx(change, abs=1e-3)
    work = sum(cost(layer, position, n_layers) for layer, position in np.argwhere(ran).tolist())
    assert work + GRADIENT * n_layers <= record["token_layers"] / 10
