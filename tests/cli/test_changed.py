"""`sonde runs changed`: what cannot be asked. What it finds, tests/training/test_planted_truth."""

import shutil
from pathlib import Path

from tests.cli.shell import refusal, sonde
from tests.runs.analytics.made import made_run


def test_what_cannot_be_compared_is_one_line(tmp_path: Path) -> None:
    made_run(tmp_path / "run", steps=2, save_every=9)
    assert "no checkpoint to compare" in refusal(sonde("runs", "changed", tmp_path / "run"))
    for step in (4, 10):
        (tmp_path / "run" / f"checkpoint-{step}").mkdir()
    asked = ("runs", "changed", tmp_path / "run")
    assert "no checkpoint of step 5; it has [4, 10]" in refusal(sonde(*asked, "--to", 5))
    assert "nothing can have changed" in refusal(sonde(*asked, "--from", 10, "--to", 4))


def test_texts_that_come_out_at_other_tokens_are_said_to(tiny: Path, tmp_path: Path) -> None:
    """The made run's texts are not of the tokens that it counts."""
    made_run(tmp_path / "run", steps=2, save_every=9)
    for step in (1, 2):
        shutil.copytree(tiny, tmp_path / "run" / f"checkpoint-{step}")
    said = sonde("runs", "changed", tmp_path / "run", "--from", 1)
    assert said.exit_code == 2
    assert "no text of the run comes out at the tokens that were recorded" in said.stderr
