"""What is measured on a machine is not its working tree: it is recorded only when asked to."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from benchmarks import figures, machine

from tests.documents import README, ROOT


def test_a_measurement_goes_where_git_does_not_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert machine.LOCAL == figures.LOCAL == ROOT / "out" / "benchmarks"
    assert "out/" in (ROOT / ".gitignore").read_text().splitlines()
    monkeypatch.setattr(machine, "LOCAL", tmp_path / "new" / "local")
    before = {path: path.read_bytes() for path in machine.RECORDED.iterdir()}

    machine.write("sweep_rate", {"seconds": 1.0})

    found = json.loads((tmp_path / "new" / "local" / "sweep_rate.json").read_text())
    assert found["seconds"] == 1.0
    assert {path: path.read_bytes() for path in machine.RECORDED.iterdir()} == before


def test_no_benchmark_writes_to_what_is_recorded() -> None:
    writers = [
        path.name
        for path in (ROOT / "benchmarks").glob("*.py")
        if path.name not in ("machine.py", "figures.py")
        and ("RECORDED" in path.read_text() or "benchmarks/results" in path.read_text())
    ]
    assert writers == []


def test_parts_that_were_measured_elsewhere_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "LOCAL", tmp_path / "local")
    monkeypatch.setattr(machine, "RECORDED", tmp_path / "recorded")
    (tmp_path / "recorded").mkdir()
    (tmp_path / "recorded" / "both.json").write_text('{"cpu": 1, "cuda": 2}')
    assert machine.kept("both") == {"cpu": 1, "cuda": 2}
    machine.local("both").write_text('{"cpu": 3, "cuda": 2}')
    assert machine.kept("both") == {"cpu": 3, "cuda": 2}
    assert machine.kept("none") == {}


def test_figures_change_when_somebody_says_so(tmp_path: Path) -> None:
    local, results = tmp_path / "local", tmp_path / "results"
    local.mkdir()
    shutil.copytree(figures.RESULTS, results)
    (local / "roofline.json").write_text("{}")
    (local / "stream.json").write_text("[]")

    assert figures.record(["stream"], local=local, results=results) == ["stream"]
    assert (results / "roofline.json").read_text() != "{}"
    assert figures.record(local=local, results=results) == ["roofline", "stream"]
    assert (results / "roofline.json").read_text() == "{}"
    with pytest.raises(SystemExit, match="sweep_rate was not measured here"):
        figures.record(["sweep_rate"], local=local, results=results)


def test_nothing_measured_is_nothing_recorded(tmp_path: Path) -> None:
    assert figures.record(local=tmp_path / "none") == []


def test_the_mark_in_the_readme_is_the_one_that_is_written() -> None:
    assert figures.BEGIN in README.read_text()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_git_ignores_what_was_measured() -> None:
    path = machine.LOCAL / "sweep_rate.json"
    done = subprocess.run(["git", "check-ignore", "-q", path], cwd=ROOT, check=False)
    assert done.returncode == 0
