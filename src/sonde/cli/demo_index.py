"""The page a demo ends with: what was found, and where it is, in one file that needs no network."""

from dataclasses import dataclass
from html import escape
from pathlib import Path

from sonde.results import files
from sonde.results.document import document

_STYLE = """
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin: 2rem 0 .3rem }
img { max-width: 100%; background: #fff; border-radius: .4rem }
"""


@dataclass(frozen=True)
class Entry:
    """One result: what it is called, what it says, and its files beside the page."""

    title: str
    text: str
    page: str
    picture: str | None = None


def write(folder: Path, entries: list[Entry]) -> Path:
    """The page, in the folder with everything it leads to."""
    return files.write(folder / "index.html", html(entries).encode())


def html(entries: list[Entry]) -> str:
    """The page's text."""
    parts = "\n".join(map(_section, entries))
    return document("Sonde: what the tour found", f"<h1>What the tour found</h1>\n{parts}", _STYLE)


def _section(entry: Entry) -> str:
    title, page = escape(entry.title), escape(entry.page)
    picture = (
        f'<p><a href="{page}"><img src="{escape(entry.picture)}" alt="{title}"></a></p>'
        if entry.picture
        else ""
    )
    return f'<h2><a href="{page}">{title}</a></h2><p>{escape(entry.text)}</p>{picture}'
