"""Which models `sonde serve` has beside its first one, and how much memory all of them may take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sonde.backends.torch.loading.aliases import ALIASES, alias_file
from sonde.cli import parse
from sonde.cli.loading import in_runs
from sonde.cli.progress import Progress
from sonde.errors import BadRequest, UnknownModel

if TYPE_CHECKING:
    from sonde.model import Model
    from sonde.runs.hub import Hub


def offering(command: Callable[..., None]) -> Callable[..., None]:
    """The options on which models can be asked for."""
    options = [
        click.option(
            "--model",
            "models",
            multiple=True,
            metavar="NAME",
            help="An alias, a Hugging Face id, a directory or a .gguf file (see `sonde models`). "
            "Repeat it for more: the first is the default and stays, others are loaded when they "
            "are asked for. Without it no model is loaded, and only runs are shown.",
        ),
        click.option(
            "--model-root",
            "roots",
            multiple=True,
            type=click.Path(file_okay=False, path_type=Path),
            metavar="DIRECTORY",
            help="Models below it may be asked for too. Repeat it for more.",
        ),
        click.option(
            "--model-memory",
            metavar="SIZE",
            help="For the weights of all models together: 8GiB. Default: half of the memory.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def check_offered(
    models: Sequence[str], roots: Sequence[Path], memory: str | None, backend: str
) -> int | None:
    """What cannot be offered is refused. -> the bytes for weights, where they were given"""
    given = [("--model-root", roots), ("--model-memory", memory)]
    for option, value in given:
        if value and not models:
            raise BadRequest(
                f"{option} is about models beside a first one: give --model NAME too, or leave "
                f"{option} out"
            )
        if value and backend == "vllm":
            raise BadRequest(f"{option} is for --backend torch: a vLLM engine holds one model")
    for root in roots:
        if not root.is_dir():
            raise BadRequest(f"--model-root {parse.shown(str(root))}: there is no such directory")
    if len(models) > 1 and backend == "vllm":
        raise BadRequest(
            f"--model {parse.shown(models[1])}: a vLLM engine holds one model; serve each by a "
            "process of its own"
        )
    return None if memory is None else parse.size("--model-memory", memory)


def offered(
    first: Model,
    models: Sequence[str],
    roots: Sequence[Path],
    memory: int | None,
    runs: Hub,
    loading: dict[str, Any],
    progress: Progress,
) -> dict[str, Any]:
    """What `assemble` has to know to serve further models beside the first."""
    if first.describe().backend != "torch":
        return {}
    from sonde.backends.torch.loader import TorchLoader, half_of_memory
    from sonde.backends.torch.loading.model_cache import place
    from sonde.server.model_names import ModelNames

    loader = TorchLoader(**{name: value for name, value in loading.items() if value is not None})
    aliases = {name for name in ALIASES if _installed(name)}
    sources = {name: name for name in models if name in aliases}
    for name in models:  # now, so that one that is not there is said before anybody asks
        if name not in sources:
            sources[name] = str(loader.locate(in_runs(name), progress.say).resolve())
    sources |= {name: name for name in sorted(aliases)}
    budget = memory or half_of_memory(first.describe().device)
    held = loader.held([first.backend])
    if memory is not None and held > memory:
        raise BadRequest(
            f"--model-memory {memory:,} bytes is less than {models[0]} takes, which stays: {held:,}"
        )
    return {
        "names": ModelNames(sources, roots=roots, runs=runs, bases=[place("")]),
        "loader": loader,
        "model_bytes": budget,
    }


def _installed(alias: str) -> bool:
    try:
        return alias_file(ALIASES[alias]).is_file()
    except UnknownModel:
        return False
