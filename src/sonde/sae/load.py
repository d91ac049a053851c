"""From a path to a dictionary: what is there decides how it is read, never a name alone.

1. A folder is known by the files that only one library puts together.
2. A single torch file is known by the tensors in it.
3. What neither tells, the caller says: `k`, `hook`, `layer`, `format`. Nothing is guessed.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sonde.errors import BadRequest, NotSaid, UnknownFormat
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.build import FileFacts
from sonde.sae.files.pickles import read_pickle
from sonde.sae.files.tensors import check_header
from sonde.sae.formats import (
    dictionary_learning,
    gemma_scope,
    gemma_scope_2,
    linear_pair,
    llama_scope,
    llama_scope_r1,
    openai,
    qwen_scope,
    saelens,
    sonde,
    sparsify,
)
from sonde.schema.autoencoder import CONFIG

PICKLES: Final = (".pt", ".pth")


@dataclass(frozen=True)
class Format:
    """How a format is read, and what it is known by: files of a folder, or tensors of one file."""

    load: Callable[[Path, FileFacts], Autoencoder]
    files: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()
    takes_factor: bool = False
    """Whether its files may leave a scale of the activations to be said."""


FORMATS: Final = {
    "sonde": Format(sonde.load, (CONFIG, sonde.WEIGHTS)),
    "saelens": Format(saelens.load, (saelens.CONFIG, saelens.WEIGHTS), takes_factor=True),
    "sparsify": Format(sparsify.load, (sparsify.CONFIG, sparsify.WEIGHTS)),
    "dictionary_learning": Format(
        dictionary_learning.load, (dictionary_learning.CONFIG, dictionary_learning.WEIGHTS)
    ),
    "gemma_scope": Format(gemma_scope.load, (gemma_scope.WEIGHTS,)),
    "gemma_scope_2": Format(gemma_scope_2.load, (gemma_scope_2.WEIGHTS,)),
    "llama_scope": Format(llama_scope.load, (llama_scope.CONFIG, llama_scope.WEIGHTS)),
    "llama_scope_r1": Format(
        llama_scope_r1.load, (llama_scope_r1.CONFIG, llama_scope_r1.WEIGHTS), takes_factor=True
    ),
    "qwen_scope": Format(qwen_scope.load, tensors=("W_enc", "W_dec", "b_enc", "b_dec")),
    "openai": Format(openai.load, tensors=("pre_bias", "latent_bias")),
    "linear_pair": Format(linear_pair.load, tensors=("encoder.weight", "decoder.weight")),
    "goodfire": Format(
        linear_pair.load, tensors=("encoder_linear.weight", "decoder_linear.weight")
    ),
}


def load_autoencoder(
    path: Path | str,
    *,
    k: int | None = None,
    d_in: int | None = None,
    hook: str | None = None,
    layer: int | None = None,
    factor: float | None = None,
    format: str | None = None,
) -> Autoencoder:
    """The dictionary at a path: a folder, or a file.

    load_autoencoder("layers.15.mlp")                     # everything is in the files
    load_autoencoder("layer7.sae.pt", k=50, d_in=2048)    # k is in no file; the width is checked
    load_autoencoder("dictionaries", format="sparsify")   # where two formats share a folder
    """
    if format is not None and format not in FORMATS:
        raise BadRequest(f"format {format!r} is not known; expected one of {sorted(FORMATS)}")
    where = _of_layer(Path(path), layer)
    name, found = detect(where) if format is None else (format, _as_told(where, format))
    if factor is not None:
        _check_factor(factor, name, found)
    made = FORMATS[name].load(found, FileFacts(k, d_in, hook, layer, factor))
    folder = str((found if found.is_dir() else found.parent).absolute())
    return replace(made, origin=replace(made.origin, folder=folder))


def detect(path: Path) -> tuple[str, Path]:
    """Which format a path is, and the folder or file to give its loader."""
    if not path.exists():
        raise UnknownFormat(f"{path} does not exist; give a folder or a file with a dictionary")
    folder = path if path.is_dir() else path.parent
    names = [name for name in FORMATS if _is_folder_of(name, folder)]
    if path != folder:
        names = [name for name in names if path.name in FORMATS[name].files]
    if len(names) == 1:
        return names[0], folder
    if names:
        raise NotSaid(f"{folder} could be any of {names}; say which with format=")
    if path == folder:
        raise UnknownFormat(_unknown_folder(folder))
    return _known_by_tensors(path), path


def _check_factor(factor: float, name: str, found: Path) -> None:
    if not FORMATS[name].takes_factor:
        raise BadRequest(f"{found} is {name}, whose scale is in its files; leave factor out")
    if not (math.isfinite(factor) and factor > 0):
        raise BadRequest(f"factor {factor} would leave nothing to encode; expected more than 0")


def _of_layer(path: Path, layer: int | None) -> Path:
    """The file of a layer, where a folder has one torch file for each."""
    file = path / f"layer{layer}.sae.pt"
    return file if layer is not None and file.is_file() else path


def _as_told(path: Path, format: str) -> Path:
    """What to give the loader of a format that the caller named."""
    folder = path if path.is_dir() else path.parent
    if not FORMATS[format].files:
        if path.is_file():
            return path
        raise UnknownFormat(f"{path} is no file, and {format} is a single torch file")
    if not _is_folder_of(format, folder):
        raise UnknownFormat(
            f"{folder} lacks some of {[*FORMATS[format].files]}, which {format} has"
        )
    return folder


def _is_folder_of(format: str, folder: Path) -> bool:
    files = FORMATS[format].files
    return bool(files) and all((folder / file).is_file() for file in files)


def _known_by_tensors(path: Path) -> str:
    if path.suffix not in PICKLES:
        held = sorted(check_header(path)) if path.suffix == ".safetensors" else []
        raise UnknownFormat(
            f"{path} alone does not say what it is{f' (it has {held})' if held else ''}; expected "
            f"a torch file ({' or '.join(PICKLES)}), or weights beside their configuration"
        )
    held = sorted(read_pickle(path))
    for name, format in FORMATS.items():
        if format.tensors and set(format.tensors) <= set(held):
            return name
    known = {name: format.tensors for name, format in FORMATS.items() if format.tensors}
    raise UnknownFormat(f"{path} has {held[:20]}, expected the tensors of one of {known}")


def _unknown_folder(folder: Path) -> str:
    inside = sorted(entry.name for entry in folder.iterdir())
    nested = [
        name for name in inside if any(_is_folder_of(known, folder / name) for known in FORMATS)
    ]
    nested += [name for name in inside if name.endswith(PICKLES)]
    if nested:
        return f"{folder} holds {len(nested)} dictionaries; give one of them: {nested[:10]}"
    known = {name: [*format.files] for name, format in FORMATS.items() if format.files}
    return f"{folder} has {inside[:10]}, and no format is known by these; expected one of {known}"
