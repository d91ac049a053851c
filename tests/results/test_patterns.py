"""Patterns of a sweep's two prompts, asked of the model that it was run on."""

import numpy as np
import pytest

from sonde.errors import BadRequest
from sonde.results import Provenance
from sonde.results.patterns import of_both
from sonde.schema.table import SweepRequest


def provenance(**fields: str) -> Provenance:
    request = SweepRequest.model_validate(fields | {"answer": " Paris"})
    return Provenance.pending("tiny", request, versions={})


def test_patterns_of_both_prompts_are_asked_for_and_subtracted() -> None:
    def attend(prompt: str | list[int], layer: int, head: int) -> np.ndarray:
        return np.full((2, 2), len(prompt) + layer + head, dtype=np.float32)

    found = of_both(attend, provenance(clean="abc", corrupt="ab"), 2, 3)
    assert found.clean[0, 0] == 8
    assert found.difference is not None
    assert (found.difference == 1).all()


def test_a_result_without_its_model_or_a_clean_prompt_says_what_to_do() -> None:
    with pytest.raises(BadRequest, match="load 'tiny' and call its attention"):
        of_both(None, provenance(clean="abc", corrupt="ab"), 2, 3)
    with pytest.raises(BadRequest, match="no clean prompt"):
        of_both(lambda *_: np.zeros((1, 1), np.float32), provenance(corrupt="ab"), 0, 0)
