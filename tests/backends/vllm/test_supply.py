"""Writes as the ranks read them: runs by their keys, and what another stage holds sent along."""

from collections.abc import Sequence

import numpy as np
import pytest

from sonde.backends.base import FromRun, FromVector, MeanOf, Minus, Site, Source, Write
from sonde.backends.vllm.spec import Stored, TermSpec, WriteSpec, from_bytes
from sonde.backends.vllm.supply import Supply
from sonde.errors import SourceRunDropped

STAGES = (0, 0, 1, 1)
HERE, THERE = FromRun("run", (4, 5)), FromRun("run", (4, 5), hook="post_block", layer=3)


class Ranks:
    """Hold a run, and note what is fetched of it."""

    def __init__(self, data: bytes | None = b"\0\0\0\0") -> None:
        self.data, self.fetched = data, list[Stored]()

    def fetch(self, values: Sequence[Stored]) -> list[bytes | None]:
        self.fetched += values
        return [self.data for _ in values]

    def supply(self) -> Supply:
        return Supply(lambda: {"run": "run@7"}, beside, self.fetch)


def beside(taken: Site, site: Site) -> bool:
    """Two stages, and two shares of four heads."""
    same_share = site.head is None or taken.head is None or site.head // 2 == taken.head // 2
    return STAGES[taken.layer] == STAGES[site.layer] and same_share


def made(source: Source, ranks: Ranks | None = None) -> WriteSpec:
    write = Write(Site("mlp_in", 1, (2, 3)), source, 0.5, how="add")
    [spec] = (ranks or Ranks()).supply().specs([write])
    return spec


def test_a_run_is_named_by_the_ranks_key_and_nothing_of_it_travels() -> None:
    ranks = Ranks()
    spec = made(HERE, ranks)
    assert spec.terms == (TermSpec(Stored("run@7", "mlp_in", 1, (4, 5))),)
    assert (spec.hook, spec.layer, spec.positions) == ("mlp_in", 1, (2, 3))
    assert (spec.alpha, spec.mask, spec.how) == (0.5, None, "add")
    assert ranks.fetched == []
    assert ranks.supply().runs == {"run@7": "run"}


def test_sums_are_terms_with_their_signs_and_shares() -> None:
    vector = FromVector(np.arange(2, dtype=np.float32))
    spec = made(Minus(HERE, MeanOf((vector, HERE))))
    assert [(term.sign, term.of) for term in spec.terms] == [(1, 1), (-1, 2), (-1, 2)]
    assert isinstance(spec.terms[1].value, bytes)
    assert from_bytes(spec.terms[1].value).tolist() == [0.0, 1.0]


def test_another_layer_of_the_same_stage_is_left_to_the_rank() -> None:
    ranks = Ranks()
    spec = made(FromRun("run", (4, 5), hook="mlp_out", layer=0), ranks)
    assert spec.terms[0].value == Stored("run@7", "mlp_out", 0, (4, 5))
    assert ranks.fetched == []


def test_what_another_stage_holds_is_fetched_once_and_sent_along() -> None:
    ranks = Ranks()
    supply = ranks.supply()
    write = Write(Site("mlp_in", 1, (2, 3)), THERE)
    for _ in range(3):
        [spec] = supply.specs([write])
        assert spec.terms == (TermSpec(b"\0\0\0\0"),)
    assert ranks.fetched == [Stored("run@7", "post_block", 3, (4, 5))]


def test_a_head_that_another_share_holds_is_fetched_too() -> None:
    ranks = Ranks()
    taken = [FromRun("run", (4,), head=head) for head in (None, 2, 1)]
    writes = [Write(Site("z", 0, (4,), 3), each) for each in taken]
    own, neighbour, far = ranks.supply().specs(writes)
    assert own.head == 3
    assert own.terms == (TermSpec(Stored("run@7", "z", 0, (4,), 3)),)
    assert neighbour.terms == (TermSpec(Stored("run@7", "z", 0, (4,), 2)),)
    assert far.terms == (TermSpec(b"\0\0\0\0"),)
    assert ranks.fetched == [Stored("run@7", "z", 0, (4,), 1)]


def test_what_no_stage_has_any_more_was_dropped() -> None:
    with pytest.raises(SourceRunDropped, match="'run'"):
        made(THERE, Ranks(None))


def test_masks_travel_too() -> None:
    mask = np.array([1.0, 0.5], dtype=np.float32)
    write = Write(Site("mlp_in", 1, (2,)), FromVector(mask), mask=mask)
    [spec] = Ranks().supply().specs([write])
    assert from_bytes(spec.mask or b"").tolist() == [1.0, 0.5]
