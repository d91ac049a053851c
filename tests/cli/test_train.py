"""The command on a tiny policy; a real one is trained in the slow tests."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sonde.cli import train
from sonde.cli.main import Failure, one_line_errors
from sonde.training.grpo import Assignment, Policy
from sonde.training.metadata import Task
from tests.cli.shell import refusal, sonde
from tests.runs.full_disk import no_room_in
from tests.training import tiny_run
from tests.training.test_grpo import plan, verify
from tests.training.tiny_run import joined, lines, records


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
    assert "SONDE_OUTPUT_DIR" in refusal(sonde(*run))
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


@pytest.fixture
def tiny_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `carry_out` loads, a few thousand parameters large."""
    rows = [{"prompt": text} for text in tiny_run.prompts()["prompt"]]
    asked = Assignment(rows, verify, Task(name="lengths"))
    monkeypatch.setattr(train, "load_policy", lambda *_: Policy(*tiny_run.policy()))
    monkeypatch.setattr("sonde.training.dictionaries.load_dictionaries", lambda *_: tiny_run.saes())
    monkeypatch.setattr("sonde.training.grpo.assignment", lambda *_, **__: asked)


OPTIONS: dict[str, Any] = {"prompts": None, "reward": None, "archive": False, "strict_resume": True}


@pytest.mark.slow
@pytest.mark.usefixtures("tiny_policy")
def test_03_a_run_whose_records_the_disk_did_not_take_ends_with_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = plan(tmp_path)
    full = no_room_in(tmp_path / "sae_features.live.jsonl")
    with full, pytest.raises(Failure) as failure, one_line_errors():
        train.carry_out(given, OPTIONS, 1, first=True)
    assert failure.value.exit_code == 1
    lost = json.loads((tmp_path / "sae_health.jsonl").read_text().splitlines()[-1])
    assert lost["records_lost"] == lost["records_dropped"] > 0
    assert f"{lost['records_lost']:,} records and the metadata of checkpoint-1" in str(
        failure.value
    )
    assert f"0 records written, {lost['records_lost']:,} left out" in capsys.readouterr().out
    again = replace(given, resume="last")  # from the beginning: no checkpoint is whole
    train.carry_out(again, OPTIONS, 1, first=True)
    assert {record["step"] for record in records(tmp_path)} == {1, 2}


@pytest.mark.slow
@pytest.mark.usefixtures("tiny_policy")
def test_a_resumed_run_ends_with_a_summary_of_all_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = plan(tmp_path)
    train.carry_out(given, OPTIONS, 1, first=True)
    capsys.readouterr()
    longer = replace(given.recipe, max_steps=5)
    train.carry_out(replace(given, recipe=longer, resume="last"), OPTIONS, 1, first=True)
    said = capsys.readouterr().out
    metrics = lines(tmp_path / "grpo_metrics.jsonl")
    assert [line["iteration"] for line in metrics] == [1, 2, 3, 4, 5]
    first, last = metrics[0]["rewards_mean"], metrics[-1]["rewards_mean"]
    assert f"reward {first:.2f} in the first 1 step, {last:.2f} in the last 1" in said
    assert f"{len(records(tmp_path)):,} records written, 0 left out" in said
    health = lines(tmp_path / "sae_health.jsonl")
    assert health[-1]["records_written"] == len(records(tmp_path))
