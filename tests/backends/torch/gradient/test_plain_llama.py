"""Edge attribution is what autograd gives, written out by its definition."""

import pytest

import sonde
from tests.backends.torch.gradient.plain_llama import compared


@pytest.mark.slow
def test_edges_of_the_default_model_are_scored_as_defined(smollm2: sonde.Model) -> None:
    """All 20 pairs: `python -m tests.backends.torch.gradient.plain_llama 20`."""
    found = compared(smollm2, list(sonde.pairs("agreement", n=2)))

    assert found.edges == 70_651
    assert found.relative < 1e-4
    assert found.same == 200
