"""Every record of a run is compared with a forward pass of its own, in every mode."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.training.short_run import InsteadOfVLLM, Run
from tests.training.tiny_run import lines, records

CHECKPOINTED = {"gradient_checkpointing": True}

MODES: dict[str, dict[str, Any]] = {
    "plain": {},
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
    steps = Counter(record["step"] for record in records(tmp_path))
    assert sorted(steps) == list(range(1, run.trainer.args.max_steps + 1))
