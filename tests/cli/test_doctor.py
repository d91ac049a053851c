import json
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.cli import doctor, exactness, installation, machine
from sonde.cli.installation import Finding
from tests.cli.shell import sonde
from tests.cli.test_exactness import SOUND


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of its own: directories, cache, a port that nobody has, and sound products."""
    monkeypatch.setattr(exactness, "report", lambda: SOUND)  # a child takes seconds, each time
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("AEGIR_P5_OUTPUT_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("AEGIR_GATEWAY_PORT", "0")
    monkeypatch.setattr(machine, "ROOM", 0)
    return tmp_path


def test_a_machine_where_sonde_works_is_told_so(here: Path) -> None:
    result = sonde("doctor")
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith("Everything needed is here.\n")
    for name in (
        "python",
        "packages",
        "engine",
        "model",
        "autoencoders",
        "port",
        "disk",
        "cpu",
        "products",
        "bits",
    ):
        assert f"✓  {name} " in result.stdout
    assert [*here.iterdir()] == [], "a checkup changes nothing"


def test_every_problem_comes_with_what_to_do_and_the_status_is_1(here: Path) -> None:
    (here / "runs").touch()
    result = sonde("doctor")
    assert result.exit_code == 1
    assert "✗  run directory" in result.stdout
    assert "→ name another with --output-dir" in result.stdout
    assert result.stdout.endswith("1 problem; see → above\n")


def test_exactness_is_a_report_of_its_own(here: Path) -> None:
    result = sonde("doctor", "--exactness")
    assert result.exit_code in (0, 1), result.output
    assert "float32   linear" in result.stdout
    assert "MKL's reproducible mode" in result.stdout
    assert json.loads(sonde("doctor", "--exactness", "--json").stdout)["trials"]


def test_json_says_the_same(here: Path) -> None:
    (here / "runs").touch()
    result = sonde("doctor", "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 1
    assert report["ok"] is False
    states = {each["name"]: each["state"] for each in report["findings"]}
    assert states["run directory"] == "broken"
    assert states["python"] == "ok"


def test_a_setting_that_makes_no_sense_is_a_problem_and_not_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AEGIR_GATEWAY_PORT", "many")
    result = sonde("doctor")
    assert result.exit_code == 1
    assert "✗  settings" in result.stdout
    assert "AEGIR_GATEWAY_PORT" in result.stdout
    assert "✓  disk" in result.stdout


def test_without_a_package_it_needs_the_checkup_still_ends_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missing = Finding("packages", "broken", "not installed: httpx", "pip install sonde")
    monkeypatch.setattr(installation, "packages", lambda: iter([missing]))
    result = sonde("doctor")
    assert result.exit_code == 1
    assert "not installed: httpx" in result.stdout


def test_long_findings_are_wrapped_and_nothing_in_them_reaches_the_terminal() -> None:
    lines = [*doctor.in_words(Finding("disk", "broken", "word " * 40, "\x1b[31m do it"))]
    assert max(map(len, lines)) <= doctor.WIDTH
    assert "\x1b" not in "".join(lines)
    assert len(lines) > 3


def test_it_needs_no_torch() -> None:
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "from sonde.cli.main import main\n"
        "main(['doctor'], standalone_mode=False)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "✓  autoencoders" in done.stdout, done.stderr
