"""The frame of a page that is to be read: no network, no script, one column, both themes.

What has a script of its own, because its cells are pointed at, is `page`.
"""

from html import escape
from typing import Final

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file: data:"
_STYLE: Final = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif;
  --ink: #1b1f24; --muted: #59626b; --page: #ffffff; --line: #d9dde1; --link: #1f5fae }
@media (prefers-color-scheme: dark) { :root {
  --ink: #e4e7ea; --muted: #a3acb5; --page: #14171a; --line: #363c43; --link: #7db8ff } }
body { margin: 0; background: var(--page); color: var(--ink) }
main { max-width: 68rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.3rem; line-height: 1.3; margin: 0 0 .4rem; overflow-wrap: anywhere }
h2 { font-size: 1rem; margin: 1.6rem 0 .3rem; overflow-wrap: anywhere }
a { color: var(--link) } .dim { color: var(--muted) } .scroll { overflow-x: auto; max-width: 100% }
"""


def document(title: str, body: str, style: str = "") -> str:
    """The whole page; `style` is what this kind of page has beside what all have."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>
<style>{_STYLE}{style}</style></head><body><main>
{body}
</main></body></html>
"""


def scrolling(content: str, name: str) -> str:
    """What may be wider than the page: it scrolls by itself, by keys too."""
    told = f'tabindex="0" role="region" aria-label="{escape(name)}"'
    return f'<div class="scroll" {told}>{content}</div>'
