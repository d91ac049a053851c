"""A pack is checked before anything is run."""

import re
from pathlib import Path

import pytest

from sonde.errors import BadRequest
from sonde.replication import PACKS, read_pack
from sonde.replication.measures import MEASURES
from sonde.replication.parts import split
from sonde.tasks import task

AGREEMENT = (Path(read_pack.__code__.co_filename).parent / "packs/agreement.toml").read_text()


@pytest.mark.parametrize("name", PACKS)
def test_a_pack_that_comes_with_sonde_says_everything_it_needs(name: str) -> None:
    pack = read_pack(name)
    assert pack.name == name
    for finding in pack.findings:
        assert re.search(r"arXiv:\d{4}\.\d{5}", finding.source), "a source that can be read"
        tolerance = finding.tolerance
        assert (tolerance.low, tolerance.high) != (None, None), "a tolerance that can be missed"
    names = [finding.name for finding in pack.findings]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", PACKS)
def test_held_out_templates_are_some_and_not_most(name: str) -> None:
    pack = read_pack(name)
    pairs = task(pack.task.name).pairs(pack.task.n, pack.task.seed)
    fit, held_out = split(pairs, pack)
    assert len(fit) + len(held_out) == pack.task.n
    assert 0.15 < len(held_out) / pack.task.n <= 0.5
    apart = {pair.cluster for pair in fit} & {pair.cluster for pair in held_out}
    assert not apart, "no cluster is on both sides"


def test_too_few_pairs_on_a_side_are_refused() -> None:
    pack = read_pack("agreement").model_copy(update={"held_out": ["no such template"]})
    with pytest.raises(BadRequest, match="0 pairs of held-out templates"):
        split(task("agreement").pairs(6), pack)


@pytest.mark.parametrize(
    ("written", "instead", "told"),
    [
        ('measure = "relay"', 'measure = "replay"', "'distributed' is measured by 'replay'"),
        ('hooks = ["z", "q", "v"]', 'hooks = ["q"]', "no 'z', by which heads are chosen"),
        ("n = 120", "n = -1", "task.n"),
        ("share = 0.1", "size = 30", "options of 'circuit': missing a required argument: 'share'"),
        ('first = "subject_last"', 'first = "verb"', "'late' asks of 'verb', and columns are"),
        ("low = 0.9", "lowest = 0.9", "findings.0.tolerance.lowest"),
        ('name = "agreement"', "name = agreement", "is no TOML"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(
    tmp_path: Path, written: str, instead: str, told: str
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(AGREEMENT.replace(written, instead, 1))
    with pytest.raises(BadRequest, match=told):
        read_pack(file)


def test_a_name_that_is_neither_says_which_there_are(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="there are agreement, ioi, facts, or give a FILE.toml"):
        read_pack("agrement")
    with pytest.raises(BadRequest, match="cannot be read"):
        read_pack(tmp_path / "missing.toml")


def test_every_measure_is_run_by_some_pack_that_comes_with_sonde() -> None:
    used = {finding.measure for name in PACKS for finding in read_pack(name).findings}
    assert used == set(MEASURES)
