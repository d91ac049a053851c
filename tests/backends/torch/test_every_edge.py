"""Edges and paths are what plain forward passes with hooks give."""

import pytest

from sonde import Model
from sonde.schema.table import Frozen
from tests.architectures import PACKED
from tests.backends.torch.every_edge import of_architecture, of_default

KINDS: tuple[Frozen, Frozen] = ("edge", "path+mlps")


@pytest.mark.parametrize("frozen", KINDS)
@pytest.mark.parametrize("name", PACKED)
def test_edges_of_every_architecture_equal_plain_forward_passes(name: str, frozen: Frozen) -> None:
    found = of_architecture(name, frozen, 20, seed=1)

    assert found.furthest < 1e-5
    assert found.spread > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("frozen", KINDS)
def test_edges_of_the_default_model_equal_plain_forward_passes(
    smollm2: Model, frozen: Frozen
) -> None:
    """A plain pass in float32 is itself some 2e-5 away from one in float64."""
    found = of_default(smollm2, frozen, 10, seed=1)

    assert found.furthest < 1e-4
    assert found.spread > 0.02  # random edges move little, hundreds of times as far as rounding
