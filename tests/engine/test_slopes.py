"""Rows ranked to first order, whatever they write: what features and others are chosen by."""

from contextlib import ExitStack

import numpy as np
import pytest

from sonde.backends.base import FromVector, Row, Site, Write
from sonde.engine import Limits
from sonde.engine.setting import grades, set_up
from sonde.engine.slopes import check_smooth, moves, slopes
from sonde.errors import BadRequest
from sonde.schema.table import SweepRequest
from tests.backends.torch.tiny import backend_of, vector
from tests.scripted import Scripted
from tests.tiny_model import tiny_llama


def test_rows_of_any_kind_are_ranked_by_what_they_would_do() -> None:
    backend = backend_of(tiny_llama().requires_grad_(False))
    request = SweepRequest(
        corrupt="When John and Mary went to the store", answer=" Mary", foil=" John",
        metric="logit_diff",
    )  # fmt: skip
    rows = [
        Row((Write(Site("post_block", 0, (at,)), FromVector(vector(16, at)), size, how="add"),))
        for at in range(6)
        for size in (0.0, 0.1, 0.2)
    ]
    with ExitStack() as cleanup:
        setting = set_up(backend, request, Limits(), cleanup)
        found = slopes(setting, rows).reshape(6, 3)
        again = slopes(setting, rows, grades(setting))
    assert not found[:, 0].any()
    assert np.abs(found[:, 1]).min() > 0
    np.testing.assert_allclose(found[:, 2], 2 * found[:, 1], rtol=1e-4)
    assert np.array_equal(found.ravel(), again)


def test_every_metric_of_a_request_has_its_own_slope() -> None:
    request = SweepRequest(corrupt="The big Colosseum is in", clean="The Eiffel Tower is in",
                           answer=" Paris", metric="logprob", metrics=["recovered"])  # fmt: skip
    with ExitStack() as cleanup:
        setting = set_up(Scripted(), request, Limits(), cleanup)
        row = Row((Write(Site("post_block", 1, (2,)), FromVector(np.ones(8, np.float32))),))
        graded = grades(setting)
        [[logprob, recovered]] = moves(setting, [row], ["logprob", "recovered"], graded)
    scale = graded[0].scale("recovered")
    assert abs(recovered) * scale == pytest.approx(abs(logprob), rel=1e-6)


def test_what_changes_in_steps_has_no_slope() -> None:
    with pytest.raises(BadRequest, match="metric 'top1' has no slope"):
        check_smooth(["logprob", "top1"])
