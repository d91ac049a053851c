"""Attention as one HTML page: every matrix with its numbers, on one scale from 0 to 1.

It asks nothing of any network and runs no script; its content security policy says so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from sonde.results.attention_panels import Panel, panels
from sonde.results.colors import css, sequential, text_on
from sonde.results.document import document, scrolling
from sonde.results.numbers import fixed
from sonde.results.tokens import fit, visible

if TYPE_CHECKING:
    from sonde.results.attention import Attention

_STEPS = 20
_LABEL = 16
_LEVEL = 2
"""Columns with labels as short as this have them written along, others upwards."""
_STYLE = """
main { max-width: 84rem } p { margin: .2rem 0 }
.panels { display: flex; flex-wrap: wrap; gap: 2rem; margin-top: 1.5rem }
table { border-collapse: separate; border-spacing: 1px; font: 10px/1.6 ui-monospace, monospace }
caption { text-align: left; font: 600 13px/1.6 ui-monospace, monospace }
caption small { font: 12px system-ui, sans-serif; color: var(--muted); display: block }
td { min-width: 2.1rem; text-align: center } thead td { min-width: 0 }
tbody th { text-align: right; padding-right: .4rem; font-weight: 400; white-space: pre }
thead th { font-weight: 400; white-space: pre }
thead th { writing-mode: vertical-rl; transform: rotate(180deg) }
thead th.level { writing-mode: horizontal-tb; transform: none }
td.none { background: none }
pre { white-space: pre-wrap; font-size: 12px } summary { cursor: pointer; margin-top: 1.5rem }
"""


def page(found: Attention) -> str:
    """The whole page."""
    title = f"{visible(found.provenance.model)}: " + (
        "head scores" if found.scores is not None else "attention"
    )
    shown = "\n".join(_matrix(each) for each in panels(found))
    asked = json.dumps(found.provenance.request, indent=2, ensure_ascii=False)
    origin = f"weights {found.provenance.weights}\n" + "\n".join(map(visible, asked.splitlines()))
    body = f"""<h1>{escape(title)}</h1>
<p>{escape(visible("".join(found.tokens)))}</p>
<p class="dim">{escape(_reading(found))}</p>
<div class="panels">
{shown}
</div>
<details><summary>Where this comes from</summary><pre>{escape(origin)}</pre></details>"""
    return document(title, body, _STYLE + "".join(_rules()))


def _reading(found: Attention) -> str:
    if found.scores is None:
        return "A row is a position, a column a key: each row says what its position looks at."
    return "Rows are layers, columns heads: a mean over the positions that have such a key."


def _matrix(panel: Panel) -> str:
    level = max(map(len, panel.columns)) <= _LEVEL
    kind = " class='level'" if level else ""
    head = "".join(
        f"<th scope='col'{kind}><bdi>{_label(text)}</bdi></th>" for text in panel.columns
    )
    body = "\n".join(
        f"<tr><th scope='row'><bdi>{_label(label)}</bdi></th>{''.join(map(_cell, row))}</tr>"
        for label, row in zip(panel.rows, panel.values.tolist(), strict=True)
    )
    matrix = f"""<table>
<caption>{escape(panel.title)}<small>{escape(panel.meaning)}</small></caption>
<thead><tr><td></td>{head}</tr></thead>
<tbody>{body}</tbody></table>"""
    return scrolling(matrix, panel.title)


def _label(text: str) -> str:
    return escape(fit(text, _LABEL))


def _cell(value: float) -> str:
    if math.isnan(value):
        return '<td class="none"></td>'
    text = fixed(value, 2).removeprefix("0") if value < 0.995 else "1"
    return f'<td class="c{round(_STEPS * value)}">{text if value >= 0.005 else ""}</td>'


def _rules() -> Iterator[str]:
    """A class a step, with a text colour that can be read on it, in both themes."""
    for step in range(_STEPS + 1):
        light, dark = (sequential(step / _STEPS, theme) for theme in ("light", "dark"))
        yield f".c{step} {{ background: {css(light)}; color: {css(text_on(light))} }}\n"
        yield (
            f"@media (prefers-color-scheme: dark) {{ .c{step} {{ background: {css(dark)}; "
            f"color: {css(text_on(dark))} }} }}\n"
        )
