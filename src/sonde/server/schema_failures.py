"""What is wrong with a body that fails its schema, in one sentence.

pydantic reports every branch of a union on its own and names the branches in the path. A client
sent one value in one field, so it hears of one field: its dotted path, what is expected there, and
what was sent. A misspelled field is told the name it comes nearest to.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel

SHOWN = 60
"""Characters of a value that are repeated."""

PLACES = ("body", "query", "path", "header")

BLAMED = {"patch": 1, "capture": 2}
"""Fields that are blamed as a whole, or with the consumer that they name; the message says more."""

Part = str | int


@dataclass(frozen=True)
class Failure:
    """What to say, and the dotted path of the field that it is about."""

    message: str
    param: str | None = None


def schema_failure(error: RequestValidationError, route: object) -> Failure:
    """What is wrong with the first field that is."""
    errors = [_FieldError(_path(each, error.body), each) for each in error.errors()]
    first = errors[0]
    if first.kind == "json_invalid":
        said = first.error.get("ctx", {}).get("error", "it cannot be read")
        return Failure(f"the body is not JSON: {said} at character {first.error['loc'][-1]}")
    if not first.path:
        return Failure(f"the body: {_lower(first.expected)}; send a JSON object with its fields")
    same_field = [found for found in errors if found.path[:1] == first.path[:1]]
    return _failure(min(same_field, key=_FieldError.rank), same_field, route)


@dataclass(frozen=True)
class _FieldError:
    """One of pydantic's errors, and where in the body it is."""

    path: list[Part]
    error: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.error["type"])

    @property
    def expected(self) -> str:
        return str(self.error["msg"]).removeprefix("Value error, ")

    def rank(self) -> tuple[int, bool]:
        """Of a union's branches the one that got furthest was meant; a typo explains a gap."""
        return -len(self.path), self.kind != "extra_forbidden"


def _failure(found: _FieldError, others: Sequence[_FieldError], route: object) -> Failure:
    param = ".".join(str(part)[:SHOWN] for part in found.path)
    blamed = ".".join(param.split(".")[: BLAMED.get(str(found.path[0]))])
    if found.kind == "extra_forbidden":
        return Failure(_unknown(param, found.path, route), blamed)
    if found.kind == "missing":
        return Failure(f"{param}: this field is required", blamed)
    same = [other.expected for other in others if other.path == found.path]
    expected = ", or: ".join(dict.fromkeys(same))
    return Failure(f"{param}: {expected}; it was {shown(found.error.get('input'))}", blamed)


def unreadable(cause: BaseException) -> Failure:
    """Why a body could not even be parsed."""
    if isinstance(cause, RecursionError):
        return Failure("the body is nested too deeply to be read")
    if isinstance(cause, UnicodeDecodeError):
        return Failure(f"the body is not UTF-8: {cause.reason} at byte {cause.start}")
    if "digits" in str(cause):
        return Failure("the body has a number with thousands of digits; no field takes one")
    return Failure(f"the body cannot be read: {cause}")


def shown(value: object) -> str:
    """A value as an error repeats it: JSON, cut short."""
    if isinstance(value, str):
        value = value[: SHOWN + 1]
    elif isinstance(value, list | dict) and len(value) > SHOWN:
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value):,}"
    try:
        text = json.dumps(value, default=repr)
    except (ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def _path(error: dict[str, Any], body: object) -> list[Part]:
    """Where in the body it is: pydantic's path without the names of a union's branches."""
    place: Part
    rest: list[Part]
    place, *rest = error["loc"]
    if place not in PLACES:
        return [place, *rest]
    if place != "body":
        return rest
    path: list[Part] = []
    value = body
    for n, part in enumerate(rest):
        inside = isinstance(value, dict) and part in value
        if inside or (isinstance(value, list) and isinstance(part, int) and part < len(value)):
            value = value[part]  # type: ignore[index]
            path.append(part)
        elif n == len(rest) - 1 and error["type"] == "missing":
            path.append(part)
    return path


def _unknown(param: str, path: Sequence[Part], route: object) -> str:
    """A field that there is not, and the one that was probably meant."""
    body = getattr(route, "body_field", None)
    wanted = getattr(getattr(body, "field_info", None), "annotation", None)
    known = sorted({name for model in _models(wanted, path[:-1]) for name in model.model_fields})
    near = get_close_matches(str(path[-1])[:100].lower(), known, n=1, cutoff=0.5)
    remedy = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
    return f"unknown field {shown(param)}; {remedy}" if known else f"unknown field {shown(param)}"


def _models(annotation: object, path: Sequence[Part]) -> Iterator[type[BaseModel]]:
    """The models that may stand at a path below a type."""
    origin = get_origin(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if not path:
            yield annotation
        elif path[0] in annotation.model_fields:
            yield from _models(annotation.model_fields[str(path[0])].annotation, path[1:])
    elif origin in (list, tuple, dict):
        for member in get_args(annotation) if path else ():
            yield from _models(member, path[1:])
    else:  # a union, or something annotated
        for member in get_args(annotation):
            yield from _models(member, path)


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]
