"""`sonde study run`: what it prints, and what it refuses."""

import json
from pathlib import Path

from tests.cli.shell import refusal, sonde
from tests.study.tiny_study import TOML, tiny_study
from tests.tiny_model import save_tiny_model


def test_a_study_is_run_and_run_again(tmp_path: Path) -> None:
    study = tiny_study(tmp_path)
    first = sonde("study", "run", study.path)
    assert first.exit_code == 0, first.output
    assert "12 pairs computed now\nresults  " in first.stdout
    assert "12 pairs, 96 cells, about " in first.stderr
    again = json.loads(sonde("study", "run", study.path, "--json").stdout)
    assert (again["pairs"], again["computed"], again["differs"]) == (12, 12, [])
    assert "run again: the same bits" in sonde("study", "run", study.path).stdout


def test_what_differs_is_said_and_other_numbers_end_in_status_1(tmp_path: Path) -> None:
    study = tiny_study(tmp_path)
    sonde("study", "run", study.path, "--out", tmp_path / "there")
    record = tmp_path / "there" / "study.json"
    record.write_text(record.read_text().replace('"torch": "', '"torch": "1'))
    done = sonde("study", "run", study.path, "--out", tmp_path / "there")
    assert done.exit_code == 0
    assert "run again: the same bits; torch was 1" in done.stdout
    save_tiny_model(tmp_path / "model", seed=1)
    done = sonde("study", "run", study.path, "--out", tmp_path / "there")
    assert done.exit_code == 1
    assert "run again: other numbers; weights were " in done.stdout


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    study = tiny_study(tmp_path)
    assert "--workers is for --ray" in refusal(sonde("study", "run", study.path, "--workers", 2))
    study.path.write_text(TOML.replace("hooks", "hokks"))
    assert "line 5: sweep has no field 'hokks'" in refusal(sonde("study", "run", study.path))
    assert "there is no file" in refusal(sonde("study", "run", tmp_path / "no.toml"))
