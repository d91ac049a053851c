"""A GRPO run on TRL, put together from a plan: policy with LoRA, reward, prompts, sidecar.

Loading is the caller's: a policy comes in loaded, and so do the dictionaries. What is
decided here is only how TRL is set up, so that a script of your own can do the same in a few lines.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig
from trl import GRPOConfig, GRPOTrainer

from sonde.errors import BadReward
from sonde.sae.autoencoder import Autoencoder
from sonde.training.metadata import Task, resume_step
from sonde.training.plan import LORA_ALPHA, LORA_DROPOUT, LORA_RANK, LORA_TARGETS, Plan
from sonde.training.rewards.catalog import catalog_task, load_catalog
from sonde.training.rewards.descriptions import questions
from sonde.training.rewards.plugin import load_verifier
from sonde.training.rewards.reward_function import RewardFunction, Verifier
from sonde.training.rewards.topics import load_topics
from sonde.training.rewards.verifier import CatalogVerifier
from sonde.training.sidecar import Existing, SidecarCallback
from sonde.training.stopping import Terminated
from sonde.training.summary import StepSummary


@dataclass(frozen=True, eq=False)
class Policy:
    """A loaded model and its tokenizer."""

    model: Any
    tokenizer: Any


@dataclass(frozen=True, eq=False)
class Assignment:
    """What the policy is asked, and who grades it."""

    rows: Sequence[Mapping[str, Any]]
    """Each with a `prompt`, and whatever the verifier wants to know."""
    verify: Verifier
    task: Task


@dataclass(frozen=True, eq=False)
class Training:
    """A trainer and the callback beside it, ready to begin."""

    trainer: Any
    sidecar: SidecarCallback
    resume: str | None
    """The checkpoint to go on from."""
    step: int = 0
    """Its step."""

    def run(self) -> None:
        """Train to the end. However it ends, the run directory says so."""
        try:
            self.trainer.train(resume_from_checkpoint=self.resume)
        except KeyboardInterrupt as interrupt:
            ended = "terminated" if isinstance(interrupt, Terminated) else "interrupted"
            self.sidecar.close("stopped", ended)
            raise
        except Exception as error:
            self.sidecar.close("failed", f"{type(error).__name__}: {error}")
            raise


def assignment(count: int, seed: int, *, prompts: Path | None, reward: str | None) -> Assignment:
    """Questions and verifier; `prompts` and `reward` replace those of the catalog."""
    catalog = load_catalog()
    asked = [
        {"prompt": each.prompt, "target": each.target} for each in questions(catalog, count, seed)
    ]
    task = catalog_task(catalog) if reward is None and prompts is None else Task(name=reward)
    return Assignment(
        rows=asked if prompts is None else read_prompts(prompts, count),
        verify=load_verifier(reward) if reward else CatalogVerifier(catalog, load_topics()),
        task=task,
    )


def read_prompts(path: Path, count: int) -> list[dict[str, Any]]:
    """One JSON object a line, each with a `prompt`; begun again from the top when they run out."""
    try:
        rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise BadReward(f"cannot read prompts from {path}: {error}") from error
    if not rows or not all(isinstance(row, dict) and "prompt" in row for row in rows):
        raise BadReward(f"{path}: every line must be a JSON object with a `prompt`")
    return [rows[number % len(rows)] for number in range(count)]


def prepare(
    plan: Plan,
    policy: Policy,
    saes: Mapping[int, Autoencoder],
    assignment: Assignment,
    *,
    existing: Existing = "refuse",
    strict_resume: bool = True,
    listen: Callable[[StepSummary], None] | None = None,
) -> Training:
    """Build the trainer and put the sidecar beside it. Nothing is written yet."""
    layout = plan.config.layout()
    step = None if plan.resume is None else resume_step(layout, plan.resume)
    trainer = GRPOTrainer(
        model=_trainable(policy.model, plan),
        reward_funcs=RewardFunction(assignment.verify),
        args=_arguments(plan),
        train_dataset=Dataset.from_list([dict(row) for row in assignment.rows]),
        processing_class=policy.tokenizer,
        peft_config=LoraConfig(
            r=LORA_RANK,
            lora_alpha=LORA_ALPHA,
            lora_dropout=LORA_DROPOUT,
            target_modules=list(LORA_TARGETS),
            task_type="CAUSAL_LM",
        ),
    )
    _quiet(trainer)
    sidecar = SidecarCallback(
        saes,
        k=plan.k,
        record_every_n_tokens=plan.record_every_n_tokens,
        record_last_prompt_token=plan.record_last_prompt_token,
        config=plan.config,
        task=assignment.task,
        preset=plan.preset.name,
        existing="resume" if step == 0 else existing,
        strict_resume=strict_resume,
        listen=listen,
    )
    sidecar.attach(trainer)
    return Training(trainer, sidecar, str(layout.checkpoint(step)) if step else None, step or 0)


def _arguments(plan: Plan) -> Any:
    recipe, config = plan.recipe, plan.config
    on_cpu = plan.preset.gpus == 0
    return GRPOConfig(
        output_dir=str(config.output_dir),
        max_steps=recipe.max_steps,
        per_device_train_batch_size=recipe.rows_per_pass,
        gradient_accumulation_steps=plan.accumulation,
        num_generations=recipe.num_generations,
        max_completion_length=recipe.max_completion_length,
        learning_rate=recipe.learning_rate,
        lr_scheduler_type="constant",
        warmup_steps=0,
        beta=0.0,
        temperature=1.0,
        use_cpu=on_cpu,
        bf16=recipe.dtype == "bfloat16",
        gradient_checkpointing=recipe.gradient_checkpointing,
        save_strategy="steps",
        save_steps=config.save_steps,
        save_total_limit=config.save_total_limit,
        logging_strategy="steps",  # for the sidecar's telemetry; nothing is printed or reported
        logging_steps=1,
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=not on_cpu,
        shuffle_dataset=False,
        seed=plan.seed,
    )


def _trainable(model: Any, plan: Plan) -> Any:
    """The policy as TRL wants it: training mode, and outputs in the dtype of the plan."""
    model.train()
    if plan.recipe.gradient_checkpointing:
        model.config.use_cache = False
    return model.to(getattr(torch, plan.recipe.dtype))


def _quiet(trainer: Any) -> None:
    """The sidecar reports; the trainer need not print its own tables beside it."""
    from transformers import PrinterCallback

    trainer.remove_callback(PrinterCallback)
    for name in ("transformers", "trl", "accelerate"):
        logging.getLogger(name).setLevel(logging.ERROR)
