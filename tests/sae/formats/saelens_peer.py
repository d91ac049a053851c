"""Run by the Python of `.venv-saelens`, where SAELens is and Sonde is not: it loads, trains, saves.

python saelens_peer.py read FOLDER...    what SAELens makes of exported dictionaries
python saelens_peer.py train OUT         dictionaries that SAELens trains, and what they say
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sae_lens
import torch
from sae_lens.config import SAETrainerConfig
from sae_lens.saes.batchtopk_sae import BatchTopKTrainingSAE, BatchTopKTrainingSAEConfig
from sae_lens.saes.matryoshka_batchtopk_sae import (
    MatryoshkaBatchTopKTrainingSAE,
    MatryoshkaBatchTopKTrainingSAEConfig,
)
from sae_lens.saes.topk_sae import TopKTrainingSAE, TopKTrainingSAEConfig
from sae_lens.training.sae_trainer import SAETrainer
from safetensors.torch import load_file, save_file

WIDTH, FEATURES = 12, 40
WHERE = {"model_name": "tiny", "hook_name": "blocks.3.hook_resid_post"}


def say(sae: Any, folder: Path, x: torch.Tensor) -> None:
    """Write what a dictionary makes of activations beside its files."""
    with torch.no_grad():
        features = sae.encode(x)
        features = features.to_dense() if features.is_sparse else features
        out = {"x": x, "features": features, "rebuilt": sae.decode(features)}
    save_file({name: each.contiguous() for name, each in out.items()}, folder / "said.safetensors")


def read(folder: Path) -> None:
    """Load a folder with SAELens; transcoders by what their configuration says."""
    x = load_file(folder / "asked.safetensors")["x"]
    say(sae_lens.SAE.load_from_disk(folder, device="cpu"), folder, x)


def activations(seed: int) -> Iterator[torch.Tensor]:
    """Batches without end, of a few directions at a time."""
    draw = torch.Generator().manual_seed(seed)
    directions = torch.randn(20, WIDTH, generator=draw)
    while True:
        strength = torch.rand(256, 20, generator=draw) * (torch.rand(256, 20, generator=draw) < 0.2)
        yield strength @ directions + 0.1


def train(out: Path) -> None:
    """A hundred steps of each architecture, kept as SAELens keeps it for reading."""
    base = {"d_in": WIDTH, "d_sae": FEATURES, "k": 4}
    kinds = {
        "topk": (TopKTrainingSAE, TopKTrainingSAEConfig(**base)),
        "batchtopk": (BatchTopKTrainingSAE, BatchTopKTrainingSAEConfig(**base)),
        "matryoshka": (
            MatryoshkaBatchTopKTrainingSAE,
            MatryoshkaBatchTopKTrainingSAEConfig(**base, matryoshka_widths=[10, FEATURES]),
        ),
    }
    for name, (kind, config) in kinds.items():
        for key, value in WHERE.items():
            config.metadata[key] = value
        sae = kind(config)
        recipe = SAETrainerConfig(
            total_training_samples=25600, train_batch_size_samples=256, lr_end=3e-4
        )
        SAETrainer(recipe, sae, activations(0)).fit()
        folder = out / name
        sae.save_inference_model(folder)
        x = next(activations(1))
        say(sae_lens.SAE.load_from_disk(folder, device="cpu"), folder, x)


if __name__ == "__main__":
    if sys.argv[1] == "train":
        train(Path(sys.argv[2]))
    else:
        for folder in sys.argv[2:]:
            read(Path(folder))
