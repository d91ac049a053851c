"""What a policy is asked and who grades it: the catalog that comes with Sonde, or your own."""

import json
from pathlib import Path
from typing import Any

from sonde.errors import BadReward
from sonde.training.grpo import Assignment
from sonde.training.metadata import Task
from sonde.training.rewards.catalog import catalog_task, load_catalog
from sonde.training.rewards.descriptions import questions
from sonde.training.rewards.plugin import load_verifier
from sonde.training.rewards.topics import load_topics
from sonde.training.rewards.verifier import CatalogVerifier


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
