"""A finished sweep as one HTML page, and as a fragment for notebooks.

The page asks nothing of any network and says so to the browser: its content security policy allows
its own style and its own script, by hash, and nothing else. Without scripts it still has the
pictures and every number. The fragment has no script, because notebooks strip or distrust them.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from sonde.results import wording
from sonde.results.document import scrolling
from sonde.results.excerpt import excerpt
from sonde.results.panels import color_rules, escaped, legend, panel, table
from sonde.results.scale import Scale
from sonde.results.views import FoundCell
from sonde.schema import SpecialTokens

if TYPE_CHECKING:
    from sonde.results.sweep import Sweep


def page(sweep: Sweep) -> str:
    """The whole page; of a table too large to be looked at, an excerpt."""
    sweep = excerpt(sweep)
    script = _asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(_asset("page.html")).substitute(
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        title=f"{escaped(sweep.provenance.model)}: {escape(wording.metric_label(sweep))}",
        style=_style(sweep),
        script=script,
        heading=_heading(sweep),
        prompts=_prompts(sweep),
        warnings="".join(f'<p class="warning">{escaped(text)}</p>' for text in sweep.warnings),
        legend=_key(sweep),
        panels="\n".join(panel(sweep, n) for n in range(len(sweep.views))),
        strongest=_strongest(sweep),
        facts=_facts(sweep),
        tables="\n".join(
            scrolling(table(sweep, n), f"values of {view.name}")
            for n, view in enumerate(sweep.views)
        ),
        provenance=_provenance(sweep),
        pairs=_beneath(sweep),
        created=sweep.provenance.created.strftime("%Y-%m-%d %H:%M %Z"),
        version=escaped(sweep.provenance.versions.get("sonde", "")),
    )


def _beneath(sweep: Sweep) -> str:
    """What is shown of a cell beside its number, for the script: data, which no browser runs."""
    if sweep.beneath is None:
        return ""
    data = json.dumps(sweep.beneath, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="pairs">{data}</script>'


def fragment(sweep: Sweep) -> str:
    """What a notebook shows for a result: the heading, the heatmaps, the colours."""
    sweep = excerpt(sweep)
    panels = "\n".join(panel(sweep, n, titles=True) for n in range(len(sweep.views)))
    return f"""<div class="sonde fragment"><style>{_style(sweep)}</style>
<header>{_heading(sweep, "h3")}</header>{_key(sweep)}
<div class="panels">{panels}</div></div>"""


@cache
def _asset(name: str) -> str:
    return files("sonde.results").joinpath(name).read_text(encoding="utf-8")


def _style(sweep: Sweep) -> str:
    return _asset("page.css") + color_rules(Scale.of(sweep))


def _heading(sweep: Sweep, rank: str = "h1") -> str:
    label = wording.metric_label(sweep)
    heading = escape(label[0].upper() + label[1:])
    about = f"{escaped(sweep.provenance.model)} · {wording.shape(sweep)}"
    return f"<{rank}>{heading}</{rank}><p>{about}</p>"


def _key(sweep: Sweep) -> str:
    notes = []
    if sweep.baseline is not None:
        notes.append('<span><i class="key tick"></i>baseline</span>')
    if sweep.largest is not None:
        notes.append('<span><i class="key max"></i>largest</span>')
    if wording.hatched(sweep):
        notes.append(f'<span><i class="key noise"></i>{escape(sweep.doubt)}</span>')
    if wording.has_gaps(sweep):
        notes.append('<span><i class="key none"></i>no number</span>')
    shared = filter(None, map(wording.shared_heads, sweep.views))
    notes += [f"<span>{escape(told)}</span>" for told in shared]
    return f'<div class="keys">{legend(sweep)}{"".join(notes)}</div>'


def _prompts(sweep: Sweep) -> str:
    tokens, scale = sweep.table.tokens, Scale.of(sweep)
    if tokens.clean is not None:
        start, end = _shared(tokens.clean, tokens.prompt)
        clean, corrupt = (_marked(each, start, end) for each in (tokens.clean, tokens.prompt))
    else:
        clean, corrupt = escaped(sweep.clean_prompt or ""), escaped(sweep.corrupt_prompt)
    rows = [("corrupt", corrupt, sweep.corrupt)]
    if sweep.clean_prompt is not None:
        rows.insert(0, ("clean", clean, sweep.clean))
    return "\n".join(
        f'<tr><th scope="row">{name}</th><td class="prompt"><bdi>{markup}</bdi></td>'
        f"<td>{scale.text(value)}</td></tr>"
        for name, markup, value in rows
    )


def _shared(clean: list[str], corrupt: list[str]) -> tuple[int, int]:
    """How many tokens at the start, and how many at the end, the two prompts share."""
    shortest = min(len(clean), len(corrupt))
    pairs = list(zip(clean, corrupt, strict=False))
    start = next((i for i, (a, b) in enumerate(pairs) if a != b), shortest)
    ends = list(zip(reversed(clean), reversed(corrupt), strict=False))[: shortest - start]
    return start, next((i for i, (a, b) in enumerate(ends) if a != b), len(ends))


def _marked(tokens: list[str], start: int, end: int) -> str:
    """The prompt with the part that the other does not have marked."""
    stop = len(tokens) - end
    parts = (tokens[:start], tokens[start:stop], tokens[stop:])
    before, middle, after = (escaped("".join(part)) for part in parts)
    return f"{before}<mark>{middle}</mark>{after}" if middle else before + after


def _strongest(sweep: Sweep) -> str:
    scale = Scale.of(sweep)
    found = wording.strongest(sweep, 8)
    if not found:
        return "<tr><td>No patch changed the metric.</td></tr>"
    return "\n".join(
        f"<tr><td>{scale.text(cell.value)}</td><td>{scale.change(cell.value)}</td>"
        f"<td>{cell.name}</td>{_place(cell)}</tr>"
        for cell in found
    )


def _place(cell: FoundCell) -> str:
    """Where a cell is: a column for each axis, and one for what each label says."""
    numbers = "".join(f"<td>{escaped(str(each))}</td>" for each in cell.place)
    words = [each.said for each in cell.place if each.words is not None]
    return numbers + "".join(f"<td><bdi>{escape(text)}</bdi></td>" for text in words)


def _facts(sweep: Sweep) -> str:
    facts = [
        ("noise floor", wording.noise(sweep)),
        ("controls", wording.controls(sweep)),
        ("time", wording.timing(sweep)),
        *(("skipped", text) for text in wording.skipped(sweep)),
        *((escaped(name), text) for name, text in sweep.table.notes.items()),
        *sweep.facts,
    ]
    return _definitions(facts)


def _provenance(sweep: Sweep) -> str:
    source = sweep.provenance
    versions = ", ".join(f"{name} {version}" for name, version in source.versions.items())
    facts = [
        ("model", source.model),
        ("architecture", f"{source.architecture}, {source.n_layers} layers"),
        ("weights", source.weights),
        *_special(source.special_tokens),
        ("computed in", f"{source.dtype} on {source.device}"),
        ("software", versions),
        ("created", source.created.isoformat()),
    ]
    request = json.dumps(source.request, indent=2, ensure_ascii=False)
    lines = "\n".join(escaped(line) for line in request.splitlines())
    return f"<dl>{_definitions(facts)}</dl><pre>{lines}</pre>"


def _special(found: SpecialTokens | None) -> list[tuple[str, str]]:
    """None in a result that does not say."""
    return [] if found is None else [("a prompt got", wording.prompt_tokens(found))]


def _definitions(facts: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"<dt>{name}</dt><dd>{escaped(text)}</dd>" for name, text in facts)
