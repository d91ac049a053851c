"""A GRPO run of a few steps on a random model of a few thousand parameters, and what it should say.

The expected records come from another path altogether: an ordinary forward pass over one unpadded
completion at a time, with the weights the step began with, and the dictionary's formula in float64.
"""

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast, TrainerCallback

from sonde.sae.activations import TopK
from sonde.sae.autoencoder import Autoencoder
from tests.tiny_model import SENTENCES, tiny_llama, tiny_tokenizer

if TYPE_CHECKING:
    from datasets import Dataset

LAYERS = (0, 2)
WIDTH = 16


def tiny_sae(seed: int, *, width: int = WIDTH, features: int = 40, k: int = 20) -> Autoencoder:
    """A random TopK dictionary."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    return Autoencoder(
        W_enc=draw(width, features),
        b_enc=draw(features) * 0.1,
        W_dec=draw(features, width) / 8,
        b_dec=draw(width) * 0.1,
        activation=TopK(k),
        subtract_b_dec=True,
        hook="post_block",
    )


def saes() -> dict[int, Autoencoder]:
    return {layer: tiny_sae(layer) for layer in LAYERS}


def prompts(n: int = 6) -> "Dataset":
    """Prompts of different lengths."""
    from datasets import Dataset

    texts = [sentence[: 9 + 7 * i] for i in range(2) for sentence in SENTENCES]
    return Dataset.from_dict({"prompt": texts[:n]})


@dataclass
class Rewards:
    """A reward that depends on the completion alone, and remembers what it was asked about."""

    __name__ = "vowels"
    seen: list[tuple[str, str, tuple[int, ...]]] = field(default_factory=list)

    def __call__(
        self,
        prompts: list[str],
        completions: list[str],
        completion_ids: list[list[int]],
        log_extra: Any,
        **_: Any,
    ) -> list[float]:
        asked = zip(prompts, completions, completion_ids, strict=True)
        self.seen += [(prompt, said, tuple(ids)) for prompt, said, ids in asked]
        gates = [float(len(said) % 3 > 0) for said in completions]
        log_extra("R_A", gates)
        log_extra("invalid", [len(said) % 3 == 0 for said in completions])
        return [reward_of(said) for said in completions]


def reward_of(completion: str) -> float:
    return (sum(letter in "aeiou" for letter in completion) % 5) / 4


class Weights(TrainerCallback):  # type: ignore[misc]
    """The weights each step began with, adapters merged."""

    def __init__(self) -> None:
        self.at: dict[int, dict[str, torch.Tensor]] = {}

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.at[state.global_step + 1] = merged(kwargs["model"])


def merged(model: Any) -> dict[str, torch.Tensor]:
    """Plain weights of a model, with its adapter added in where there is one."""
    if hasattr(model, "merge_adapter"):
        model.merge_adapter()
        found = {
            name.replace(".base_layer", ""): value.clone()
            for name, value in model.get_base_model().state_dict().items()
            if "lora_" not in name
        }
        model.unmerge_adapter()
        return found
    return {name: value.clone() for name, value in model.state_dict().items()}


def policy(seed: int = 0) -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    return tiny_llama(seed, layers=3, width=WIDTH), tiny_tokenizer()


def config(output_dir: Path, **changes: Any) -> Any:
    """A quick GRPO configuration for the CPU."""
    from trl import GRPOConfig

    given = {
        "per_device_train_batch_size": 4,
        "num_generations": 4,
        "max_completion_length": 9,
        "max_steps": 3,
        "learning_rate": 0.02,
        "bf16": False,
        "use_cpu": True,
        "report_to": "none",
        "logging_strategy": "no",
        "save_strategy": "no",
        "disable_tqdm": True,
        "gradient_checkpointing": False,
        "seed": 5,
    }
    return GRPOConfig(output_dir=str(output_dir), **(given | changes))


def quiet() -> None:
    """Trainers have much to say that is not about the test."""
    for name in ("transformers", "trl", "accelerate", "datasets"):
        logging.getLogger(name).setLevel(logging.ERROR)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def records(directory: Path) -> list[dict[str, Any]]:
    """The counted history: segments in order, then the live file."""
    segments = [path for path in (directory / "segments").glob("*.jsonl") if path.stem.isdigit()]
    ordered = sorted(segments, key=lambda path: int(path.stem))
    live = directory / "sae_features.live.jsonl"
    every = [*ordered, *([live] if live.exists() else [])]
    return [record for path in every for record in lines(path)]


def joined(directory: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every record with its generation; exactly one, or this is an error."""
    generations = lines(directory / "generations.jsonl")
    for record in records(directory):
        (generation,) = (
            each
            for each in generations
            if each["step"] == record["step"]
            and each["token_start"] <= record["token_index"] < each["token_end"]
        )
        yield record, generation


def expected(
    weights: dict[str, torch.Tensor], prompt: list[int], completion: tuple[int, ...]
) -> dict[int, list[tuple[list[int], list[float], float]]]:
    """By layer, for every completion token, then for the last of the prompt: features, activations
    and loss, in float64.
    """
    model = tiny_llama(layers=3, width=WIDTH)
    model.load_state_dict(weights)
    ids = torch.tensor([[*prompt, *completion]])
    found: dict[int, torch.Tensor] = {}
    for layer in LAYERS:
        model.model.layers[layer].register_forward_hook(
            lambda _m, _i, out, layer=layer: found.update({layer: out[0]})
        )
    with torch.no_grad():
        model(input_ids=ids)
    rows = [*range(len(prompt), len(prompt) + len(completion)), len(prompt) - 1]
    return {layer: by_formula(found[layer][rows].numpy(), saes()[layer]) for layer in LAYERS}


def by_formula(x: Any, sae: Autoencoder, k: int = 16) -> list[tuple[list[int], list[float], float]]:
    """TopK, then ReLU; the loss is summed over the width."""
    tensors = {name: tensor.double().numpy() for name, tensor in sae.tensors().items()}
    x = x.astype(np.float64)
    pre = (x - tensors["b_dec"]) @ tensors["W_enc"] + tensors["b_enc"]
    found = []
    for token, row in enumerate(pre):
        order = np.argsort(-row)[: sae.activation.k]  # type: ignore[union-attr]
        active = [int(i) for i in order if row[i] > 0]
        x_hat = sum((row[i] * tensors["W_dec"][i] for i in active), tensors["b_dec"])
        loss = float(((x[token] - x_hat) ** 2).sum())
        found.append((active[:k], [float(row[i]) for i in active[:k]], loss))
    return found
