"""A study's file: TOML or JSON, checked by the schema; what is wrong is told with its line."""

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from sonde.backends.torch.loading.aliases import ALIASES
from sonde.errors import BadRequest
from sonde.schema.pair import PromptPair
from sonde.schema.study import Study, StudyModel, StudyStatistics, StudyTask
from sonde.schema.table import SweepRequest
from sonde.tasks import Pairs, task

FILE_BYTES: Final = 2**24
NOT_HERE: Final = {
    "model": "the study's own `model` names it",
    "pairs": "the study's own `task` or `pairs` names them",
    "corrupt": "the prompts are those of the pairs",
    "clean": "the prompts are those of the pairs",
    "answer": "the answers are those of the pairs",
    "foil": "the foils are those of the pairs",
    "source_run": "every pair has a source of its own",
    "features": "a study has no dictionary",
    "method": "a study runs every cell of every pair; `sonde attribute` scores pairs",
    "resume": "`sonde study run` goes on by itself",
    "stream": "a study writes files",
}
"""Fields of a request that a study has no place for, and why."""
_KINDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "": Study.model_fields,
    "model": StudyModel.model_fields,
    "task": StudyTask.model_fields,
    "sweep": {k: v for k, v in SweepRequest.model_fields.items() if k not in NOT_HERE},
    "statistics": StudyStatistics.model_fields,
}


@dataclass(frozen=True)
class StudyFile:
    """A study as it was read."""

    path: Path
    content: bytes
    study: Study

    @property
    def sha256(self) -> str:
        """Of the file, byte for byte."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def directory(self) -> Path:
        """Where its results go, if nothing is said: beside it, by its name."""
        return self.path.with_suffix("")

    @property
    def model(self) -> StudyModel:
        """The model, a path made whole: it is relative to the file."""
        given = self.study.model
        model = StudyModel(name=given) if isinstance(given, str) else given
        there = self.path.parent / model.name
        if model.name in ALIASES or not there.exists():
            return model
        return model.model_copy(update={"name": str(there.resolve())})

    def pairs(self) -> Pairs:
        """Its pairs: made, or read from the file that it names."""
        if self.study.task is not None:
            asked = self.study.task
            return task(asked.name).pairs(asked.n, asked.seed)
        assert self.study.pairs is not None
        return Pairs.load(self.path.parent / self.study.pairs)

    def request(self, pairs: Sequence[PromptPair]) -> SweepRequest:
        """What is run."""
        return self.study.sweep.model_copy(update={"pairs": list(pairs)})


def read_study(path: str | Path) -> StudyFile:
    """Read a study; what is wrong is refused with its line."""
    path = Path(path)
    if path.suffix not in (".toml", ".json"):
        raise BadRequest(f"{path} is no study: its name ends with .toml or .json")
    if not path.is_file():
        raise BadRequest(f"there is no file {path}")
    if path.stat().st_size > FILE_BYTES:
        raise BadRequest(f"{path} has more than {FILE_BYTES:,} bytes: put the pairs in their own")
    content = path.read_bytes()
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise BadRequest(f"{path} is not UTF-8; encode it as that") from error
    fields = _parsed(path, text)
    for name, why in NOT_HERE.items():
        sweep = fields.get("sweep")
        if isinstance(sweep, dict) and name in sweep:
            raise _wrong(path, text, ("sweep", name), f"sweep has no field {name!r} here: {why}")
    try:
        study = Study.model_validate(fields)
    except ValidationError as error:
        raise _invalid(path, text, error) from error
    if (study.task is None) == (study.pairs is None):
        given = "neither a task nor pairs" if study.task is None else "both a task and pairs"
        raise BadRequest(f"{path} has {given}: give one of them")
    return StudyFile(path, content, study)


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        if path.suffix == ".toml":
            return tomllib.loads(text)
        found = json.loads(text, object_pairs_hook=_once)
    except ValueError as error:  # both parsers' errors are, and say where
        kind = path.suffix[1:].upper()
        raise BadRequest(f"{path} is no {kind}: {error}") from error
    if not isinstance(found, dict):
        raise BadRequest(f"{path} is no study: it holds a {type(found).__name__}, not an object")
    return found


def _once(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; JSON would let the last of two fields of one name win."""
    out: dict[str, Any] = {}
    for name, value in items:
        if name in out:
            raise ValueError(f"field {name!r} is there twice")
        out[name] = value
    return out


def _invalid(path: Path, text: str, error: ValidationError) -> BadRequest:
    """The first thing that is wrong, in words."""
    first = error.errors(include_url=False, include_context=False)[0]
    place = [part for part in first["loc"] if part not in ("str", "StudyModel")]
    names = [str(part) for part in place[:2]]
    if first["type"] == "extra_forbidden":
        *before, name = map(str, place)
        known = _KINDS.get(".".join(before), {})
        near = get_close_matches(name, known, n=1)
        there = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
        inside = f"{'.'.join(before)} has" if before else "there is"
        return _wrong(path, text, place, f"{inside} no field {name!r}; {there}")
    if first["type"] == "missing":
        return _wrong(path, text, place[:-1], f"field {'.'.join(names)!r} is missing")
    said = f"{'.'.join(names)}: {first['msg']}; it was {first['input']!r}"
    return _wrong(path, text, names, said)


def _wrong(path: Path, text: str, place: Sequence[str | int], said: str) -> BadRequest:
    line = _line_of(text, [part for part in place if isinstance(part, str)])
    return BadRequest(f"{path}{f', line {line}' if line else ''}: {said}")


def _line_of(text: str, keys: Sequence[str]) -> int | None:
    """Where a field is written: each key is looked for behind the one that it is in."""
    plain = re.sub(r"(?m)^\s*#.*$", lambda found: " " * len(found[0]), text)
    at: int | None = None
    for key in keys:
        form = rf"""(?<![\w-])["']?{re.escape(key)}["']?\s*[\]=:.]"""
        found = re.compile(form).search(plain, at or 0)
        if found is None:
            break
        at = found.start()
    return None if at is None else text.count("\n", 0, at) + 1
