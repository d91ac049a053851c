"""`sonde attention`, and heads in `sonde sweep`: on a tiny model here, and on a server's."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sonde as package
from sonde import Model, Sweep
from sonde.results import Attention
from sonde.server.serving import assemble, running_server
from tests.cli.shell import refusal, sonde
from tests.cli.test_sweep import CLEAN, PROMPTS

ALIKE = ("--clean", CLEAN, "--corrupt", "The Colosseum is in is the city of", "--answer", " Paris")
"""Two prompts of one length, which queries, keys and patterns need."""
HEADS = ("--hooks", "z,q,k,v,pattern", "--heads", "all", "--positions", "together")


@pytest.fixture(scope="module")
def model(tiny: Path) -> Model:
    return package.load(str(tiny), device="cpu")


@pytest.fixture(scope="module")
def url(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_server(assemble(model.backend, tmp_path_factory.mktemp("history"))) as address:
        yield address


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SONDE_API_KEY", raising=False)


def test_one_head_is_drawn_and_saved_as_asked(tiny: Path, model: Model) -> None:
    saves = [
        each for kind in ("png", "svg", "html", "json", "csv") for each in ("--save", f"a.{kind}")
    ]
    result = sonde(
        "attention", "--model", tiny, "--device", "cpu", "--prompt", CLEAN, "--layer", 1,
        "--head", 2, *saves,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "layer 1, head 2" in result.stdout
    assert result.stderr.count("saved a.") == 5
    found = Attention.from_json(Path("a.json"))
    assert np.array_equal(found.pattern(1, 2), model.attention(CLEAN)[1, 2])


def test_a_server_says_the_same(tiny: Path, url: str) -> None:
    for asked in (("--prompt", CLEAN, "--layer", 0), ("--repeated", 6, "--scores")):
        here = sonde("attention", "--model", tiny, "--device", "cpu", *asked, "--json")
        there = sonde("attention", "--url", url, *asked, "--json")
        assert there.exit_code == 0, there.output
        one, other = (Attention.from_json(each.stdout) for each in (here, there))
        assert one.table() == other.table()
        assert one.provenance.weights == other.provenance.weights


def test_scores_name_the_heads_that_have_most(tiny: Path) -> None:
    result = sonde("attention", "--model", tiny, "--device", "cpu", "--repeated", 6, "--scores")
    assert result.exit_code == 0, result.output
    assert "highest, as layer.head" in result.stdout
    assert "induction  " in result.stdout


def test_what_makes_no_sense_is_refused_before_a_model_is_loaded(tiny: Path, url: str) -> None:
    for asked, why in (
        ((), "give --prompt, or --repeated"),
        (("--prompt", "a"), "which head? name --layer and --head"),
        (("--prompt", "a", "--layer", "x", "--head", 0), "--layer 'x' cannot be read"),
        (("--prompt", "a", "--scores", "--save", "a.parquet"), "cannot save attention as"),
        (("--prompt", "a", "--scores", "--api-key", "k"), "--api-key is a server's"),
    ):
        assert refusal(sonde("attention", *asked)).startswith(why)
    options = ("--prompt", CLEAN, "--layer", 0, "--head", 9)
    for where in (("--model", tiny, "--device", "cpu"), ("--url", url)):
        said = sonde("attention", *where, *options)
        assert said.exit_code == 2
        assert "head 9 is out of range [0, 4) at pattern" in said.stderr.splitlines()[-1]


def test_a_sweep_of_heads_draws_panels_here_and_from_a_server(tiny: Path, url: str) -> None:
    here = sonde("sweep", "--model", tiny, "--device", "cpu", *ALIKE, *HEADS, "--save", "a.json")
    there = sonde("sweep", "--url", url, *ALIKE, *HEADS, "--save", "b.json")
    assert here.exit_code == there.exit_code == 0, here.output + there.output
    assert "k: q0–1 is the key that query heads 0–1 share" in here.stdout
    one, other = Sweep.from_json(Path("a.json")), Sweep.from_json(Path("b.json"))
    assert one.grids["k"].shape == (2, 2)
    assert all(np.array_equal(one.grids[hook], other.grids[hook]) for hook in one.hooks)


def test_hooks_of_heads_are_written_at_all_positions_unless_told_otherwise(tiny: Path) -> None:
    options = ("--model", tiny, "--device", "cpu", *PROMPTS, "--json")
    together = Sweep.from_json(sonde("sweep", *options, "--hooks", "z").stdout)
    each = Sweep.from_json(sonde("sweep", *options, "--hooks", "z", "--positions", "all").stdout)
    both = Sweep.from_json(sonde("sweep", *options, "--hooks", "z,post_block").stdout)
    assert list(together.axes["z"]) == ["layer", "head"]
    assert list(each.axes["z"]) == list(both.axes["z"]) == ["layer", "head", "position"]


def test_a_key_head_that_is_not_there_is_refused_with_how_many_there_are(tiny: Path) -> None:
    options = ("sweep", "--model", tiny, "--device", "cpu", *PROMPTS, "--hooks", "k")
    said = sonde(*options, "--heads", 5)
    assert "head 5 is out of range [0, 2) at k" in said.stderr.splitlines()[-1]
    assert said.exit_code == 2
