"""The page a demo ends with: what was found, and where it is, in one file that needs no network."""

from dataclasses import dataclass
from html import escape
from pathlib import Path

from sonde.results import files
from sonde.results.document import document

_STYLE = """
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin: 0 0 .3rem }
.found { display: grid; gap: 2rem; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)) }
article { min-width: 0 } article p { margin: .3rem 0 }
img { max-width: 100%; max-height: 30rem; background: #fff; border-radius: .4rem }
"""  # noqa: E501  one rule of CSS


@dataclass(frozen=True)
class Entry:
    """One result: what it is called, what was found in a sentence, and its files beside the page.

    A question that could not be asked has no page, and its sentence says why.
    """

    title: str
    text: str
    page: str | None = None
    picture: str | None = None


def write(folder: Path, entries: list[Entry]) -> Path:
    """The page, in the folder with everything it leads to."""
    return files.write(folder / "index.html", html(entries).encode())


def html(entries: list[Entry]) -> str:
    """The page's text."""
    parts = "\n".join(map(_section, entries))
    body = f'<h1>What the tour found</h1>\n<div class="found">{parts}</div>'
    return document("Sonde: what the tour found", body, _STYLE)


def _section(entry: Entry) -> str:
    title = escape(entry.title)
    picture = "" if entry.picture is None else f'<img src="{escape(entry.picture)}" alt="{title}">'
    if entry.page is not None:
        page = escape(entry.page)
        title = f'<a href="{page}">{title}</a>'
        picture = f'<p><a href="{page}">{picture}</a></p>' if picture else ""
    return f"<article><h2>{title}</h2><p>{escape(entry.text)}</p>{picture}</article>"
