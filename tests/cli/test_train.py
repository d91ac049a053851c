"""The command on a tiny policy; a real one is trained in the slow tests."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import refusal, sonde
from tests.training.tiny_run import joined, lines


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("AEGIR_P5_OUTPUT_DIR", "AEGIR_WORKTREE_ROLE", "ALLOW_SECONDARY", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)


def test_a_dry_run_says_what_would_be_loaded_and_loads_nothing(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom sonde.cli.main import main\n"
        "try:\n    main(['train', '--dry-run', '--policy-preset', '27b-fsdp-l0-100'])\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "assert not {'torch', 'transformers', 'trl'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    for word in ("Qwen/Qwen3.5-27B", "layer32.sae.pt", "6 GPUs", "memory"):
        assert word in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_trainer_writes_where_the_gateway_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AEGIR_P5_OUTPUT_DIR", str(tmp_path / "shared"))
    dry = ("train", "--dry-run", "--sae-attach", "off")
    assert str(tmp_path / "shared") in sonde(*dry).stdout
    assert "flagged" in sonde(*dry, "--output-dir", tmp_path / "flagged").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--policy-preset", "9b"], "9b-local-l0-50"),
        (["--sae-num-layers", "0"], "sae_num_layers is 0"),
        (["--sae-num-layers", "4"], "layer 7 has no dictionary"),
        (["--saes", "."], "layer 0 has no dictionary"),
        (["--sae-attach", "off", "--resume"], "no run in"),
        (["--sae-attach", "off", "--resume", "--archive"], "choose one"),
        (["--sae-attach", "off", "--output-dir", "/proc/nothing"], "--output-dir"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_loaded(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    if "--sae-num-layers" in arguments and "4" in arguments:
        (tmp_path / "saes" / "layer_0").mkdir(parents=True)
        arguments = [*arguments, "--saes", str(tmp_path / "saes")]
    given = [] if "--output-dir" in arguments else ["--output-dir", str(tmp_path / "run")]
    assert said in refusal(sonde("train", *given, *arguments))


def test_a_secondary_worktree_may_only_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AEGIR_WORKTREE_ROLE", "secondary")
    run = ("train", "--sae-attach", "off", "--output-dir", tmp_path / "run")
    assert "AEGIR_P5_OUTPUT_DIR" in refusal(sonde(*run))
    assert sonde(*run, "--dry-run").exit_code == 0


def test_a_directory_that_holds_a_run_is_refused_before_loading(tmp_path: Path) -> None:
    (tmp_path / "generations.jsonl").write_text("")
    found = sonde("train", "--sae-attach", "off", "--output-dir", tmp_path)
    assert "--resume" in refusal(found)


def short_run(tmp_path: Path, *arguments: object) -> dict[str, Any]:
    """A run of a few steps on SmolLM2, in a process of its own."""
    command = [sys.executable, "-m", "sonde", "train", "--output-dir", str(tmp_path / "run")]
    done = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((tmp_path / "run" / "run.json").read_text())
    return found | {"stdout": done.stdout, "stderr": done.stderr}


@pytest.mark.slow
def test_a_short_run_can_be_resumed_and_every_step_is_there_once(tmp_path: Path) -> None:
    once = short_run(tmp_path, "--max-steps", 1, "--threads", 1)
    again = short_run(tmp_path, "--max-steps", 2, "--threads", 1, "--resume")
    assert once["run_id"] == again["run_id"]
    assert again["status"] == "finished"
    assert "mean reward by step" in again["stdout"]
    assert "step 2 of 2" in again["stderr"]
    generations = lines(tmp_path / "run" / "generations.jsonl")
    assert Counter(each["step"] for each in generations) == {1: 16, 2: 16}
    pairs = list(joined(tmp_path / "run"))
    assert {record["layer_index"] for record, _ in pairs} == {0, 15}
    assert all(generation["R"] is not None for _, generation in pairs)
