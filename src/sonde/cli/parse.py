"""What people write on a command line, as values. Pure: no model, no files, no output.

What cannot be read raises `BadRequest` with the option, the value and what would work.
"""

import json
import math
import re
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Final, Literal

from sonde.errors import BadRequest, LayerOutOfRange
from sonde.prompts import Span
from sonde.schema import LayerRange, Layers

_INT: Final = r"-?[0-9]{1,18}"
_INTEGER: Final = re.compile(_INT)
_RANGE: Final = re.compile(rf"({_INT})?:({_INT})?(?::({_INT})?)?")
_SPAN: Final = "span:"
_OCCURRENCE: Final = re.compile(r"(.*)#([0-9]{1,18})", re.DOTALL)
_WINDOWS: Final = re.compile(r"windows:[1-9][0-9]{0,3}")
_SIZE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)")
_UNITS: Final = {"": 1, "b": 1} | {
    f"{prefix}{unit}": base**power
    for power, prefix in enumerate("kmgt", start=1)
    for unit, base in (("b", 1000), ("ib", 1024))
}
_SHOWN: Final = 60
_MOST_NUMBERS: Final = 1_000_000

POSITIONS_FORM: Final = (
    "write each (or all), together, numbers such as 0,3,5, or span:TEXT (span:TEXT#1 for its "
    "second occurrence)"
)
LAYERS_FORM: Final = (
    "write all, a range such as 0:30:2, numbers such as 0,5,7, or windows:5 for bands of five"
)
HEADS_FORM: Final = (
    "write all, together, or numbers such as 0,3,5, with 1+2 for two heads in one cell"
)

Places = list[int | Span]


def layers(text: str) -> slice | list[int] | str:
    """`all`, `0:30:2` and `10:` as a slice, whose end may be open; `0,5,7` as a list.

    `windows:5` stays as it is.
    """
    if _WINDOWS.fullmatch(text.strip()):
        return text.strip()
    if text.strip() == "all":
        return slice(None)
    if found := _RANGE.fullmatch(text.strip()):
        start, stop, step = (None if part is None else int(part) for part in found.groups())
        _refuse_empty("--layers", text, start or 0, stop, step, LAYERS_FORM)
        return slice(start, stop, step)
    return numbers("--layers", text, LAYERS_FORM)


def layers_of(chosen: slice | list[int] | str, n_layers: int) -> Layers | str:
    """The layers of a model that has so many; nothing is clipped, so a typo is still noticed."""
    if isinstance(chosen, list | str):
        return chosen
    start = chosen.start or 0
    if chosen.stop is None and start >= n_layers:
        raise LayerOutOfRange(start, n_layers)
    stop = n_layers if chosen.stop is None else chosen.stop
    return LayerRange(start=start, stop=stop, step=chosen.step or 1)


def heads(text: str) -> list[int | list[int]] | str:
    """`all`, `together`, or numbers, of which `1+2` are written together."""
    if text.strip() in ("all", "together"):
        return text.strip()
    out: list[int | list[int]] = []
    for piece in text.split(","):
        if "+" in piece:
            out.append(numbers("--heads", piece.replace("+", ","), HEADS_FORM))
        else:
            out += numbers("--heads", piece, HEADS_FORM)
    return out


