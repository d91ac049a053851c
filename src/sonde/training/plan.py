"""Everything that is decided before anything is loaded, and what it will need.

`sonde train --dry-run` prints a plan and stops; without it, the same plan is carried out. Imports
no torch and opens no weights.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sonde.errors import BadRequest, MissingDictionary
from sonde.sae import shipped
from sonde.settings import CheckpointConfig
from sonde.training.presets import SHIPPED, Preset, Recipe

LORA_RANK: Final = 16
LORA_ALPHA: Final = 32
LORA_DROPOUT: Final = 0.05
LORA_TARGETS: Final = (
    "q_proj",
    "k_proj",
    "v_proj",
    "o_proj",
    "gate_proj",
    "up_proj",
    "down_proj",
)


@dataclass(frozen=True)
class Plan:
    """One training run, decided."""

    preset: Preset
    recipe: Recipe
    base: str
    """The preset's policy, or another one with its shape."""
    config: CheckpointConfig
    layers: tuple[int, ...]
    """Empty where dictionaries are off."""
    dictionaries: Mapping[int, str]
    """Where each layer's is: a path, or a file of a repository."""
    sae_device: str
    processes: int
    seed: int
    resume: str | None = None
    record_every_n_tokens: int = 1
    """Presets record all that is learnt; a sidecar beside another trainer one token in four."""
    record_last_prompt_token: bool = True
    k: int = 16

    @property
    def accumulation(self) -> int:
        """How many passes of one process make an optimizer step."""
        rows = self.recipe.prompts_per_step * self.recipe.num_generations
        return max(1, rows // (self.recipe.rows_per_pass * max(self.processes, 1)))


@dataclass(frozen=True)
class Memory:
    """Bytes on each device, roughly."""

    weights: int
    adapter: int
    """LoRA matrices, their gradients and two moments each."""
    dictionaries: int
    activations: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.adapter + self.dictionaries + self.activations


def watched_layers(preset: Preset, n: int, attach: str, saes: str | None = None) -> tuple[int, ...]:
    """The layers whose features are recorded; none with `off`.

    Of the dictionaries that come with Sonde the nearest to each, where those are as many.
    """
    if attach == "off":
        return ()
    layers = default_layers_to_hook(preset.n_layers, n)
    if (saes or preset.saes) == SHIPPED:
        here = shipped.layers()
        nearest = {min(here, key=lambda each: abs(each - layer)) for layer in layers}
        layers = sorted(nearest) if len(nearest) == n else layers
    return tuple(layers)


def default_layers_to_hook(num_layers: int, n: int) -> list[int]:
    """`n` layers spread evenly from layer 0: 30 and 2 give [0, 15]. All where there are no more."""
    if n < 1:
        raise BadRequest(
            f"sae_num_layers is {n}; watch at least 1 layer, or none with sae_attach off"
        )
    if n >= num_layers:
        return list(range(num_layers))
    stride = num_layers // n
    return [index * stride for index in range(n)]


def find_dictionaries(preset: Preset, saes: str | None, layers: tuple[int, ...]) -> dict[int, str]:
    """Where each layer's dictionary is. One that is not there is an error that names it."""
    source = saes or preset.saes
    if source == SHIPPED:
        here = shipped.layers()
        missing = [layer for layer in layers if layer not in here]
        if missing:
            wanted = shipped.SHIPPED / shipped.MODEL / f"layer_{missing[0]}"
            raise MissingDictionary(
                f"layer {missing[0]} has no dictionary: {wanted} does not exist; Sonde ships "
                f"layers {list(here)}. Choose another --sae-num-layers, train one with "
                "`sonde sae train`, or use --sae-attach off"
            )
        return {layer: str(here[layer]) for layer in layers}
    if Path(source).is_dir():
        return {layer: str(_in_folder(Path(source), layer)) for layer in layers}
    return {layer: f"{source}/layer{layer}.sae.pt" for layer in layers}


def _in_folder(folder: Path, layer: int) -> Path:
    names = [folder / f"layer_{layer}", folder / f"layer{layer}.sae.pt", folder / f"layers.{layer}"]
    for path in names:
        if path.exists():
            return path
    raise MissingDictionary(
        f"layer {layer} has no dictionary: none of {', '.join(map(str, names))} exists; give a "
        "folder that has one with --saes, or use --sae-attach off"
    )


def memory(plan: Plan) -> Memory:
    """What each device will hold. Rough: it is meant to tell whether it can fit at all."""
    preset, recipe = plan.preset, plan.recipe
    element = 4 if recipe.dtype == "float32" else 2
    shards = plan.processes if preset.strategy == "fsdp" else 1
    # q, k, v, o: about four square matrices a layer; gate, up, down: three of width x 3 widths.
    adapted = preset.n_layers * preset.width * LORA_RANK * (4 * 2 + 3 * 4)
    tokens = recipe.rows_per_pass * (64 + recipe.max_completion_length)
    kept = 2 if recipe.gradient_checkpointing else 34
    return Memory(
        weights=preset.parameters * element // shards,
        adapter=adapted * 4 * 4 // shards,
        dictionaries=len(plan.layers) * 2 * preset.width * preset.d_sae * 4,
        activations=tokens * preset.width * preset.n_layers * element * kept,
    )


def choose_threads(asked: int | None, environ: Mapping[str, str]) -> int:
    """How many threads to compute with: as asked, as OMP_NUM_THREADS says, or the idle cores.

    Threads that wait for each other on a busy machine are slower than one that does not.
    """
    if asked is not None:
        return asked
    if (said := environ.get("OMP_NUM_THREADS", "")).isdecimal() and int(said) > 0:
        return int(said)
    cores = len(os.sched_getaffinity(0))
    return max(1, cores - round(os.getloadavg()[0]))
