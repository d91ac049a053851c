"""Every record of a run is compared with a forward pass of its own, in every mode."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.training.short_run import InsteadOfVLLM, Run
from tests.training.tiny_run import joined, lines, records

CHECKPOINTED = {"gradient_checkpointing": True}

MODES: dict[str, dict[str, Any]] = {
    "plain": {},
    "every token, and the last of the prompt": {"every": 1, "prompts": True},
    "thinned, and the last of the prompt": {"prompts": True, "mask_truncated_completions": True},
    "accumulated": {"gradient_accumulation_steps": 2},
    "several iterations": {"num_iterations": 2, "max_steps": 4},
    "generated for two steps": {"steps_per_generation": 2, "max_steps": 4},
    "generated across steps": {"steps_per_generation": 3, "gradient_accumulation_steps": 2},
    "reference": {"beta": 0.1, "lora": True},
    "checkpointed": {**CHECKPOINTED, "gradient_checkpointing_kwargs": {"use_reentrant": False}},
    "checkpointed, reentrant": {
        **CHECKPOINTED,
        "gradient_checkpointing_kwargs": {"use_reentrant": True},
        "lora": True,
        "beta": 0.1,
    },
    "truncated masked": {"mask_truncated_completions": True},
    "evaluated between": {"eval_strategy": "steps", "eval_steps": 1, "num_generations_eval": 2},
    "generated elsewhere": {"elsewhere": True},
    "vLLM": {"use_vllm": True, "vllm_mode": "colocate"},
}
"""In the last two the policy's modules never run to generate. TRL then runs them once more to score
what vLLM has generated, before the training pass: that is not read."""


def test_records_equal_those_of_an_independent_forward_pass(tmp_path: Path) -> None:
    """Steps, token numbers, layers, features, activations and losses, all of them."""
    run = Run(tmp_path, **MODES["plain"])
    assert run.check() > 20


def test_the_last_token_of_each_prompt_is_recorded_where_that_is_asked_for(tmp_path: Path) -> None:
    """It stands right before the completion, in a batch whose prompts are padded."""
    run = Run(tmp_path, **MODES["every token, and the last of the prompt"])
    assert run.check() > 40
    generations = lines(tmp_path / "generations.jsonl")
    last = {(one["step"], one["prompt_token"]) for one in generations}
    assert None not in {token for _, token in last}
    found = {(each["step"], each["token_index"]) for each in records(tmp_path)}
    assert last < found
    assert len(list(joined(tmp_path))) == len(records(tmp_path))


@pytest.fixture(autouse=True)
def _trl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    monkeypatch.setattr("trl.trainer.grpo_trainer.VLLMGeneration", InsteadOfVLLM)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [name for name in MODES if name != "plain"])
def test_records_equal_an_independent_pass_in_every_mode(tmp_path: Path, mode: str) -> None:
    run = Run(tmp_path, **MODES[mode])
    assert run.check() > 8
    lengths = {each["completion_tokens"] for each in lines(tmp_path / "generations.jsonl")}
    assert len(lengths) > 2
    rollouts = {each["generation_id"] for each in lines(tmp_path / "generations.jsonl")}
    seen = len(run.rewards.seen)  # those of an evaluation are graded, and nobody learns from them
    assert len(rollouts) == seen or ("eval_strategy" in MODES[mode] and len(rollouts) < seen)
    steps = Counter(record["step"] for record in records(tmp_path))
    assert sorted(steps) == list(range(1, run.trainer.args.max_steps + 1))
