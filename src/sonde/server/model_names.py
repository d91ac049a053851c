"""Which models may be asked for, and where each is: from the name in a request to a directory.

A name is one that the server was given (`--model`, an alias), a checkpoint of a run that it lists
(`one@checkpoint-20`), or a directory or GGUF file below one of its roots. Nothing else is opened:
not where a link leads out of the roots, not where a file of the model or the base of an adapter is
elsewhere. That is found by looking at names and links, before any file is opened.
"""

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from sonde.errors import UnknownModel, UnknownRun
from sonde.runs.checkpoint_name import CheckpointName
from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.runs.listing import checkpoints, is_run

LONGEST: Final = 512
"""Letters of a name."""
SHOWN: Final = 12
"""Names that a refusal lists."""
LISTED: Final = 1_000
"""Names that a listing has, and folders that are looked at for it."""
DEEPEST: Final = 4
"""Folders below a root in which models are looked for, to be listed."""
MOST_FILES: Final = 10_000
"""In the directory of a model."""

INDEX, TOKENIZER = "model.safetensors.index.json", "tokenizer_config.json"
CONFIGS = ("config.json", "adapter_config.json")


@dataclass(frozen=True)
class ModelSource:
    """A model that may be loaded: what it is called here, and what to load."""

    name: str
    source: str
    """A directory, a GGUF file, or a name that the server was given."""


