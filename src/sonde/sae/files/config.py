"""A JSON configuration beside weights, and typed reads of its keys.

Stricter than `json.load`: NaN, repeated keys and sizes that no configuration has are refused,
because each would be settled by a guess.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from sonde.errors import DamagedFile

MAX_BYTES: Final = 2**22


def read_config(path: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    if path.stat().st_size > MAX_BYTES:
        raise DamagedFile(f"{path} is {path.stat().st_size:,} bytes; a configuration is small")
    try:
        found = json.loads(
            path.read_bytes(), parse_constant=_no_constant, object_pairs_hook=_no_repeats
        )
    except (ValueError, RecursionError) as error:
        raise DamagedFile(f"{path} is not a JSON object ({error}); fetch it again") from error
    if not isinstance(found, dict):
        raise DamagedFile(f"{path} holds a {type(found).__name__}, expected a JSON object")
    return found


def whole(config: Mapping[str, Any], key: str, where: Path) -> int | None:
    """A whole number, or None where the key is absent or null."""
    found = config.get(key)
    if found is None or (isinstance(found, int) and not isinstance(found, bool)):
        return found
    raise DamagedFile(f"{where}: {key} is {found!r}, expected a whole number")


def real(config: Mapping[str, Any], key: str, where: Path) -> float | None:
    """A number, or None where the key is absent or null."""
    found = config.get(key)
    if found is None or (isinstance(found, int | float) and not isinstance(found, bool)):
        return None if found is None else float(found)
    raise DamagedFile(f"{where}: {key} is {found!r}, expected a number")


def flag(config: Mapping[str, Any], key: str, where: Path, *, default: bool) -> bool:
    """True or false."""
    found = config.get(key, default)
    if isinstance(found, bool):
        return found
    raise DamagedFile(f"{where}: {key} is {found!r}, expected true or false")


def word(config: Mapping[str, Any], key: str, where: Path) -> str | None:
    """A string, or None where the key is absent or null."""
    found = config.get(key)
    if found is None or isinstance(found, str):
        return found
    raise DamagedFile(f"{where}: {key} is {found!r}, expected a string")


def section(config: Mapping[str, Any], key: str, where: Path) -> Mapping[str, Any]:
    """An object inside the object; empty where the key is absent or null."""
    found = config.get(key)
    if found is None:
        return {}
    if isinstance(found, dict):
        return found
    raise DamagedFile(f"{where}: {key} is {found!r}, expected an object")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"repeated key {next(name for name in names if names.count(name) > 1)!r}")
    return found
