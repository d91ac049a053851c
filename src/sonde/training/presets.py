"""Policies that are known to work together with their dictionaries: a name for each combination.

A table, not code: sizes are those of the published configurations, so that `--dry-run` can say what
would be loaded without loading it. Imports no torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from sonde.errors import BadRequest

Strategy = Literal["single", "fsdp"]

SHIPPED: Final = "shipped"
"""Dictionaries that come with Sonde."""


@dataclass(frozen=True)
class Recipe:
    """How a policy is trained, where presets differ."""

    prompts_per_step: int
    max_completion_length: int
    learning_rate: float
    max_steps: int
    rows_per_pass: int
    """How many completions go through the policy at once; the rest is accumulated."""
    num_generations: int = 8
    dtype: str = "bfloat16"
    gradient_checkpointing: bool = True


@dataclass(frozen=True)
class Preset:
    """One policy, its dictionaries, and how it is spread over devices."""

    name: str
    base: str
    """A name that `sonde.load` knows."""
    saes: str
    """A Hugging Face repository with one file a layer, or `shipped`."""
    strategy: Strategy
    gpus: int
    n_layers: int
    width: int
    parameters: int
    d_sae: int
    k: int | None
    """Active features a token, where the dictionary's files do not say."""
    recipe: Recipe


CPU: Final = Recipe(
    prompts_per_step=2,
    max_completion_length=14,
    learning_rate=2e-4,
    max_steps=20,
    rows_per_pass=8,
    dtype="float32",
    gradient_checkpointing=False,
)
GPU: Final = Recipe(
    prompts_per_step=8,
    max_completion_length=64,
    learning_rate=1e-4,
    max_steps=500,
    rows_per_pass=8,
)


def _qwen(name: str, model: str, width_k: int, l0: int, strategy: Strategy, gpus: int) -> Preset:
    nine = "9B" in model
    return Preset(
        name=name,
        base=f"Qwen/{model}",
        saes=f"Qwen/SAE-Res-{model}-W{width_k}K-L0_{l0}",
        strategy=strategy,
        gpus=gpus,
        n_layers=32 if nine else 64,
        width=4096 if nine else 5120,
        parameters=9_000_000_000 if nine else 27_000_000_000,
        d_sae=width_k * 1024,
        k=l0,
        recipe=GPU,
    )


_ALL: Final = (
    Preset(
        name="smollm2-cpu",
        base="smollm2",
        saes=SHIPPED,
        strategy="single",
        gpus=0,
        n_layers=30,
        width=576,
        parameters=134_515_008,
        d_sae=16384,
        k=None,
        recipe=CPU,
    ),
    _qwen("9b-local-l0-50", "Qwen3.5-9B-Base", 64, 50, "single", 1),
    _qwen("9b-local-l0-100", "Qwen3.5-9B-Base", 64, 100, "single", 1),
    _qwen("9b-fsdp-l0-50", "Qwen3.5-9B-Base", 64, 50, "fsdp", 2),
    _qwen("9b-fsdp-l0-100", "Qwen3.5-9B-Base", 64, 100, "fsdp", 2),
    _qwen("27b-fsdp-l0-100", "Qwen3.5-27B", 80, 100, "fsdp", 6),
)

PRESETS: Final[Mapping[str, Preset]] = MappingProxyType({each.name: each for each in _ALL})

DEFAULT: Final = "smollm2-cpu"


def find_preset(name: str) -> Preset:
    """The preset of this name."""
    if name not in PRESETS:
        raise BadRequest(f"there is no policy preset {name!r}; there are {list(PRESETS)}")
    return PRESETS[name]
