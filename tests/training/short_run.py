"""One short GRPO run with the sidecar beside it, and all that is needed to check what it wrote."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from peft import LoraConfig
from trl import GRPOTrainer

from sonde.settings import CheckpointConfig
from sonde.training import SidecarCallback
from tests.training import tiny_run
from tests.training.tiny_run import LAYERS, Rewards, Weights, lines, records

tiny_run.quiet()

LORA = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "up_proj"])


class Run:
    """One short GRPO run and everything needed to check it."""

    def __init__(
        self,
        directory: Path,
        *,
        lora: bool = False,
        elsewhere: bool = False,
        every: int = 2,
        resume: str | None = None,
        config: CheckpointConfig | None = None,
        callbacks: Sequence[Any] = (),
        watched: bool = True,
        prompts: bool = False,
        **changes: Any,
    ) -> None:
        self.directory, self.every = directory, every
        self.rewards, self.weights = Rewards(), Weights()
        model, self.tokenizer = tiny_run.policy()
        model.generation_config.eos_token_id = list(range(40))  # completions of many lengths
        self.trainer = GRPOTrainer(
            model,
            reward_funcs=self.rewards,
            args=tiny_run.config(directory, **changes),
            train_dataset=tiny_run.prompts(),
            eval_dataset=tiny_run.prompts(2),
            processing_class=self.tokenizer,
            rollout_func=self.elsewhere if elsewhere else None,
            peft_config=LORA if lora else None,
            callbacks=[self.weights, *callbacks],
        )
        self.sidecar = SidecarCallback(
            tiny_run.saes(),
            record_every_n_tokens=every,
            record_last_prompt_token=prompts,
            config=config,
        )
        if watched:
            self.sidecar.attach(self.trainer)
        self.trainer.train(resume_from_checkpoint=resume)

    def elsewhere(self, prompts: list[str], trainer: Any) -> dict[str, Any]:
        """Completions of other tokens and lengths than the policy would have chosen."""
        said = drawn(len(prompts), trainer.state.global_step)
        return {
            "prompt_ids": [self.tokenizer(prompt)["input_ids"] for prompt in prompts],
            "completion_ids": said,
            "logprobs": [[0.0] * len(ids) for ids in said],
        }

    def tokens(self, generation: dict[str, Any]) -> tuple[int, ...]:
        """The completion's tokens, as the reward function was given them."""
        known = {
            ids
            for prompt, said, ids in self.rewards.seen
            if (prompt, said) == (generation["prompt"], generation["completion"])
            and len(ids) == generation["completion_tokens"]
        }
        assert known, "a generation that was never scored"
        return sorted(known)[0] if len(known) == 1 else pytest.skip("two spellings of one text")

    def check(self) -> int:
        """Compare every record of every step with the other path. -> how many"""
        generations = lines(self.directory / "generations.jsonl")
        wanted = [record for each in generations for record in self.expected(each)]
        found = records(self.directory)
        assert [key(record) for record in found] == [key(record) for record in wanted]
        for record, other in zip(found, wanted, strict=True):
            close(record["top_feature_activations"], other["top_feature_activations"])
            close(record["reconstruction_loss"], other["reconstruction_loss"])
            settled = separated(other["top_feature_activations"])
            pairs = zip(record["top_feature_indices"], other["top_feature_indices"], strict=True)
            assert all(a == b for (a, b), sure in zip(pairs, settled, strict=True) if sure)
        return len(found)

    def expected(self, generation: dict[str, Any]) -> list[dict[str, Any]]:
        span = range(generation["token_start"], generation["token_end"])
        if not span:
            return []
        prompt = self.tokenizer(generation["prompt"])["input_ids"]
        weights = self.weights.at[generation["step"]]
        layers = tiny_run.expected(weights, prompt, self.tokens(generation))
        at = [*range(0, generation["completion_tokens"], self.every)]
        if generation["prompt_token"] is not None:
            at.append(generation["prompt_token"] - generation["token_start"])
            assert at[-1] == generation["completion_tokens"]
        return [
            {
                "step": generation["step"],
                "token_index": span[offset],
                "layer_index": layer,
                "top_feature_indices": layers[layer][offset][0],
                "top_feature_activations": layers[layer][offset][1],
                "reconstruction_loss": layers[layer][offset][2],
            }
            for offset in at
            for layer in LAYERS
        ]


class InsteadOfVLLM:
    """What TRL asks of a vLLM engine. Its weights are its own, so its completions are not ours."""

    def __init__(self, **_: Any) -> None:
        self._synced = 0

    def sync_weights(self) -> None:
        self._synced += 1

    def generate(self, prompts: list[list[int]], **_: Any) -> tuple[Any, ...]:
        """Tokens of each prompt's completion, and one log-probability for each."""
        said = drawn(len(prompts), self._synced)
        return prompts, said, [[[-1.0] for _ in ids] for ids in said], None


def drawn(n: int, seed: int) -> list[list[int]]:
    draw = np.random.default_rng(seed)
    return [draw.integers(40, 300, draw.integers(1, 9)).tolist() for _ in range(n)]


def key(record: dict[str, Any]) -> tuple[int, int, int]:
    return record["step"], record["token_index"], record["layer_index"]


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-4)


def separated(values: list[float]) -> list[bool]:
    """Which places of a ranking rounding cannot change."""
    gaps = [np.inf, *(-np.diff(values)), np.inf]
    return [min(before, after) > 1e-3 for before, after in zip(gaps, gaps[1:], strict=False)]
