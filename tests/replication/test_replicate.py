"""Three studies on the default model, on a few pairs each: what they say and what they leave."""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import pytest
from benchmarks.replications import FEW

from sonde.errors import BadRequest
from sonde.replication import PACKS, Outcome, read_pack, replicate
from sonde.replication.conduct import PAGE, RECORD, earlier, inside, verdict
from sonde.replication.measures import Measured
from sonde.replication.page import in_words
from sonde.replication.parts import Parts
from sonde.results import Circuit, Sweep
from sonde.schema.replication import Between, Replication
from tests.replication.against_plain import compare

SAME = 2e-3
"""How far kernels of other machines may move a number."""
RECORDED = json.loads(
    (Path(__file__).parents[2] / "benchmarks/results/replications.json").read_text()
)


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKS)
def test_a_few_pairs_give_what_was_recorded_and_leave_all_of_it(name: str, tmp_path: Path) -> None:
    """One test a pack, because running it takes half a minute."""
    outcome = replicate(name, n=FEW)
    outcome.save(tmp_path)
    as_recorded(outcome.replication, RECORDED[name]["few"])
    the_page_says_it_all(outcome.replication, (tmp_path / PAGE).read_text("utf-8"))
    everything_is_kept(outcome, tmp_path)
    nothing_was_chosen_on_what_it_is_measured_on(outcome.parts)
    for each in compare(tmp_path, cells=4):
        assert each.distance < 1e-3, f"{each.where}: {each.saved}, plainly {each.plain}"
    assert outcome.same_as(earlier(tmp_path)) is True
    other = outcome.replication.model_copy(update={"numbers": "0" * 64})
    assert outcome.same_as(other) is False
    assert outcome.same_as(other.model_copy(update={"weights": "others"})) is None


def as_recorded(found: Replication, before: dict[str, Any]) -> None:
    """Numbers and intervals of the same pairs under the same weights."""
    assert found.weights == found.pack.pinned_weights == before["weights"]
    assert (found.pairs, found.held_out) == (before["pairs"], before["held_out"])
    for answer in found.answers:
        told = before["answers"][answer.finding.name]
        for name in ("value", "low", "high"):
            wanted = pytest.approx(told[name], abs=SAME)
            assert getattr(answer, name) == wanted, f"{answer.finding.name}: {name}"
        assert answer.as_pinned is None, "that is said of all pairs only"


def the_page_says_it_all(found: Replication, text: str) -> None:
    """Question, literature, this model, tolerance, verdict; and nothing from outside."""
    for answer in found.answers:
        assert text.count(escape(answer.finding.question)) >= 2, "in the summary, above its card"
        assert in_words(answer.finding.tolerance) in text
    for word in ("Literature", "This model", "Tolerance", "Verdict"):
        assert text.count(f"<dt>{word}</dt>") == len(found.answers)
    assert "What was not found" in text
    assert "Conclusion" in text
    assert "<script" not in text
    assert "default-src 'none'" in text
    assert not re.search(r"\b(src|href)=\"(?!data:)", text), "nothing is fetched"


def everything_is_kept(outcome: Outcome, directory: Path) -> None:
    """The record and every table, as they were."""
    kept = Replication.model_validate_json((directory / RECORD).read_text("utf-8"))
    assert kept == outcome.replication
    for name in outcome.parts.sweeps:
        assert isinstance(Sweep.from_json(directory / f"{name}.json"), Sweep)
    assert Circuit.read(directory / "circuit.json").digest == outcome.parts.circuit.digest
    assert {p.name for p in directory.iterdir()} >= {"circuit.svg", "curve.svg", "curve.json"}


def nothing_was_chosen_on_what_it_is_measured_on(parts: Parts) -> None:
    """Pairs of held-out templates are in no sweep that heads or nodes are chosen by."""
    for pair in parts.together.pairs:
        assert pair not in parts.heads.pairs
        assert any((pair.cluster or "").startswith(each) for each in parts.pack.held_out)


@pytest.mark.parametrize("name", PACKS)
def test_what_is_pinned_is_what_the_whole_study_gave(name: str) -> None:
    pack, before = read_pack(name), RECORDED[name]
    assert pack.conclusion is not None
    for finding in pack.findings:
        told = before["answers"][finding.name]
        assert finding.pinned is not None
        assert finding.pinned.low == pytest.approx(told["low"], abs=1e-4)
        assert finding.pinned.high == pytest.approx(told["high"], abs=1e-4)
        measured = Measured(told["value"], told["low"], told["high"], "")
        assert verdict(measured, finding.tolerance) == told["verdict"]
        assert inside(told["value"], finding.pinned)


def test_what_lies_in_the_way_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    assert earlier(tmp_path) is None
    (tmp_path / RECORD).write_text('{"format": "something else"}')
    with pytest.raises(BadRequest, match="would be written over: name another --out"):
        earlier(tmp_path)


def test_an_open_tolerance_is_said_as_one() -> None:
    assert in_words(Between(low=0.5)) == "0.50 or more"
    assert in_words(Between(high=0.5)) == "0.50 or less"
    assert in_words(Between(low=0.1, high=0.5)) == "0.10 to 0.50"
