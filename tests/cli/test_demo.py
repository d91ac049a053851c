"""The tour, on a model of a few thousand parameters, and each thing it says on its own."""

import html
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from sonde.cli import demo
from sonde.errors import BadRequest
from sonde.results import Sweep
from sonde.schema import Grid, PromptTokens
from tests.results.summaries import control, sweep
from tests.tiny_model import save_tiny_model

MOVES: Grid = [[0.0, 0.9, 0.0], [0.0, 1.0, 0.1], [0.0, 0.1, 0.8]]
"""Recovered at the second token up to layer 1, and at the last from layer 2 on."""


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """One whole tour, and the directory it was told to fill."""
    folder = tmp_path_factory.mktemp("demo")
    model, out = save_tiny_model(folder / "tiny"), folder / "new" / "out"
    asked = ["--model", str(model), "--out", str(out), "--steps", "0"]
    return CliRunner().invoke(demo.command, asked), out


def test_the_tour_ends_well_and_says_what_it_does(tour: tuple[Result, Path]) -> None:
    result, _ = tour
    assert result.exception is None
    assert result.exit_code == 0
    for heading in (
        "1. Load",
        "2. Which sites",
        "3. Why believe it?",
        "4. Which heads",
        "What was found",
        "Yours to keep",
    ):
        assert heading in result.stdout
    assert "strongest sites" in result.stdout
    assert "Controls: patches that must change nothing" in result.stdout
    assert "Noise floor: the unpatched prompt" in result.stdout


def test_pictures_and_pages_are_kept_where_it_was_told(tour: tuple[Result, Path]) -> None:
    result, out = tour
    kept = sorted(path.name for path in out.iterdir())
    assert kept == ["eiffel.html", "eiffel.png", "index.html"]
    assert (out / "eiffel.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "eiffel.html").read_text().startswith("<!doctype html>")
    assert str(out / "index.html") in result.stdout


@pytest.mark.slow
def test_the_whole_tour_trains_watches_and_tests_a_feature(tmp_path: Path) -> None:
    asked = [sys.executable, "-m", "sonde", "demo", "--steps", "2", "--out", str(tmp_path)]
    said = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    parts = ("z 23.4", "step  2 of 2", "loss and R", "vocabulary", "random directions", "Try next")
    for part in parts:
        assert part in said.stdout
    for name in ("index.html", "run.html", "feature.html", "eiffel.html", "heads.html"):
        assert (tmp_path / name).read_text().startswith("<!doctype html>")
    page = html.unescape((tmp_path / "index.html").read_text())
    (verdict,) = re.findall("<h1>(.*?)</h1>", (tmp_path / "feature.html").read_text())
    assert html.unescape(verdict) in page  # the finding is read before the pages are opened
    assert html.unescape(verdict) in " ".join(said.stdout.split("What was found")[1].split())


def test_a_directory_that_cannot_be_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file")
    result = CliRunner().invoke(demo.command, ["--out", str(taken)])
    assert isinstance(result.exception, BadRequest)
    assert f"--out '{taken}' cannot be a directory: File exists" in str(result.exception)
    assert result.stdout == ""


def test_the_story_says_where_the_answer_is_read_and_from_which_layer_on_it_has_moved() -> None:
    said = list(demo.story(_recovered(MOVES)))
    assert said[0].startswith("The strongest single patch wins back 100% of the gap")
    assert "post_block, layer 1, position 1 “·Colosseum”" in said[0]
    assert "until layer 1 the answer hangs on “·Colosseum”; from layer 2 on" in said[1]
    assert "at the last token, “·of”" in said[1]


@pytest.mark.parametrize(
    ("grid", "sentences"),
    [([[0.0, 0.9, 0.9]], 1), ([[0.0, 0.4, 0.2]], 1), ([[None, None, None]], 0)],
    ids=["both at once", "neither", "no number"],
)
def test_a_result_that_shows_no_move_is_not_told_as_one(grid: Grid, sentences: int) -> None:
    assert len(list(demo.story(_recovered(grid)))) == sentences


def test_trust_is_said_as_strongly_as_it_was_measured() -> None:
    exact = " ".join(demo.trust(sweep()))
    assert "2 of 2 equal the baseline, bit for bit" in exact
    assert "none from rounding" in exact
    near = " ".join(demo.trust(sweep(noise_floor=0.01, controls=[control(5e-5)])))
    assert "within 0.0001" in near
    assert "bit for bit" not in near
    assert "none from rounding" not in near


@pytest.mark.parametrize("line", [line for line, _ in demo.NEXT])
def test_what_to_try_next_can_be_tried(line: str) -> None:
    from sonde.cli.main import main

    program, verb, *arguments = shlex.split(line)
    assert program == "sonde"
    command = main.get_command(click.Context(main), verb)
    assert command is not None
    command.make_context(verb, arguments)


def _recovered(grid: Grid) -> Sweep:
    """One hook's shares, over three tokens."""
    tokens = PromptTokens(prompt=["The", " Colosseum", " of"])
    return sweep({"post_block": grid}, metric="recovered", tokens=tokens)
