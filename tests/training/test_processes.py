"""Several processes at once, and processes that are killed."""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sonde.training.launch import command
from tests.programs import PATIENCE
from tests.training import tiny_run
from tests.training.short_run import Run
from tests.training.test_plan import plan
from tests.training.tiny_run import LAYERS, Rewards, Weights, lines


def launcher(name: str) -> list[str]:
    """What `sonde train` starts a preset of two processes with, up to the program."""
    chosen = plan(name, processes=2)
    small = replace(chosen, recipe=replace(chosen.recipe, dtype="float32"))
    whole = command(small, [])
    return whole[: whole.index("sonde") - 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "how"), [("smollm2-cpu", []), ("9b-fsdp-l0-50", ["sharded"])], ids=["whole", "FSDP"]
)
def test_one_process_writes_what_two_have_generated(
    tmp_path: Path, preset: str, how: list[str]
) -> None:
    """Over gloo: both ranks' completions, each once, and their records are right.

    Started as the preset is: by torch's launcher, or by Accelerate's with its flags for FSDP.
    """
    told = os.environ | {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true", "PYTHONPATH": "."}
    done = subprocess.run(
        [*launcher(preset), "-m", "tests.training.two_ranks", str(tmp_path), *how],
        env=told,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    run = Run.__new__(Run)
    run.directory, run.every, run.tokenizer = tmp_path, 2, tiny_run.policy()[1]
    run.rewards, run.weights = Rewards(), Weights()
    each_seen = []
    for rank in (0, 1):
        seen, run.weights.at = torch.load(tmp_path / f"seen-{rank}.pt", weights_only=True)
        each_seen.append(len(seen))
        run.rewards.seen += seen
    assert each_seen == [16, 16]
    generations = lines(tmp_path / "generations.jsonl")
    wanted = Counter((prompt, said) for prompt, said, _ in run.rewards.seen)
    assert Counter((each["prompt"], each["completion"]) for each in generations) == wanted
    assert Counter(each["step"] for each in generations) == dict.fromkeys((1, 2, 3, 4), 8)
    assert Counter(Counter(each["group_id"] for each in generations).values()) == {4: 8}
    assert run.check() > 40
    assert (tmp_path / "checkpoint-4" / "sae_features.jsonl").exists()


@pytest.mark.slow
def test_a_run_killed_at_twenty_random_moments_counts_every_step_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.training.killed_training", str(tmp_path / "run"), "20", "3"],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["wrong"] == []
    steps = list(range(1, found["until"] + 1))
    generations = lines(tmp_path / "run" / "generations.jsonl")
    assert Counter(each["step"] for each in generations) == dict.fromkeys(steps, 4)
    assert [each["iteration"] for each in lines(tmp_path / "run" / "grpo_metrics.jsonl")] == steps
    pairs = list(tiny_run.joined(tmp_path / "run"))
    tokens = {(record["step"], record["token_index"], record["layer_index"]) for record, _ in pairs}
    assert len(tokens) == len(pairs)
    wanted = sum(len(range(0, each["completion_tokens"], 4)) for each in generations)
    assert len(pairs) == wanted * len(LAYERS)
    assert list((tmp_path / "run" / "segments").glob("abandoned-*"))
