"""A test of the reward as one HTML page: bars, and what completions became. It runs no script."""

from collections.abc import Iterator, Sequence
from html import escape

from sonde.results.document import document, scrolling
from sonde.results.numbers import MISSING, fixed
from sonde.results.reward import (
    NOTES,
    SHOWN,
    Changed,
    RewardSweep,
    control,
    in_words,
    without,
)
from sonde.results.tokens import quoted
from sonde.schema.reward import RewardEffect

_BLUE = "#2f7fd1"
_STYLE = """
table { border-collapse: collapse } td { padding: .15rem .8rem .15rem 0; vertical-align: top }
code { font-family: ui-monospace, monospace; white-space: pre-wrap }
svg { width: 100%; max-width: 40rem; height: auto }
"""


def reward_page(result: RewardSweep) -> str:
    """One HTML page: no network, no script."""
    return document(result.verdict, "\n".join(body(result, heading="h1")), _STYLE)


def body(result: RewardSweep, heading: str, *, alone: bool = True) -> Iterator[str]:
    """`alone` says how to read it and where it comes from; within another page that does."""
    found, source = result.reward, result.provenance
    yield f"<{heading}>{escape(found.verdict)}</{heading}>"
    yield f"<p>{escape(without(found))}.</p>"
    yield _bars(found.effects)
    beneath = "h2" if alone else "h4"
    for each in found.effects:
        yield f"<{beneath}>{escape(each.label)} · {escape(in_words(each))}</{beneath}>"
        rows = [_row(changed) for changed in result.completions(each.feature)[: 3 * SHOWN]]
        yield scrolling(f"<table>{''.join(rows)}</table>", f"completions with {each.label} changed")
    if not alone:
        return
    yield (
        "<h2>How to read it</h2><p>Every prompt is completed without a change and with each "
        "feature changed at every position, with the same random numbers, and graded as the run "
        "was. An effect is the mean difference, its interval by bootstrap over the prompts; p by "
        "flips of sign, corrected over all features tested. A large change does something wherever "
        "it points, so beside each stand random directions, everywhere as long: a feature matters "
        "if it moves the reward, and moves it beyond those.</p>"
    )
    notes = result.table.notes
    facts = [
        *(f"{name}: {notes[name]}" for name in NOTES if name in notes),
        control(result),
        f"{source.model}, weights {source.weights}",
        f"dictionary {notes.get('dictionary', MISSING)}",
    ]
    yield "".join(f'<p class="dim">{escape(fact)}</p>' for fact in facts)


def _row(changed: Changed) -> str:
    asked = changed.prompt.rstrip().rpartition("\n")[2]
    rewards = f"{fixed(changed.reward_before, 2)} → {fixed(changed.reward_after, 2)}"
    texts = (asked, quoted(changed.before), quoted(changed.after))
    cells = "".join(f"<td><code>{escape(text)}</code></td>" for text in texts)
    return f"<tr><td>{rewards}</td>{cells}</tr>"


def _bars(effects: Sequence[RewardEffect]) -> str:
    """Effects with their intervals, and random directions as strokes beside them."""
    ends = [v for e in effects for v in (e.effect, e.low, e.high, *e.random) if v is not None]
    least, most = min([*ends, 0.0]), max([*ends, 0.0])
    height = 26 * len(effects) + 10

    def x(value: float) -> str:
        return f"{110 + 470 * (value - least) / ((most - least) or 1.0):.1f}"

    def line(start: float, end: float, top: float, bottom: float, style: str) -> str:
        ends = f'x1="{x(start)}" x2="{x(end)}" y1="{top}" y2="{bottom}"'
        return f"<line {ends} {style}/>"

    drawn = [line(0.0, 0.0, 0, height, 'stroke="currentColor" opacity=".3"')]
    for row, each in enumerate(effects):
        y = 16 + 26 * row
        low, high = (each.effect if end is None else end for end in (each.low, each.high))
        faint = 'stroke="currentColor" opacity=".45"'
        label = escape(each.label)
        drawn.append(f'<text x="0" y="{y + 5}" font-size="13" fill="currentColor">{label}</text>')
        drawn += [line(r, r, y - 8, y + 8, faint) for r in each.random]
        drawn.append(line(low, high, y, y, f'stroke="{_BLUE}" stroke-width="3"'))
        drawn.append(f'<circle cx="{x(each.effect)}" cy="{y}" r="5" fill="{_BLUE}"/>')
    view = f'viewBox="0 0 590 {height}" role="img" aria-label="effects"'
    return f"<svg {view}>{''.join(drawn)}</svg>"
