"""A training run on disk, from which it goes on: safetensors and JSON, no pickle.

A state is whole or absent. Tensors are written first, under names with the number of the round in
them; the JSON that names them replaces the last one in one step; only then are older ones removed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from sonde.errors import BadRequest

STATE: Final = "state.json"


@dataclass(frozen=True, eq=False)
class Saved:
    """How far a run was."""

    rounds: int
    tokens: int
    layers: dict[int, dict[str, Tensor]]


def save(
    directory: Path,
    said: Mapping[str, Any],
    rounds: int,
    tokens: int,
    layers: Mapping[int, Mapping[str, Tensor]],
) -> None:
    """Keep a run's state; `said` is what it must agree with to be gone on from."""
    directory.mkdir(parents=True, exist_ok=True)
    names = {layer: f"round{rounds}-layer{layer}.safetensors" for layer in layers}
    for layer, tensors in layers.items():
        held = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        save_file(held, directory / names[layer])
    state = {**_plain(said), "rounds": rounds, "seen": tokens, "files": list(names.values())}
    beside = directory / f".{STATE}"
    beside.write_text(json.dumps(state, indent=1, allow_nan=False) + "\n")
    beside.replace(directory / STATE)
    for old in set(directory.glob("round*.safetensors")) - {directory / n for n in names.values()}:
        old.unlink()


def load(directory: Path, said: Mapping[str, Any], device: torch.device) -> Saved | None:
    """The state in a directory, or None where there is none; one of another run is refused."""
    path = directory / STATE
    if not path.exists():
        return None
    try:
        state = json.loads(path.read_text())
        found = {key: state[key] for key in said}
        if found != _plain(said):
            key = next(key for key in said if found[key] != _plain(said)[key])
            raise BadRequest(
                f"{directory} holds a training run with {key} {found[key]}, and this one has "
                f"{_plain(said)[key]}; go on with the same settings, or remove that directory"
            )
        layers = {
            int(name.partition("-layer")[2].partition(".")[0]): load_file(
                directory / name, device=str(device)
            )
            for name in state["files"]
        }
        return Saved(state["rounds"], state["seen"], layers)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise BadRequest(
            f"cannot go on from {directory}: {error}; remove that directory to begin anew"
        ) from error


def remove(directory: Path) -> None:
    """Forget a run that has ended."""
    for file in [*directory.glob("round*.safetensors"), directory / STATE]:
        file.unlink(missing_ok=True)
    if directory.is_dir() and not any(directory.iterdir()):
        directory.rmdir()


def _plain(said: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON would give it back."""
    plain: dict[str, Any] = json.loads(json.dumps(said))
    return plain
