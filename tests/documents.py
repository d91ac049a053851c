"""The documents as tests see them: fenced blocks, what marks one as not run, commands, prose."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
MANUAL = sorted([README, *(ROOT / "docs").rglob("*.md")])
"""What a user reads. Every block in it that could be run is run, or says why not."""
DOCS = sorted({*ROOT.glob("*.md"), *MANUAL})

_FENCED = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]+?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """One fenced block."""

    document: Path
    language: str
    text: str
    reason: str | None
    """Why it is not run; None where it is."""

    @property
    def lines(self) -> list[str]:
        """Its commands, for a shell: joined where a line goes on, without comments and blanks."""
        joined = self.text.replace("\\\n", " ").splitlines()
        return [line for line in joined if line.strip() and not line.startswith("#")]


def blocks(document: Path, *languages: str) -> Iterator[Block]:
    """The fenced blocks in these languages; all of them where none is named."""
    for found in _FENCED.finditer(document.read_text()):
        if not languages or found["language"] in languages:
            yield Block(document, found["language"], found["text"], found["reason"])


def prose(document: Path) -> str:
    """The text between the fenced blocks."""
    return re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)


def commands(document: Path) -> Iterator[str]:
    """Every command line, from blocks and from the prose."""
    for block in blocks(document, "sh", "bash", "console"):
        yield from (line.removeprefix("$ ") for line in block.lines)
    yield from re.findall(r"`([^`\n]+)`", prose(document))


def name_of(document: Path) -> str:
    """`docs/how-to/sweep.md`."""
    return str(document.relative_to(ROOT))
