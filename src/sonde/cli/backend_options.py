"""Which engine computes, and what is passed on to it: the options of `sonde serve` about that.

`--engine-option name=value` goes to the engine as it is, so that new options of the engine need no
line here; the engine itself refuses those it does not know. Options that only one of the backends
has are refused by name with the other one, instead of being ignored.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

import click

from sonde.backends.vllm.installed import check_installed
from sonde.cli import parse
from sonde.cli.options import Decorator, number
from sonde.errors import BadRequest

BACKENDS = ("torch", "vllm")

ONLY_TORCH = {"device": "--device", "memory_budget": "--memory-budget",
              "compile_layers": "--compile", "fixed_rows": "--fixed-rows"}  # fmt: skip
"""Arguments of `sonde.load`, and the flags that set them."""


def choosing(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options on which engine computes."""
    options: list[Decorator] = [
        click.option(
            "--backend",
            type=click.Choice(BACKENDS),
            default="torch",
            help="torch runs in this process; vllm spreads large models over GPUs and machines. "
            "Default: torch.",
        ),
        number("--tensor-parallel-size", "With vllm: split each layer over so many workers."),
        number("--pipeline-parallel-size", "With vllm: split the layers into so many stages."),
        click.option(
            "--engine-option",
            multiple=True,
            metavar="NAME=VALUE",
            help="With vllm: any engine argument, as often as needed, such as max_model_len=4096.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def backend_arguments(
    backend: str,
    tensor_parallel_size: int | None,
    pipeline_parallel_size: int | None,
    engine_option: Sequence[str],
    loading: dict[str, Any],
) -> dict[str, Any]:
    """What `sonde.load` is called with, from the options; refuses what does not fit together."""
    sizes = {
        "tensor_parallel_size": tensor_parallel_size,
        "pipeline_parallel_size": pipeline_parallel_size,
    }
    given = {name: size for name, size in sizes.items() if size is not None}
    if backend == "torch":
        flags = [f"--{name.replace('_', '-')}" for name in given]
        flags += ["--engine-option"] if engine_option else []
        if flags:
            raise BadRequest(f"{flags[0]} is for --backend vllm; add that, or leave {flags[0]} out")
        return loading
    for name, flag in ONLY_TORCH.items():
        if loading.pop(name, None):
            raise BadRequest(f"{flag} is for --backend torch; with vllm, use --engine-option")
    options = engine_options(engine_option)
    for name in sorted(set(options) & set(sizes)):
        raise BadRequest(f"--engine-option {name}: give it as --{name.replace('_', '-')}")
    check_installed()
    return {"backend": "vllm", **loading, **given, "engine_options": options}


def engine_options(pairs: Sequence[str]) -> dict[str, Any]:
    """`name=value` pairs; a value that is JSON is what it says, any other is text."""
    made: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        name = name.replace("-", "_")
        if not equals or not name.isidentifier():
            raise BadRequest(
                f"--engine-option {parse.shown(pair)} is not name=value; "
                "write it such as max_model_len=4096"
            )
        if name in made:
            raise BadRequest(f"--engine-option {name} was given twice")
        made[name] = _value(value)
    return made


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
