"""The page a demo ends with: what was found, and where it is, in one file that needs no network."""

from dataclasses import dataclass
from html import escape
from pathlib import Path

from sonde.results import files

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.55 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
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
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file: data:"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width"><title>Sonde: what the tour found</title>
<style>{_STYLE}</style></head><body><h1>What the tour found</h1>
{parts}
</body></html>
"""


def _section(entry: Entry) -> str:
    title, page = escape(entry.title), escape(entry.page)
    picture = (
        f'<p><a href="{page}"><img src="{escape(entry.picture)}" alt="{title}"></a></p>'
        if entry.picture
        else ""
    )
    return f'<h2><a href="{page}">{title}</a></h2><p>{escape(entry.text)}</p>{picture}'
