"""`run.json`: what a run is, so that it can be understood a month later."""

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from sonde.sae.autoencoder import Autoencoder, Origin
from sonde.schema.records import Cadence, RunInfo, SAEFile
from sonde.training.metadata import Task

PACKAGES: Final = ("sonde", "torch", "transformers", "trl", "peft", "accelerate")


def run_info(
    *,
    run_id: str,
    started: float,
    model: Any,
    saes: Mapping[int, Autoencoder],
    k: int,
    every: int,
    prompts: bool = False,
    spill_every: int,
    save_every: int | None,
    task: Task,
    max_steps: int,
    seed: int | None = None,
    preset: str | None = None,
) -> RunInfo:
    """The description of a run that is beginning."""
    return RunInfo(
        run_id=run_id,
        model=str(getattr(model.config, "name_or_path", "") or type(model).__name__),
        saes=dictionaries(saes),
        layers=list(saes),
        k=k,
        cadence=Cadence(
            record_every_n_tokens=every,
            last_prompt_token=prompts,
            spill_every_n_steps=spill_every,
            save_every_n_steps=save_every,
        ),
        versions=versions(),
        started=started,
        status="running",
        task=task.name,
        files=task.files,
        max_steps=max_steps,
        seed=seed,
        preset=preset,
    )


def dictionaries(saes: Mapping[int, Autoencoder]) -> list[SAEFile]:
    """Which file each layer is read with. One made in memory has neither path nor hash."""
    return [
        SAEFile(layer_index=layer, path=_path(sae.origin), sha256=sae.origin.sha256 or "")
        for layer, sae in saes.items()
    ]


def _path(origin: Origin) -> str:
    if origin.file is None:
        return "memory"
    return origin.file if origin.folder is None else str(Path(origin.folder) / origin.file)


def versions() -> dict[str, str]:
    """What it runs on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
