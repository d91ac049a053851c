"""Writes at heads that make no sense are refused in a line, before anything runs."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from sonde.backends.base import FromRun, FromVector, Row, Site, Write
from sonde.backends.torch.backend import TorchBackend
from sonde.errors import BadRequest, BadVectors, HeadOutOfRange
from sonde.schema import HEAD_HOOKS
from tests.backends.torch.tiny import pair_of_prompts, prompt, scores, tiny_backend

N = 21


@cache
def backend() -> TorchBackend:
    """A model of 4 query heads and 2 key heads, each 8 wide, with a captured run."""
    made = tiny_backend("llama")
    made.capture("clean", pair_of_prompts(N)[0], (*HEAD_HOOKS, "attn_out"), range(3), range(N))
    return made


def taken(site: Site, **source: object) -> Write:
    return Write(site, replace(FromRun("clean", site.positions), **source))  # type: ignore[arg-type]


def refused(*writes: Write) -> None:
    scores(backend(), pair_of_prompts(N)[1], [Row(writes)])


@pytest.mark.parametrize(
    ("site", "message"),
    [
        (Site("z", 0, (0,), 4), r"head 4 is out of range \[0, 4\) at z; this model has 4 there"),
        (Site("k", 0, (0,), 2), r"head 2 is out of range \[0, 2\) at k; .* by 2 of its 4 heads"),
        (Site("q", 0, (0,), -1), r"head -1 is out of range"),
    ],
)
def test_a_head_that_is_not_there_is_refused_by_number(site: Site, message: str) -> None:
    with pytest.raises(HeadOutOfRange, match=message):
        refused(taken(site))
    with pytest.raises(HeadOutOfRange, match=message):
        backend().read("clean", [site])
    with pytest.raises(HeadOutOfRange, match=message):
        refused(taken(replace(site, head=0), head=site.head))


@pytest.mark.parametrize(
    ("site", "message"),
    [
        (Site("z", 0, (0,)), "z has a value for each head; name one of 0 to 3"),
        (Site("attn_out", 0, (0,), 1), "attn_out has no heads, and head 1 was named"),
        (Site("z", 0, (0,), 1, (1,)), "z is read by no other heads"),
        (Site("k", 0, (0,), 1, (0,)), "query head 0 does not read k of key head 1"),
    ],
)
def test_what_makes_no_sense_of_heads_is_refused_in_words(site: Site, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        refused(taken(site))


OF_ONE = Site("k", 1, (2,), 0, (1,))


@pytest.mark.parametrize(
    "other",
    [
        Site("z", 0, (2,), 1),
        Site("q", 1, (2,), 0),
        Site("v", 1, (4,), 0, (0,)),
        Site("v", 2, (2,), 0, (1,)),
        Site("post_block", 0, (2,)),
    ],
)
def test_what_some_readers_alone_see_stands_alone_in_its_row(other: Site) -> None:
    """The other heads take what they have in the unpatched run: nothing else may reach them."""
    source = FromVector(np.zeros(32 if other.head is None else 8, dtype=np.float32))
    with pytest.raises(BadRequest, match=r"k of layer 1 head 0 for readers \[1\]: what some"):
        refused(taken(OF_ONE), Write(other, source))


@pytest.mark.parametrize(
    "beside", [Site("v", 1, (4,), 0, (1,)), Site("k", 1, (2,), 1, (3,)), Site("z", 2, (2,), 1)]
)
def test_the_same_readers_other_key_heads_and_later_layers_may_stand_beside(beside: Site) -> None:
    refused(taken(OF_ONE), taken(beside))


def vector(*shape: int) -> FromVector:
    return FromVector(np.ones(shape, dtype=np.float32))


def test_values_as_wide_as_another_hook_are_refused_by_width() -> None:
    for site in (Site("z", 0, (3,), 0), Site("k", 0, (3,), 0)):
        with pytest.raises(BadVectors, match=rf"width \(7,\) != width 8 of {site.hook}"):
            refused(Write(site, vector(7)))
    with pytest.raises(BadVectors, match=r"width \(8,\) != width 21 of pattern"):
        refused(Write(Site("pattern", 0, (3,), 0), vector(8)))
    mask = np.ones(32, dtype=np.float32)
    with pytest.raises(BadVectors, match=r"mask of width \(32,\) != width 8 of z"):
        refused(replace(taken(Site("z", 0, (3,), 0)), mask=mask))
    with pytest.raises(BadRequest, match="z cannot stand at pattern: they are not of one width"):
        refused(taken(Site("pattern", 0, (3,), 0), hook="z"))
    with pytest.raises(BadRequest, match="attn_out cannot stand at q"):
        refused(taken(Site("q", 0, (3,), 0), hook="attn_out"))


def test_a_pattern_puts_no_weight_on_keys_that_its_position_cannot_see() -> None:
    with pytest.raises(BadVectors, match="position 3 with weight on a later key"):
        refused(Write(Site("pattern", 0, (3,), 0), vector(N)))
    with pytest.raises(BadRequest, match="pattern of position 9 written at position 3"):
        refused(taken(Site("pattern", 0, (3,), 0), positions=(9,)))
    refused(Write(Site("pattern", 0, (N - 1,), 0), vector(N)))


def test_a_pattern_of_a_prompt_of_another_length_is_refused() -> None:
    backend().capture("short", prompt(9, 1), ["pattern"], [0], range(9))
    with pytest.raises(BadRequest, match="pattern of run 'short', a prompt of 9 tokens, in one of"):
        refused(taken(Site("pattern", 0, (3,), 0), run="short"))
