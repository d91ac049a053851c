"""Add the default run's task to a corpus: what is asked, the answer, and what the model writes.

    python -m benchmarks.sae_task_text corpus/

A policy's completions are what its features are read on, and prose does not look like them. Each
question of the catalog becomes one document with its answer and some with what the model writes
before it is trained, sampled at temperature 1.
"""

import argparse
import json
import sys
from pathlib import Path

import torch

from benchmarks.sae_corpus import APART
from sonde.backends.torch.loading.load import load_model
from sonde.backends.torch.sampling import sample
from sonde.sae.corpus import SOURCES
from sonde.training.rewards.catalog import load_catalog
from sonde.training.rewards.descriptions import questions

FILE = "task.txt"
ASKED = 4000
"""Questions that are drawn; there are fewer that differ."""
WRITTEN = 4
"""Completions of each."""
LENGTH = 24
AT_ONCE = 512


def main() -> None:
    """Write one more file, and list it among the sources."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    given = parser.parse_args()
    listed = json.loads((given.directory / SOURCES).read_text())
    if any(each["file"] == FILE for each in listed):
        sys.exit(f"{FILE} is in {given.directory} already")
    loaded = load_model("smollm2", device=given.device)
    drawn = questions(load_catalog(), ASKED, seed=1)
    answers = {each.prompt: str(each.target) for each in drawn}
    documents = [f"{prompt} {answer}" for prompt, answer in answers.items()]
    by_length: dict[int, list[list[int]]] = {}
    for prompt in answers:
        ids = loaded.tokenizer(prompt, add_special_tokens=False)["input_ids"]
        by_length.setdefault(len(ids), []).extend([ids] * WRITTEN)
    generator = torch.Generator(given.device).manual_seed(0)
    for length, rows in by_length.items():
        for some in torch.split(torch.tensor(rows), AT_ONCE):
            written = sample(loaded.model, some, length + LENGTH, generator=generator)
            documents += loaded.tokenizer.batch_decode(written)
    (given.directory / FILE).write_text(APART.join(documents))
    listed.append(
        {
            "what": "the default run's questions, answered by the catalog and by the model",
            "licence": "Apache-2.0", "package": "sonde", "file": FILE, "domain": "task",
            "quoted": True,
        }
    )  # fmt: skip
    (given.directory / SOURCES).write_text(json.dumps(listed, indent=1) + "\n")
    print(f"{len(documents):,} documents of {len(answers)} questions")


if __name__ == "__main__":
    main()
