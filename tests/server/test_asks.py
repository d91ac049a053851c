"""A classic and a general request, asked the same three things."""

from typing import Any

import pytest

from sonde.engine import Limits
from sonde.errors import BadRequest, UnknownHook
from sonde.schema import PatchSweepRequest
from sonde.schema.table import SweepRequest
from sonde.server.asks import Ask, Classic, General, OfOneModel
from sonde.server.dictionaries import Dictionaries
from tests.scripted import LAYERS, Scripted
from tests.server.talking import SWEEP


def classic(**fields: Any) -> Classic:
    return Classic(PatchSweepRequest(**SWEEP | fields), {})


def general(**fields: Any) -> General:
    given = {"corrupt": SWEEP["prompt"], "clean": SWEEP["clean_prompt"], "answer": " Paris"}
    return General(SweepRequest(**given | fields), Dictionaries())


@pytest.mark.parametrize("ask", [classic(), general()])
def test_each_is_checked_reckoned_and_run(ask: OfOneModel) -> None:
    backend, limits = Scripted(), Limits()
    ask.check(backend, limits)
    assert backend.log == [], "a check asks nothing of the model"
    start, *cells, summary = ask.events(backend, limits)
    assert [start.type, summary.type] == ["start", "summary"]
    assert ask.estimate(backend, limits).cells == len(cells)
    assert backend.runs == {}


@pytest.mark.parametrize("ask", [classic(hook="attn"), general(hooks=["attn"])])
def test_a_check_finds_what_is_wrong(ask: Ask) -> None:
    with pytest.raises(UnknownHook):
        ask.check(Scripted(), Limits())


def test_a_general_one_may_not_be_larger_than_the_limits() -> None:
    with pytest.raises(BadRequest, match="at most 3"):
        general().check(Scripted(), Limits(cells=3))
    general(positions="together", hooks=["mlp_out"]).check(Scripted(), Limits(cells=LAYERS))
