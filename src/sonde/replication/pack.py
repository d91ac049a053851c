"""A pack's file: TOML, checked by the schema. Three come with Sonde."""

import tomllib
from importlib.resources import files
from inspect import signature
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from sonde.errors import BadRequest
from sonde.replication.measures import MEASURES
from sonde.schema.replication import Finding, Pack

PACKS: Final = ("agreement", "ioi", "facts")
"""Those that come with Sonde, by name."""
FILE_BYTES: Final = 2**20
ROLES: Final = ("column", "beside", "first", "last")
"""Options of measures that name a role."""


def read_pack(name: str | Path) -> Pack:
    """The pack of that name, or in that file; what is wrong is refused with its place."""
    if str(name) in PACKS:
        text = files("sonde.replication").joinpath("packs", f"{name}.toml").read_text("utf-8")
        return parsed(text, str(name))
    path = Path(name)
    if path.suffix != ".toml":
        raise BadRequest(
            f"no pack is called {str(name)!r}; there are {', '.join(PACKS)}, or give a FILE.toml"
        )
    try:
        if path.stat().st_size > FILE_BYTES:
            raise BadRequest(f"{path} has more than {FILE_BYTES:,} bytes; no pack is so large")
        return parsed(path.read_text("utf-8"), str(path))
    except OSError as error:
        raise BadRequest(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadRequest(f"{path} is not UTF-8; encode it as that") from error


def parsed(text: str, name: str) -> Pack:
    """A pack from its text."""
    try:
        pack = Pack.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise BadRequest(f"{name} is no TOML: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise BadRequest(f"{name}: {where}: {first['msg']}; it was {first['input']!r}") from error
    for finding in pack.findings:
        if finding.measure not in MEASURES:
            raise BadRequest(
                f"{name}: finding {finding.name!r} is measured by {finding.measure!r}; there are "
                f"{', '.join(MEASURES)}"
            )
        _check_options(name, finding, pack)
    if "z" not in pack.hooks:
        raise BadRequest(f"{name}: hooks have no 'z', by which heads are chosen")
    return pack


def _check_options(name: str, finding: Finding, pack: Pack) -> None:
    """Before anything is run: the options are those of the measure, and their roles are swept."""
    try:
        signature(MEASURES[finding.measure]).bind(None, **finding.options)
    except TypeError as error:
        raise BadRequest(f"{name}: options of {finding.name!r}: {error}") from error
    swept = {*pack.columns, *(pack.components.columns if pack.components else ())}
    for option in ROLES:
        role = finding.options.get(option)
        if role is not None and role not in swept:
            raise BadRequest(
                f"{name}: finding {finding.name!r} asks of {role!r}, and columns are "
                f"{', '.join(pack.columns)}: add it to them"
            )