def reference(path: str) -> list[str]:
    """Prompts of a file: a JSON list of texts, or one a line."""
    try:
        with open(path, encoding="utf-8") as file:
            content = file.read()
    except OSError as error:
        raise BadRequest(f"--reference {shown(path)} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadRequest(f"--reference {shown(path)} is not UTF-8; encode it as that") from error
    found = [line for line in content.splitlines() if line.strip()]
    if content.lstrip().startswith("["):
        try:
            found = json.loads(content)
        except ValueError as error:
            raise BadRequest(f"--reference {shown(path)} is no JSON list: {error}") from error
    if not found or not all(isinstance(each, str) for each in found):
        raise BadRequest(
            f"--reference {shown(path)} holds no prompts; write one a line, or a JSON list of texts"
        )
    return found


def numbers(option: str, text: str, form: str) -> list[int]:
    """`0,5,7`, with ranges in between if need be: `0:64,100`."""
    out: list[int] = []
    for piece in map(str.strip, text.split(",")):
        found = _RANGE.fullmatch(piece)
        if _INTEGER.fullmatch(piece):
            out.append(int(piece))
        elif found and found[1] and found[2]:
            start, stop, step = int(found[1]), int(found[2]), int(found[3] or 1)
            _refuse_empty(option, piece, start, stop, step, form)
            out += _listed(option, range(start, stop, step))
        else:
            where = f" at {shown(piece)}" if piece != text else ""
            raise BadRequest(f"{option} {shown(text)} cannot be read{where}; {form}")
    return out


def positions(option: str, values: Sequence[str]) -> Places | Literal["all", "together"]:
    """Numbers and spans, in the order given.

    Given once, an option is a list: a comma ends a span if a number or another span follows at
    once, and is part of the span's text if anything else does. Given several times, each value is
    numbers or one span, commas and all.
    """
    stripped = [value.strip() for value in values]
    if stripped in (["all"], ["each"]):
        return "all"
    if stripped == ["together"]:
        return "together"
    items = list(_items(values[0])) if len(values) == 1 else values
    for word in ("all", "each", "together"):
        if word in map(str.strip, items):
            raise BadRequest(f"{option} {word} takes nothing beside it; {POSITIONS_FORM}")
    out: Places = []
    for item in items:
        if item.lstrip().startswith(_SPAN):
            out.append(span(option, item.lstrip()))
        else:
            out += numbers(option, item, POSITIONS_FORM)
    return out


def span(option: str, text: str) -> Span:
    """`span:Colosseum`, or `span:the#1` for the second `the`."""
    body = text.removeprefix(_SPAN)
    found = _OCCURRENCE.fullmatch(body)
    words, occurrence = (found[1], int(found[2])) if found else (body, 0)
    if not words:
        raise BadRequest(f"{option} {shown(text)} names no text; {POSITIONS_FORM}")
    return Span(words, occurrence)


def size(option: str, text: str) -> int:
    """Bytes: `512MiB`, `2GiB`, `1.5GB`, `1048576`."""
    found = _SIZE.fullmatch(text.strip())
    unit = _UNITS.get(found[2].lower()) if found else None
    if not found or unit is None:
        raise BadRequest(f"{option} {shown(text)} is not a size; write 512MiB, 2GiB or bytes")
    amount = float(found[1]) * unit
    if not 1 <= amount < 2**63:
        raise BadRequest(f"{option} {shown(text)} is out of range; write 512MiB, 2GiB or bytes")
    return int(amount)


def alpha(text: str) -> float:
    """How much of the source a patch takes."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadRequest(
            f"--alpha {shown(text)} is not a finite number; 1 replaces the activation, 0 leaves "
            "it, 0.5 is half way"
        )
    return value


def words(option: str, values: Sequence[str], known: Collection[str]) -> list[str]:
    """Comma-separated names out of a known set, without repetitions."""
    out = [word.strip() for value in values for word in value.split(",")]
    return list(dict.fromkeys(one_of(option, word, known) for word in out))


def one_of(option: str, word: str, known: Collection[str]) -> str:
    """A name out of a known set."""
    if word not in known:
        raise BadRequest(f"{option} has no {shown(word)}{did_you_mean(word, known)}")
    return word


def text(option: str, value: str) -> str:
    """Text for a model; bytes that are not UTF-8 reach Python as lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadRequest(f"{option} {shown(value)} is not UTF-8; encode it as that") from error
    return value


def did_you_mean(word: str, known: Collection[str]) -> str:
    """The end of a sentence about an unknown word: the nearest one, or all there are."""
    near = get_close_matches(word.lower(), known, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"


def shown(text: str) -> str:
    """A value as an error message repeats it."""
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def _items(value: str) -> Iterator[str]:
    """The value cut at the commas that end an item."""
    item = ""
    for n, piece in enumerate(value.split(",")):
        inside = item.lstrip().startswith(_SPAN)
        begins = _INTEGER.fullmatch(piece) or piece.lstrip().startswith(_SPAN)
        if n and inside and not begins:
            item += f",{piece}"
        else:
            if n:
                yield item
            item = piece
    yield item


def _refuse_empty(
    option: str, text: str, start: int, stop: int | None, step: int | None, form: str
) -> None:
    if (step is not None and step < 1) or (stop is not None and stop <= start):
        raise BadRequest(f"{option} {shown(text)} counts nothing; {form}")


def _listed(option: str, chosen: range) -> range:
    if len(chosen) > _MOST_NUMBERS:
        raise BadRequest(f"{option} names {len(chosen):,} numbers; at most {_MOST_NUMBERS:,}")
    return chosen
