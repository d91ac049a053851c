"""Heads of the default model are what plain forward passes give."""

import pytest

from sonde import Model
from sonde.prompts import DemoPair
from tests.backends.torch.every_head import AGREEMENT, INDIRECT_OBJECT, compared, reference
from tests.backends.torch.head_reference import HeadReference

pytestmark = pytest.mark.slow
MAX_ERROR = 1e-4
"""In logit difference: a plain pass in float32 is itself some 2e-5 away from one in float64."""


@pytest.fixture(scope="module")
def plain(smollm2: Model) -> HeadReference:
    return reference(smollm2)


@pytest.mark.parametrize("pair", [INDIRECT_OBJECT, AGREEMENT], ids=lambda pair: pair.name)
@pytest.mark.parametrize("positions", ["together", "each"])
def test_heads_of_the_default_model_equal_plain_forward_passes(
    smollm2: Model, plain: HeadReference, pair: DemoPair, positions: str
) -> None:
    found = compared(smollm2, plain, pair, 30, positions)

    assert found.furthest < MAX_ERROR
    assert found.spread > 100 * MAX_ERROR
