"""Many prompt pairs on the command line: a task and how many, or a file of one's own."""

from collections.abc import Mapping, Sequence
from typing import Any

from sonde.cli import parse
from sonde.errors import BadRequest
from sonde.tasks import TASKS, Pairs, task

FORM = "write agreement:200, or the name of a FILE.jsonl"
ALONE = ("pair", "clean", "corrupt", "answer", "answer_token_id", "foil", "foil_token_id", "ablate")
WORDS = ("together", "roles", "each", "all")


def pairs_of(option: str, text: str, seed: int) -> Pairs:
    """`agreement:200`, which may leave the number out, or a file."""
    if text.endswith((".jsonl", ".json")):
        return Pairs.load(text)
    name, _, number = text.partition(":")
    if number and not (number.isascii() and number.isdigit() and int(number)):
        raise BadRequest(f"{option} {parse.shown(text)}: {number!r} is not how many; {FORM}")
    parse.one_of(option, name, TASKS)
    return task(name).pairs(int(number or 200), seed)


def refuse_others(asked: Mapping[str, Any]) -> None:
    """Options that are about one prompt, beside many pairs."""
    for name in (*ALONE, "mask", "source_positions"):
        if asked[name]:
            option = name.replace("_", "-")
            raise BadRequest(f"--pairs has prompts and answers of its own: leave --{option} out")


def places_of(option: str, values: Sequence[str]) -> list[int | str] | str:
    """Roles and numbers: `subject_last,verb,end,-1`; or one of `roles`, `together`, `each`."""
    items = [item.strip() for value in values for item in value.split(",")]
    words = [item for item in items if item in WORDS]
    if words and len(items) == 1:
        return words[0]
    if words:
        raise BadRequest(f"{option} {words[0]} takes nothing beside it")
    return [int(item) if item.lstrip("-").isdigit() else item for item in items]
