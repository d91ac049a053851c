"""A replication as one page: question, literature, this model, tolerance, verdict; then pictures.

It asks nothing of any network and runs no script; its content security policy says so. What is
drawn here is only the verdicts: heatmaps, circuit and curve are those of any other result.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from typing import Final

from sonde.replication.parts import Parts
from sonde.results import PairSweep
from sonde.results.circuit_curve import image
from sonde.results.colors import css, diverging
from sonde.results.document import document, scrolling
from sonde.results.numbers import count, duration, fixed, number
from sonde.results.page import fragment
from sonde.schema.replication import Answer, Between, Replication

WIDE: Final = 420.0
"""Of the bar that shows an interval beside its tolerance."""
NODES: Final = 60
"""Drawn of the circuit."""


def page(found: Replication, parts: Parts) -> str:
    """The whole page."""
    style = files("sonde.replication").joinpath("page.css").read_text("utf-8")
    body = "\n".join(_body(found, parts))
    return document(f"{found.pack.title}: {found.model}", body, style)


def _body(found: Replication, parts: Parts) -> Iterator[str]:
    pack = found.pack
    yield f"<h1>{escape(pack.title)}</h1>"
    yield f'<p class="lead">{escape(pack.question)}</p>'
    yield (
        f'<p class="dim">{escape(found.model)}, weights {escape(found.weights)} · '
        f"{count(found.pairs, 'pair')} of the task {escape(pack.task.name)} to find things on, "
        f"{found.held_out} of other templates to measure them on, "
        f"{found.dropped} left out because the model gets them wrong</p>"
    )
    yield _summary(found)
    if pack.conclusion is not None and found.weights == pack.pinned_weights:
        yield f"<h2>Conclusion</h2><p>{escape(pack.conclusion)}</p>"
    for answer in found.answers:
        yield _card(answer)
    yield "<h2>What was not found</h2><ul>"
    yield "".join(f"<li>{escape(each)}</li>" for each in found.nulls) + "</ul>"
    yield from _pictures(parts)
    yield from _how(found)


def _summary(found: Replication) -> str:
    rows = "".join(
        f'<tr><td class="verdict {_kind(each)}">{each.verdict}</td>'
        f"<td>{escape(each.finding.question)}</td></tr>"
        for each in found.answers
    )
    return f"<table>{rows}</table>"


def _card(answer: Answer) -> str:
    asked = answer.finding
    interval = ""
    if answer.low is not None and answer.high is not None:
        interval = f" ({fixed(answer.low, 2)} to {fixed(answer.high, 2)})"
    pinned = {
        None: "",
        True: " It lies where it lay when this was written.",
        False: " It lies elsewhere than when this was written, with the same weights.",
    }[answer.as_pinned]
    rows = [
        ("Literature", f'{escape(asked.found)} <span class="dim">{escape(asked.source)}</span>'),
        (
            "This model",
            f"<b>{fixed(answer.value, 2)}</b>{interval}: {escape(answer.said)}.{pinned}",
        ),
        ("Tolerance", f"{escape(in_words(asked.tolerance))}: {escape(asked.because)}"),
        ("Verdict", f'<span class="verdict {_kind(answer)}">{answer.verdict}</span>'),
    ]
    told = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows)
    return f"<article><h2>{escape(asked.question)}</h2>{_bar(answer)}<dl>{told}</dl></article>"


def in_words(tolerance: Between) -> str:
    """`0.50 or more`."""
    if tolerance.low is not None and tolerance.high is not None:
        return f"{fixed(tolerance.low, 2)} to {fixed(tolerance.high, 2)}"
    if tolerance.low is not None:
        return f"{fixed(tolerance.low, 2)} or more"
    return "any" if tolerance.high is None else f"{fixed(tolerance.high, 2)} or less"


def _kind(answer: Answer) -> str:
    return answer.verdict.partition(" ")[0]


def _bar(answer: Answer) -> str:
    """The interval as a line over the tolerance as a band."""
    if answer.value is None or answer.low is None or answer.high is None:
        return ""
    band = answer.finding.tolerance
    ends = [0.0, 1.0, answer.low, answer.high, *(e for e in (band.low, band.high) if e is not None)]
    least, most = min(ends), max(ends)
    pad = 0.06 * (most - least)

    def x(value: float) -> float:
        return 10 + (WIDE - 20) * (value - least + pad) / (most - least + 2 * pad)

    left = 10.0 if band.low is None else x(band.low)
    right = WIDE - 10 if band.high is None else x(band.high)
    ink = css(diverging(-0.75))
    told = f"{answer.finding.name}: {number(answer.value)}, tolerance {in_words(band)}"
    marks = "".join(
        f'<text x="{x(v):.1f}" y="38" font-size="11" text-anchor="middle" fill="currentColor">'
        f"{fixed(v, 0)}</text>"
        for v in (0.0, 1.0)
    )
    return (
        f'<svg viewBox="0 0 {WIDE:g} 42" width="{WIDE:g}" role="img" aria-label="{escape(told)}">'
        f'<rect x="{left:.1f}" y="4" width="{right - left:.1f}" height="20" fill="currentColor" '
        'opacity=".13"/><line x1="10" x2="410" y1="26" y2="26" stroke="currentColor" opacity=".4"/>'
        f'<line x1="{x(answer.low):.1f}" x2="{x(answer.high):.1f}" y1="14" y2="14" stroke="{ink}" '
        f'stroke-width="4"/><circle cx="{x(answer.value):.1f}" cy="14" r="6" fill="{ink}"/>'
        f"{marks}</svg>"
    )


def _pictures(parts: Parts) -> Iterator[str]:
    roles = ", ".join(parts.pack.columns)
    yield f"<h2>The residual stream, at {escape(roles)}</h2>{_heatmap(parts.residual)}"
    hooks = ", ".join(parts.pack.hooks)
    yield f"<h2>Heads, each by itself ({escape(hooks)})</h2>{_heatmap(parts.heads)}"
    if parts.components is not None:
        window = parts.components.provenance.request.get("layers")
        yield f"<h2>Components, {escape(str(window))}</h2>{_heatmap(parts.components)}"
    yield "<h2>A circuit of the strongest nodes</h2>"
    yield (
        f'<p class="dim">Scored by {escape(parts.circuit.whole.scores)}; those that were run are '
        "drawn solid. How much of the model it is, on held-out templates:</p>"
    )
    yield f"<figure>{_picture(image(parts.curve, 'svg'), 'faithfulness and completeness')}</figure>"
    some = parts.circuit.top(min(NODES, len(parts.circuit)))
    yield scrolling(_picture(some.to_svg().encode(), "the circuit"), "the circuit")


def _heatmap(sweep: PairSweep) -> str:
    return fragment(sweep)


def _picture(svg: bytes, alt: str) -> str:
    data = base64.b64encode(svg).decode()
    return f'<img class="white" alt="{escape(alt)}" src="data:image/svg+xml;base64,{data}">'


def _how(found: Replication) -> Iterator[str]:
    here, pack = found.environment, found.pack
    took = ", ".join(f"{name} {duration(seconds)}" for name, seconds in found.seconds.items())
    versions = ", ".join(f"{name} {version}" for name, version in here.versions.items())
    yield (
        "<h2>How to read it</h2><p>Values are shares of the gap between the clean and the corrupt "
        "prompt, means over pairs first, with 95 % bootstrap intervals over clusters of pairs that "
        "share a template or a subject. What was chosen on some templates is measured on others "
        "where it says held out. The verdict follows from interval and tolerance alone: as found "
        "where all of the interval is within, differs where none is, unclear where it reaches over "
        "an end. The grey band is the tolerance. A model may do the same by other means, and the "
        "same means elsewhere: a verdict is about the one thing that was measured.</p>"
    )
    told = [
        ("pairs", f"{pack.task.name}, {pack.task.n} from seed {pack.task.seed}"),
        ("held out", "; ".join(pack.held_out)),
        ("heads", ", ".join(found.heads)),
        ("seconds", took),
        ("computed", f"{here.cpu}, {here.threads} threads, {here.device}"),
        ("software", versions),
        ("numbers", found.numbers),
    ]
    rows = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in told)
    yield f"<h2>Where this comes from</h2><dl>{rows}</dl>"
