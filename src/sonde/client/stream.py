"""Reading a stream of server-sent events: the only file of the client that knows its frame.

Lines end with a line feed and nothing else. Reading by `str.splitlines`, as is usual, would also
break at U+2028 and its like, which JSON allows inside a string, and so in a prompt's tokens.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from sonde.schema import SweepEvent
from sonde.schema.table import TableEvent

DONE = "[DONE]"
KNOWN = frozenset({"start", "cell", "summary", "error"})
GENERAL = KNOWN | {"pair", "dropped"}

_EVENT: TypeAdapter[SweepEvent] = TypeAdapter(SweepEvent)
_TABLE_EVENT: TypeAdapter[TableEvent] = TypeAdapter(TableEvent)


class SweepFailed(RuntimeError):
    """A stream that ended without a summary: there is no result."""


@dataclass(frozen=True)
class Message:
    """One event: the JSON object it carries, and its number where the server gives one."""

    body: dict[str, Any]
    id: str | None = None

    @property
    def type(self) -> object:
        """What it is: `start`, `cell`, `summary`, `error`, or something newer."""
        return self.body.get("type")

    def event(self) -> SweepEvent | None:
        """The event as a type of the wire; None for kinds that this client does not know."""
        if self.type not in KNOWN:
            return None
        return _EVENT.validate_python(self.body, extra="ignore")

    def table_event(self) -> TableEvent | None:
        """The same of a general sweep, which tells of whole pairs where it is over many."""
        if self.type not in GENERAL:
            return None
        return _TABLE_EVENT.validate_python(self.body, extra="ignore")


async def messages(chunks: AsyncIterator[bytes]) -> AsyncIterator[Message]:
    """The events of a stream, up to its `[DONE]` or its end. Comments are heartbeats."""
    data: list[str] = []
    number: str | None = None
    async for line in _lines(chunks):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name == "id":
            number = value
        elif line == "" and data:
            text, data = "\n".join(data), []
            if text == DONE:
                return
            yield Message(_object(text), number)
            number = None


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Whole lines; what comes after the last line feed never became one."""
    rest: list[bytes] = []
    async for chunk in chunks:
        *whole, last = chunk.split(b"\n")
        for line in whole:
            yield b"".join([*rest, line]).removesuffix(b"\r").decode()
            rest = []
        rest.append(last)


def _object(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise SweepFailed(f"the stream holds {text[:200]!r}, which is not a JSON object")
    return body
