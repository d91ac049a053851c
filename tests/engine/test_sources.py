"""What writes take: zeros, a mean that NumPy agrees with, a prompt that is drawn by a seed."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from sonde.backends.base import FromRun, FromVector, Site
from sonde.engine.plan import Limits
from sonde.engine.setting import Setting, set_up
from sonde.engine.sources import Span, mean, resampled, zeros
from sonde.errors import BadRequest
from sonde.schema.table import SweepRequest
from tests.backends.torch.tiny import tiny_backend

BACKEND = tiny_backend("llama")
CORRUPT = [5, 9, 14, 3]
REFERENCE = [[7, 2, 30, 11], [8, 8, 1, 40], [19, 6, 6, 2]]
SPAN = Span(["post_block", "v"], [0, 1])


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def setting(stack: ExitStack, **fields: Any) -> Setting:
    asked: dict[str, Any] = {"corrupt": CORRUPT, "answer": [12], "reference": REFERENCE} | fields
    return set_up(BACKEND, SweepRequest(**asked), Limits(), stack)


def activations(prompt: list[int], site: Site) -> np.ndarray[Any, Any]:
    BACKEND.capture("seen", prompt, [site.hook], [site.layer], range(len(prompt)))
    (values,) = BACKEND.read("seen", [site])
    BACKEND.drop("seen")
    return values


def test_zeros_are_as_wide_as_what_they_take_the_place_of(stack: ExitStack) -> None:
    source = zeros(setting(stack, source="zero"))
    assert BACKEND.describe().heads is not None
    for site in (Site("post_block", 0, (1,)), Site("z", 0, (1,), 0), Site("pattern", 0, (1,), 0)):
        found = source(site)
        assert isinstance(found, FromVector)
        assert not found.values.any()
        heads = BACKEND.describe().heads
        assert heads is not None
        width = BACKEND.describe().width if site.head is None else heads.width(site.hook, 4)
        assert found.values.shape == (width,)


@pytest.mark.parametrize("over", ["position", "tokens"])
def test_a_mean_is_what_numpy_makes_of_the_same_activations(stack: ExitStack, over: str) -> None:
    source = mean(setting(stack, source="mean", mean_over=over), SPAN)
    for site in (Site("post_block", 1, (1, 3)), Site("v", 0, (1, 3), 1)):
        wide = Site(site.hook, site.layer, (0, 1, 2, 3), site.head)
        rows = np.stack([activations(prompt, wide) for prompt in REFERENCE])
        expected = rows.mean(0)[[1, 3]] if over == "position" else rows.mean((0, 1))
        found = source(site)
        assert isinstance(found, FromVector)
        np.testing.assert_allclose(found.values, expected, rtol=1e-5, atol=1e-6)


def test_what_is_drawn_depends_on_seed_and_site_alone(stack: ExitStack) -> None:
    def drawn(seed: int) -> list[str]:
        source = resampled(setting(stack, source="resample", seed=seed), SPAN)
        found = [source(Site("post_block", layer, (at,))) for layer in (0, 1) for at in range(4)]
        assert all(isinstance(each, FromRun) for each in found)
        return [each.run.rpartition(".")[2] for each in found if isinstance(each, FromRun)]

    assert drawn(0) == drawn(0) != drawn(1)
    assert len(set(drawn(0))) > 1


def test_prompts_of_another_length_are_refused_by_number(stack: ExitStack) -> None:
    asked = setting(stack, source="mean", reference=[REFERENCE[0], [1, 2]])
    with pytest.raises(
        BadRequest, match="reference prompt 1 has 2 tokens and the corrupt prompt 4"
    ):
        mean(asked, SPAN)


def test_no_reference_prompts_is_said(stack: ExitStack) -> None:
    with pytest.raises(BadRequest, match="needs reference prompts"):
        mean(setting(stack, source="mean", reference=None), SPAN)
