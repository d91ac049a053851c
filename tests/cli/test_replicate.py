"""`sonde replicate`: the packs, what is refused, and a small run from the command line."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from sonde.replication import PACKS
from tests.cli.shell import refusal, sonde


def test_without_a_pack_it_lists_those_there_are() -> None:
    listed = sonde("replicate").stdout
    assert [line.split()[0] for line in listed.splitlines()] == list(PACKS)
    packs = json.loads(sonde("replicate", "--json").stdout)
    assert [pack["name"] for pack in packs] == list(PACKS)


def test_what_is_no_pack_is_refused_before_a_model_is_loaded(tmp_path: Path) -> None:
    assert "there are agreement, ioi, facts" in refusal(sonde("replicate", "agrement"))
    (tmp_path / "bad.toml").write_text("name = 3")
    assert "bad.toml: name" in refusal(sonde("replicate", tmp_path / "bad.toml"))


@pytest.mark.slow
def test_a_pack_of_ones_own_is_run_and_run_again(tmp_path: Path) -> None:
    text = files("sonde.replication").joinpath("packs", "agreement.toml").read_text("utf-8")
    pack = tmp_path / "mine.toml"
    pack.write_text(text.replace('name = "agreement"', 'name = "mine"', 1))
    result = sonde("replicate", pack, "--pairs", 9, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "Is it mainly one head?" in result.stdout
    assert f"page  {tmp_path / 'out' / 'index.html'}" in result.stdout
    assert "run again" not in result.stdout
    again = sonde("replicate", pack, "--pairs", 9, "--out", tmp_path / "out")
    assert "run again: the same bits" in again.stdout