class ModelNames:
    """The names of a server. Safe across threads: it holds nothing that changes.

    ModelNames({"smollm2": "smollm2"}, roots=[Path("checkpoints")], runs=hub)
    """

    def __init__(
        self,
        given: Mapping[str, str],
        *,
        roots: Sequence[Path] = (),
        runs: Hub | None = None,
        bases: Sequence[Path] = (),
    ) -> None:
        """`given` are names and what is loaded for each; `bases` hold bases of adapters only."""
        self._given = dict(given)
        self._runs = runs
        self._roots = [root.resolve() for root in roots]
        self._own = [Path(source).resolve() for source in given.values() if Path(source).is_dir()]
        self._own += [base.resolve() for base in bases]
        listed = [] if runs is None else [runs.layout.directory.resolve()]
        self._allowed = [*self._roots, *listed]

    def find(self, name: str) -> ModelSource:
        """The model of that name; `UnknownModel` with the names there are."""
        if name in self._given:
            return ModelSource(name, self._given[name])
        if not 0 < len(name) <= LONGEST or not name.isprintable():
            raise UnknownModel(f"{name[:80]!r} is no name of a model; {self._there()}")
        checkpoint = CheckpointName.parse(name)
        if checkpoint is not None:
            called, layout = self._run(checkpoint)
            known = CheckpointName(called, checkpoint.step)
            return self._checked(ModelSource(str(known), str(known.within(layout))))
        found = self._below(name, _is_model)
        if found is None:
            raise UnknownModel(f"the model {name[:200]!r} does not exist here; {self._there()}")
        return self._checked(ModelSource(self._called(found), str(found)))

    def steps(self, run: str) -> list[int]:
        """The steps of a run's checkpoints; `UnknownModel` where there is no such run."""
        _, layout = self._run(CheckpointName(run, 0))
        return checkpoints(layout)

    def layout(self, run: str) -> RunLayout:
        """Where the files of a run are; `UnknownModel` where there is no such run."""
        return self._run(CheckpointName(run, 0))[1]

    def names(self) -> list[str]:
        """All that can be asked for, as far as a listing goes: what was given comes first."""
        found = dict.fromkeys(self._given)
        for name in (*self._checkpoints(), *self._models()):
            if len(found) >= LISTED:
                break
            found.setdefault(name)
        return list(found)

    def may_open(self, adapter: Path, base: Path | str) -> None:
        """Refuse an adapter's base that is elsewhere, before it is looked up."""
        if base in self._given if isinstance(base, str) else _inside(base, self._own):
            return  # the operator who named it vouches for it
        if isinstance(base, str) or not _inside(base, self._allowed):
            raise UnknownModel(
                f"the adapter {adapter.name} was trained over {str(base)[:200]!r}, which this "
                "server may not open; start it with --model or --model-root for that too"
            )
        self._check_files(base)

    def _run(self, checkpoint: CheckpointName) -> tuple[str, RunLayout]:
        """The run of a checkpoint: one that is listed, or a directory below a root."""
        if self._runs is not None:
            try:
                return checkpoint.run, self._runs.layout_of(checkpoint.run)
            except UnknownRun:
                pass
        layout = RunLayout(Path()) if self._runs is None else self._runs.layout
        found = self._below(checkpoint.run, lambda path: is_run(replace(layout, directory=path)))
        if found is None:
            raise UnknownModel(
                f"the model {str(checkpoint)[:200]!r} does not exist here: there is no such run; "
                f"{self._there()}"
            )
        return self._called(found), replace(layout, directory=found)

    def _below(self, name: str, wanted: Any) -> Path | None:
        """The directory or file that a path means, if it is really below a root."""
        path = Path(name)
        for start in (*self._roots, Path()):
            try:
                found = (start / path).resolve(strict=True)
            except (OSError, RuntimeError, ValueError):
                continue
            if _inside(found, self._allowed) and wanted(found):
                return found
        return None

    def _called(self, path: Path) -> str:
        """What a directory is called: its path below its root, where that means no other one."""
        for root in self._allowed:
            if path != root and path.is_relative_to(root):
                short = str(path.relative_to(root))
                return short if self._below(short, lambda _: True) == path else str(path)
        return str(path)

    def _checked(self, model: ModelSource) -> ModelSource:
        path = Path(model.source)
        if not _inside(path, self._allowed):
            raise UnknownModel(
                f"{model.name[:200]!r} is a link that leads out of the server's roots"
            )
        if path.is_dir():
            self._check_files(path)
        return model

    def _check_files(self, directory: Path) -> None:
        """Refuse a model whose files are not its own, or are none."""
        for count, path in enumerate(_files(directory)):
            if count >= MOST_FILES:
                raise UnknownModel(f"{directory.name} holds more than {MOST_FILES:,} files")
            if not _inside(path, self._allowed):
                raise UnknownModel(f"{directory.name}/{path.name} leads out of the server's roots")
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise UnknownModel(f"{directory.name}/{path.name} is no ordinary file")
        parts = _read(directory / INDEX).get("weight_map")
        said = _read(directory / TOKENIZER)
        named = [*(parts.values() if isinstance(parts, dict) else ())]
        named += [value for key, value in said.items() if key.endswith("_file") and value]
        for name in named:
            if not isinstance(name, str) or name != Path(name).name:
                raise UnknownModel(
                    f"{directory.name} names a file outside itself: {str(name)[:80]!r}"
                )

    def _there(self) -> str:
        names = self.names()
        more = f" and {len(names) - SHOWN} more at /v1/models" if len(names) > SHOWN else ""
        return f"there are: {', '.join(names[:SHOWN]) or 'none'}{more}"

    def _checkpoints(self) -> Iterator[str]:
        if self._runs is None:
            return
        for layout in self._runs.layouts():
            for step in checkpoints(layout):
                yield str(CheckpointName(self._runs.name_of(layout), step))

    def _models(self) -> Iterator[str]:
        """Directories below the roots that look like models; links are not followed."""
        looked = 0
        for root in self._roots:
            for folder, folders, files in os.walk(root):
                looked += 1
                if looked > LISTED:
                    return
                path = Path(folder)
                if len(path.relative_to(root).parts) >= DEEPEST:
                    folders.clear()
                folders.sort()
                if any(name in files for name in CONFIGS):
                    yield self._called(path)
                yield from (self._called(path / n) for n in sorted(files) if n.endswith(".gguf"))


def _is_model(path: Path) -> bool:
    if path.is_file():
        return path.suffix == ".gguf"
    return any((path / name).is_file() for name in CONFIGS)


def _inside(path: Path, roots: Sequence[Path]) -> bool:
    """Whether a path is really below one of the roots, wherever its links lead."""
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return False
    return any(real.is_relative_to(root) for root in roots)


def _files(directory: Path) -> Iterator[Path]:
    """All files of a directory, links among them; a link to a folder counts as a file."""
    for folder, folders, files in os.walk(directory):
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        yield from (Path(folder) / name for name in (*links, *files))


def _read(file: Path) -> dict[str, Any]:
    """A small JSON file; nothing where there is none that can be read: loading says why."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
