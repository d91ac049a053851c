"""Load a model for a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

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
        help="Same bits in any company on a GPU too, at half the speed.",
    )
    return compiled(fixed(command))


def load_model(name: str, progress: Progress, **options: Any) -> Model:
    """The model `name`; `options` are those of `sonde.load`."""
    try:
        return sonde.load(name, progress=progress.say, **options)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ENGINE:
            raise
        raise MissingExtra(f"loading {name} ({error.name} is not installed)", "engine") from error


def torch_backend(model: Model) -> TorchBackend:
    """The backend of a model that was loaded here, for what no other backend can do."""
    from sonde.backends.torch.backend import TorchBackend

    assert isinstance(model.backend, TorchBackend)
    return model.backend
