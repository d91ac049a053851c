"""A study that takes a second: a random model, and as many pairs as wanted."""

import json
from pathlib import Path

from sonde.study import StudyFile, read_study
from tests.tiny_model import save_tiny_model

TOML = """\
model = "model"
pairs = "pairs.jsonl"

[sweep]
hooks = ["z"]
positions = "together"
metric = "logit_diff"
drop_wrong = false

[statistics]
resamples = 200
flips = 200
"""


def tiny_study(folder: Path, *, n: int = 12, toml: str = TOML, seed: int = 0) -> StudyFile:
    """A study's file with its model and its pairs beside it."""
    save_tiny_model(folder / "model", seed=seed)
    write_pairs(folder / "pairs.jsonl", n)
    path = folder / "small.toml"
    path.write_text(toml)
    return read_study(path)


def write_pairs(path: Path, n: int) -> None:
    """Pairs that are no sentences, which a random model does not mind."""
    pairs = [
        {
            "clean": f"{number:03d} Mary gave a drink to",
            "corrupt": f"{number:03d} John gave a drink to",
            "answer": " Mary",
            "foil": " John",
        }
        for number in range(n)
    ]
    path.write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs))
