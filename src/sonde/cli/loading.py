"""Load a model for a command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import click

import sonde
from sonde.cli.progress import Progress
from sonde.errors import MissingExtra
from sonde.model import Model

if TYPE_CHECKING:
    from sonde.backends.torch.backend import TorchBackend

ENGINE = {"torch", "transformers", "safetensors", "accelerate", "gguf", "peft"}
ENGINE |= {"huggingface_hub", "tokenizers"}

DTYPES = ("float32", "float16", "bfloat16")


def placing(command: Callable[..., None]) -> Callable[..., None]:
    """The options on how and where a model is loaded."""
    device = click.option("--device", metavar="NAME", help="cpu, cuda, cuda:1 or mps.")
    dtype = click.option("--dtype", type=click.Choice(DTYPES), help="Precision of the weights.")
    return dtype(device(command))


def compiling(command: Callable[..., None]) -> Callable[..., None]:
    """The options on how a GPU computes."""
    compiled = click.option(
        "--compile",
        "compile_layers",
        is_flag=True,
        help="Compile the layers: for large models on GPUs.",
    )
    fixed = click.option(
        "--fixed-rows",
        is_flag=True,
        help="Batch-invariant on a GPU too, at half the speed.",
    )
    return compiled(fixed(command))


def in_runs(name: str) -> str:
    """A checkpoint of a run that is called by its name, by the run's directory."""
    from sonde.cli.finding import find, hub_of
    from sonde.runs.checkpoint_name import CheckpointName

    checkpoint = CheckpointName.parse(name)
    if checkpoint is None or Path(checkpoint.run).expanduser().is_dir():
        return name
    directory = find(hub_of(None, None), checkpoint.run).directory
    return str(CheckpointName(str(directory), checkpoint.step))


def load_model(name: str, progress: Progress, **options: Any) -> Model:
    """The model `name`; `options` are those of `sonde.load`."""
    try:
        return sonde.load(in_runs(name), progress=progress.say, **options)
    except ModuleNotFoundError as error:
        raise missing_engine(name, error) from error


def missing_engine(name: str, error: ModuleNotFoundError) -> Exception:
    """What to raise where a module is not there: the way to install it, or a bug as it is."""
    if (error.name or "").partition(".")[0] not in ENGINE:
        return error
    return MissingExtra(f"loading {name} ({error.name} is not installed)", "engine")


@runtime_checkable
class _Closeable(Protocol):
    def close(self) -> None: ...


def unload(model: Model) -> None:
    """End the processes that a model runs in, if it has any: two engines do not fit one GPU."""
    if isinstance(model.backend, _Closeable):
        model.backend.close()


def torch_backend(model: Model) -> TorchBackend:
    """The backend of a model that was loaded here, for what no other backend can do."""
    from sonde.backends.torch.backend import TorchBackend

    assert isinstance(model.backend, TorchBackend)
    return model.backend
