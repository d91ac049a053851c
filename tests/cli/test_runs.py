import json
import re
import zipfile
from pathlib import Path

import pytest

from tests.cli.shell import refusal, sonde
from tests.runs.analytics.made import made_run, reference_run
from tests.tiny_model import tiny_tokenizer


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("cli") / "runs"
    reference_run(root / "reference")
    made_run(root / "own", steps=6)
    return root


@pytest.fixture(autouse=True)
def configured(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEGIR_P5_OUTPUT_DIR", str(root))


def test_list_shows_the_runs_there_are() -> None:
    said = sonde("runs", "list")
    assert said.exit_code == 0, said.output
    lines = said.stdout.splitlines()
    assert {line.split()[0] for line in lines} == {"run", "own", "reference"}
    found = json.loads(sonde("runs", "list", "--json").stdout)
    assert found["count"] == 2


def test_list_without_runs_says_where_it_looked(tmp_path: Path) -> None:
    said = sonde("runs", "list", "--output-dir", tmp_path / "none")
    assert (said.exit_code, said.stdout) == (0, "")
    assert str(tmp_path / "none") in said.stderr


def test_show_tells_what_a_run_is_about() -> None:
    said = sonde("runs", "show", "own").stdout
    assert "steps 1 to 6" in said
    assert "mean reward, steps 1 to 6" in said
    assert "feature      7" in said
    whole = json.loads(sonde("runs", "show", "own", "--json").stdout)
    assert whole["scatter"]["layer"] == 15
    assert whole["overview"]["steps"] == 6
    assert (
        json.loads(sonde("runs", "show", "own", "--layer", 0, "--json").stdout)["scatter"]["layer"]
        == 0
    )


def test_show_of_a_run_of_the_reference_names_what_is_missing() -> None:
    said = sonde("runs", "show", "reference").stdout
    assert "no generations.jsonl: cannot show" in said


def test_an_unknown_run_is_one_line() -> None:
    assert "sonde runs list" in refusal(sonde("runs", "show", "nobody"))


def test_export_makes_a_zip_or_tables(tmp_path: Path) -> None:
    said = sonde("runs", "export", "own", "--to", tmp_path / "own.zip")
    assert said.exit_code == 0, said.output
    assert zipfile.is_zipfile(tmp_path / "own.zip")
    assert "--force" in refusal(sonde("runs", "export", "own", "--to", tmp_path / "own.zip"))
    target = tmp_path / "tables"
    said = sonde("runs", "export", "own", "--to", target, "--format", "parquet")
    assert "records.parquet" in said.stdout
    assert sorted(path.name for path in target.iterdir())[0] == "generations.parquet"


def test_export_makes_a_page_by_the_name_of_its_file(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "copy").mkdir()
    for part in ("copy.js", "copy.css"):
        (tmp_path / "copy" / part).write_text("/* */")
    monkeypatch.setattr("sonde.server.routes.ui.BUILT", tmp_path)
    tiny_tokenizer().save_pretrained(root / "own" / "checkpoint-5")
    said = sonde("runs", "export", "own", "--to", tmp_path / "own.html")
    assert said.exit_code == 0, said.output
    page = (tmp_path / "own.html").read_text()
    assert '"format":"sonde.run-copy.1"' in page
    assert re.search(r'"pieces":\{"6-\d":\["', page), "tokens have texts, by the run's tokenizer"
    assert "--force" in refusal(sonde("runs", "export", "own", "--to", tmp_path / "own.html"))
    monkeypatch.setattr("sonde.server.routes.ui.BUILT", tmp_path / "nowhere")
    assert "make ui" in refusal(sonde("runs", "export", "own", "--to", tmp_path / "other.html"))
