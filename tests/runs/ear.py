"""A listener without a network: it looks when told to, and keeps what it hears."""

import json
from typing import Any

from sonde.runs.blocks import Encoded
from sonde.runs.hub import Hub, Listener
from sonde.runs.ids import Companion, StreamPosition, parse_id
from sonde.runs.lines import Lines
from sonde.runs.places import Begin


class Numbered:
    """Each line after the id it would have."""

    def encode(self, lines: Lines, before: bytes, after: bytes, name: str) -> tuple[int, bytes]:
        both = zip(lines.ends, lines.lines, strict=True)
        made = b"".join(b"%b%d%b %b\n" % (before, end, after, line) for end, line in both)
        return len(lines.lines), made


NUMBERED = Numbered()


class Ear:
    """Hears a run of a hub, from some place on."""

    def __init__(
        self,
        hub: Hub,
        begin: Begin | StreamPosition | str = "start",
        run: str | None = None,
        include: tuple[Companion, ...] = (),
    ) -> None:
        if isinstance(begin, str) and begin not in ("start", "live", "active"):
            begin = parse_id(begin)
        names = dict.fromkeys(include, NUMBERED)
        self.listener: Listener = hub.listen(hub.find(run), NUMBERED, begin, names)  # type: ignore[arg-type]
        self.lines: list[dict[str, Any]] = []
        self.ids: list[str] = []
        self.notices: list[tuple[str, dict[str, Any]]] = []
        self.place_of_last_source = 0
        """How many lines had been heard when a source was announced last."""
        self.noted = 0
        """How many of the lines somebody has taken note of."""

    @property
    def numbers(self) -> list[int]:
        """The records heard."""
        return [line["token_index"] for line in self.lines if "token_index" in line]

    @property
    def sources(self) -> list[str]:
        """The `source` notices: which source, or the reason where one was given."""
        found = [data for event, data in self.notices if event == "source"]
        return [str(data.get("reason", data["source"])) for data in found]

    async def hear(self) -> list[int]:
        """All that is there now. -> the numbers of all records so far"""
        self.listener.run.look()
        while await self.step():
            pass
        return self.numbers

    async def step(self) -> bool:
        """One block or notice. -> whether there was one"""
        item = await self.listener.step()
        if item is None:
            return False
        if not isinstance(item, Encoded):
            self.notices.append((item.event, item.data))
            if item.event == "source":
                self.place_of_last_source = len(self.lines)
            self.ids.append(self.listener.id)
            return True
        for text in item.data.splitlines():
            id, _, line = text.partition(b" ")
            self.ids.append(id.decode())
            self.lines.append(json.loads(line))
        return True

    def leave(self) -> None:
        """Stop listening."""
        self.listener.leave()
