"""From the name of a model to a directory on this machine.

A Hugging Face id is fetched, or taken from the Hugging Face cache: the whole model before anything
is loaded, so that an id becomes an ordinary directory and every check of one applies to both. It
also fails at once: asked for an id while offline, transformers itself tries again for three
quarters of a minute.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import LocalEntryNotFoundError

from sonde.backends.torch.loading.aliases import ALIASES, alias_file
from sonde.backends.torch.loading.gguf_file import OLDER, cache_name, converted
from sonde.backends.torch.loading.reasons import one_line, unknown_model
from sonde.runs.checkpoint_name import CheckpointName
from sonde.runs.layout import RunLayout

GGUF = ".gguf"
WANTED = ["*.json", "*.safetensors", "*.jinja", "*.model", "*.txt"]
UNWANTED = [
    "*/*",  # other formats, in folders of their own
    "consolidated*",  # the publisher's own format: the same weights again
    "model.*.safetensors",  # variants in another precision
]


@dataclass(frozen=True)
class Located:
    """A model or adapter directory, and what an adapter trained over it should call its base."""

    directory: Path
    known_as: str


def locate(name: str, say: Callable[[str], None]) -> Located:
    """Find `name`: an alias first, then a path, a checkpoint of a run, then a Hugging Face id.

    An alias wins over a directory of the same name, so that it means one thing everywhere; write
    `./smollm2` for the directory.
    """
    if alias := ALIASES.get(name):
        return _at(converted(alias_file(alias), alias.name, say))
    path = Path(name).expanduser()
    if path.is_dir():
        return _at(path)
    if path.is_file():
        return _at(_convert(path, name, say))
    if checkpoint := CheckpointName.parse(name):
        return _at(checkpoint.within(RunLayout(Path(checkpoint.run).expanduser())))
    if looks_like_a_path(name):
        raise unknown_model(name, f"there is no file or directory {path.absolute()}")
    say(f"looking for {name} on the Hugging Face Hub; a first download can take minutes")
    return Located(from_hub(name), known_as=name)


def from_hub(name: str) -> Path:
    """The directory that holds the model `name`; safetensors, tokenizer and configuration only."""
    try:
        return Path(snapshot_download(name, allow_patterns=WANTED, ignore_patterns=UNWANTED))
    except LocalEntryNotFoundError as error:
        why = one_line(error.__cause__ or error)
        reason = (
            f"no such path, nothing in the Hugging Face cache, and the Hub is out of reach ({why})"
        )
        raise unknown_model(name, reason) from error
    except (OSError, ValueError) as error:
        reason = f"no such path, and the Hugging Face Hub has no such model ({one_line(error)})"
        raise unknown_model(name, reason) from error


def older_names(alias: str) -> list[str]:
    """What older recipes called the directory of the model that the alias stands for here."""
    file = alias_file(ALIASES[alias])
    return [cache_name(file, alias, recipe) for recipe in OLDER]


def looks_like_a_path(name: str) -> bool:
    """No Hugging Face id is absolute, starts with a dot or tilde, is deeper than two, or a GGUF."""
    return (
        Path(name).is_absolute()
        or name.startswith((".", "~"))
        or name.replace(os.sep, "/").count("/") > 1
        or name.endswith(GGUF)
    )


def _convert(file: Path, name: str, say: Callable[[str], None]) -> Path:
    if file.suffix != GGUF:
        raise unknown_model(name, f"{file} is a file, and of files only {GGUF} can be loaded")
    return converted(file, file.stem, say)


def _at(directory: Path) -> Located:
    return Located(directory, known_as=str(directory))
