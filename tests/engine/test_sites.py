"""The cells of a sweep over sites: which they are, and what each writes."""

from contextlib import ExitStack
from typing import Any

import pytest

from sonde.backends.base import FromRun, FromVector, MeanOf
from sonde.engine import Limits
from sonde.engine.setting import set_up
from sonde.engine.sites import Cells, site_cells
from sonde.errors import BadRequest, NothingToPatch, StaleSourceRun
from sonde.schema.table import SweepRequest
from tests.scripted import Scripted

CLEAN, CORRUPT = "The Eiffel Tower is in the city of", "The Colosseum is in the city of"


def cells(backend: Scripted, **fields: Any) -> Cells:
    asked = {"corrupt": CORRUPT, "clean": CLEAN, "answer": " Paris"} | fields
    with ExitStack() as cleanup:
        return site_cells(set_up(backend, SweepRequest(**asked), Limits(), cleanup))


def test_there_is_a_table_for_each_hook_with_layers_and_positions() -> None:
    made = cells(Scripted(), hooks=["mlp_in", "pre_attn"], layers=[3, 1], positions=[0, 7])

    assert [table.hook for table in made.tables] == ["mlp_in", "pre_attn"]
    axes = {axis.name: (axis.values, axis.labels) for axis in made.tables[0].axes}
    assert axes["layer"] == ([3, 1], ["3", "1"])
    assert axes["position"][0] == [0, 7]
    row = made.panels[1].row(3)
    assert (row.writes[0].site.layer, row.writes[0].site.positions) == (1, (7,))


def test_positions_together_are_one_write_that_takes_each_from_its_own_source() -> None:
    made = cells(Scripted(), positions="together")

    assert [panel.shape for panel in made.panels] == [(4,)]
    [write] = made.panels[0].row(0).writes
    assert isinstance(write.source, FromRun)
    assert len(write.source.positions) == len(write.site.positions)


def test_means_of_unlike_numbers_of_positions_share_one_write() -> None:
    [write] = cells(Scripted(), positions="together", pairing="mean").panels[0].row(0).writes

    assert isinstance(write.source, MeanOf)
    taken = [each.positions for each in write.source.sources if isinstance(each, FromRun)]
    assert all(len(each) == len(write.site.positions) for each in taken)


def test_zeros_are_written_without_a_clean_prompt() -> None:
    [write] = cells(Scripted(), clean=None, source="zero").panels[0].row(0).writes

    assert isinstance(write.source, FromVector)
    assert not write.source.values.any()


def test_a_run_of_other_weights_is_refused_by_name() -> None:
    backend = Scripted()
    tokens = backend.tokenize(CLEAN)
    backend.capture("mine", tokens, backend.hooks, range(4), range(len(tokens)))
    backend.weights = "w2"

    with pytest.raises(StaleSourceRun, match="'mine'"):
        cells(backend, source_run="mine")


def test_prompts_without_a_common_token_have_nothing_to_patch() -> None:
    with pytest.raises(NothingToPatch, match="no alignable positions"):
        cells(Scripted(), corrupt="The red Colosseum big is in the city of", positions=[2])
    with pytest.raises(BadRequest, match="name a clean prompt"):
        cells(Scripted(), clean=None)
