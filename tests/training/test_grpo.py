"""How a trainer is put together; runs of it are in `tests/cli/test_train.py`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sonde.errors import BadReward
from sonde.settings import CheckpointConfig
from sonde.training.grpo import Assignment, Policy, Training, assignment, prepare, read_prompts
from sonde.training.metadata import Task
from sonde.training.plan import Plan
from sonde.training.presets import PRESETS
from sonde.training.rewards.scores import Scores
from tests.training import tiny_run
from tests.training.tiny_run import joined, lines

tiny_run.quiet()


def plan(directory: Path, **changes: Any) -> Plan:
    """The preset for the CPU, with a policy of a few thousand parameters."""
    preset = replace(PRESETS["smollm2-cpu"], n_layers=3, width=16)
    recipe = replace(preset.recipe, max_steps=2, max_completion_length=6, rows_per_pass=4)
    recipe = replace(recipe, num_generations=4, **changes)
    return Plan(
        preset=preset,
        recipe=recipe,
        base="tiny",
        config=CheckpointConfig(output_dir=directory, save_steps=1, save_total_limit=3),
        layers=tiny_run.LAYERS,
        dictionaries={},
        sae_device="cpu",
        processes=1,
        seed=0,
    )


def verify(prompt: str, completion: str, **_: object) -> Scores:
    return Scores(bool(len(completion) % 2), b=min(1.0, len(completion) / 20))


def training(given: Plan, **changes: Any) -> Training:
    policy = Policy(*tiny_run.policy())
    rows = [{"prompt": text} for text in tiny_run.prompts()["prompt"]]
    task = Task(name="lengths")
    return prepare(given, policy, tiny_run.saes(), Assignment(rows, verify, task), **changes)


@pytest.mark.slow
def test_a_plan_becomes_a_run_with_lora_rewards_and_records(tmp_path: Path) -> None:
    heard: list[int] = []
    run = training(plan(tmp_path), listen=lambda summary: heard.append(summary.step))
    lora = run.trainer.model.peft_config["default"]
    assert (lora.r, lora.lora_alpha, lora.lora_dropout) == (16, 32, 0.05)
    assert lora.target_modules == {
        *("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    }
    run.run()
    assert heard == [1, 2]
    generations = lines(tmp_path / "generations.jsonl")
    assert len(generations) == 2 * 2 * 4
    for each in generations:
        graded = verify("", each["completion"])
        assert each["R"] == pytest.approx(graded.reward)
        assert each["gate"] == graded.a
    assert len(list(joined(tmp_path))) > 0
    info = json.loads((tmp_path / "run.json").read_text())
    assert (info["task"], info["preset"]) == ("lengths", "smollm2-cpu")
    told = lines(tmp_path / "telemetry.jsonl")
    assert [each["step"] for each in told] == [1, 2]
    for each in told:
        logged = ("policy_loss", "entropy", "grad_norm", "learning_rate")
        assert all(each[name] is not None for name in logged), "TRL logs every step of a preset"
        assert each["kl"] is None, "there is no reference policy at beta 0"
        assert len(each["reward_quantiles"]) == 7
    assert (tmp_path / "checkpoint-2" / "adapter_model.safetensors").is_file()


@pytest.mark.slow
def test_a_run_that_fails_says_so(tmp_path: Path) -> None:
    run = training(plan(tmp_path))

    def broken(*_: object) -> None:
        raise FloatingPointError("the loss is not a number")

    run.trainer.training_step = broken
    with pytest.raises(FloatingPointError):
        run.run()
    info = json.loads((tmp_path / "run.json").read_text())
    assert info["status"] == "failed"
    assert info["error"] == "FloatingPointError: the loss is not a number"


@pytest.mark.slow
def test_an_interrupted_run_says_so_and_can_be_resumed(tmp_path: Path) -> None:
    run = training(plan(tmp_path))
    step = run.trainer.training_step
    calls = iter(range(100))

    def interrupted(*given: Any) -> Any:
        if next(calls) == 3:  # in the second optimizer step
            raise KeyboardInterrupt
        return step(*given)

    run.trainer.training_step = interrupted
    with pytest.raises(KeyboardInterrupt):
        run.run()
    assert json.loads((tmp_path / "run.json").read_text())["status"] == "stopped"
    again = training(replace(plan(tmp_path), resume="last"))
    assert again.resume == str(tmp_path / "checkpoint-1")
    again.run()
    steps = [each["iteration"] for each in lines(tmp_path / "grpo_metrics.jsonl")]
    assert steps == [1, 2]


@pytest.mark.slow
def test_resuming_without_a_checkpoint_begins_again_and_keeps_what_there_was(
    tmp_path: Path,
) -> None:
    (tmp_path / "sae_features.live.jsonl").write_text('{"step": 1}\n')
    run = training(replace(plan(tmp_path), resume="last"))
    assert run.resume is None
    run.run()
    assert lines(tmp_path / "segments" / "abandoned-0-0.jsonl") == [{"step": 1}]


def test_without_a_word_it_is_the_catalog() -> None:
    found = assignment(6, 0, prompts=None, reward=None)
    assert len(found.rows) == 6
    assert found.task.name == "catalog"
    row = found.rows[0]
    graded = found.verify(row["prompt"], row["target"], target=row["target"])
    assert getattr(graded, "reward", None) == 1


def test_prompts_and_reward_of_your_own(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "a", "answer": 1}\n\n{"prompt": "b", "answer": 2}\n')
    (tmp_path / "mine.py").write_text("def verify(prompt, completion, answer): return answer / 2\n")
    found = assignment(3, 0, prompts=prompts, reward=f"{tmp_path}/mine.py:verify")
    assert [row["prompt"] for row in found.rows] == ["a", "b", "a"]
    assert found.verify("b", "", answer=2) == 1
    assert found.task.catalog_version == ""


@pytest.mark.parametrize("content", ["", "not json\n", '{"question": "a"}\n', "[1]\n"])
def test_prompts_that_are_none_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text(content)
    with pytest.raises(BadReward, match=r"prompts\.jsonl"):
        read_prompts(path, 3)


def test_columns_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    row = {"prompt": [{"role": "user", "content": "hi"}], "more": [1, 2]}
    path.write_text(json.dumps(row))
    assert read_prompts(path, 1) == [row]
