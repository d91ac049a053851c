"""A sweep in a terminal: the question, the heatmap, what stands out, how far to trust it.

Plain text of a given width, in that order: who reads only the first screen has seen what was asked
and what came out. How cells become characters is in `blocks`, what is said about them in `wording`.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from sonde.results import wording
from sonde.results.blocks import LARGEST, MISSING, NOISE, Blocks
from sonde.results.excerpt import excerpt
from sonde.results.pen import Pen
from sonde.results.scale import Scale
from sonde.results.tokens import fit, fit_middle, pad, visible
from sonde.results.views import alike

if TYPE_CHECKING:
    from sonde.results.sweep import Sweep

_NAME = 13
"""Columns of the names on the left of the facts."""


def render(sweep: Sweep, *, pen: Pen, width: int) -> str:
    """The whole report, no line wider than `width`, without a newline at its end.

    Colour is the pen's to have; without it there is not one escape sequence in the text.
    """
    sweep = excerpt(sweep)
    drawn = [Blocks(sweep, tuple(group), pen, width) for group in alike(sweep.views)]
    sections = [
        _heading(sweep, pen, width),
        *(blocks.lines() for blocks in drawn),
        _legend(drawn),
        _strongest(sweep, pen, width),
        _facts(sweep, pen, width),
    ]
    return "\n".join(line for section in sections for line in section).rstrip("\n")


def _heading(sweep: Sweep, pen: Pen, width: int) -> Iterator[str]:
    title = f"{visible(sweep.provenance.model)}: {wording.metric_label(sweep)}"
    yield pen.bold(fit(title, width))
    scale = Scale.of(sweep)
    prompts = (
        ("clean", sweep.clean_prompt, sweep.clean),
        ("corrupt", sweep.corrupt_prompt, sweep.corrupt),
    )
    for name, prompt, value in prompts:
        if prompt is not None:
            number = "" if value is None else scale.text(value)
            room = max(width - 11 - len(number), 1)
            yield f"{pen.dim(pad(name, 9))}{fit_middle(visible(prompt), room)}  {number}".rstrip()
    yield ""


def _legend(drawn: list[Blocks]) -> Iterator[str]:
    blocks = drawn[0]
    scale, pen, sweep = blocks.scale, blocks.pen, blocks.sweep
    low, high = scale.text(scale.low), scale.text(scale.high)
    steps = max(min(32, blocks.width - len(low) - len(high) - 4), 2)
    if pen.color:
        values = (
            scale.low + (scale.high - scale.low) * step / (steps - 1) for step in range(steps)
        )
        bar = "".join(pen.on(" ", scale.color(value, pen.theme)) for value in values)
        yield f"{low} {bar} {high}"
    elif not all(each.has_numbers for each in drawn):
        zero = f"the baseline {scale.text(scale.baseline)}" if scale.baseline is not None else low
        yield from wrap(f"digits are ninths of {scale.text(scale.reach)} from {zero}", blocks.width)
    marks = [f"{LARGEST} largest"] if sweep.largest else []
    if wording.hatched(sweep):
        marks.append(f"{NOISE} {sweep.doubt}")
    if wording.has_gaps(sweep):
        marks.append(f"{MISSING} no number")
    yield pen.dim(fit("   ".join(marks), blocks.width))
    for told in filter(None, map(wording.shared_heads, sweep.views)):
        yield pen.dim(fit(told, blocks.width))
    for each in drawn:
        if each.left_out:
            text = f"not drawn, because no patch changed anything: {each.left_out}"
            yield from map(pen.dim, wrap(text, each.width))
    yield ""


def _strongest(sweep: Sweep, pen: Pen, width: int) -> Iterator[str]:
    found = wording.strongest(sweep)
    if not found:
        return
    scale = Scale.of(sweep)
    yield pen.bold(fit("strongest sites", width))
    hook_width = max(len(cell.name) for cell in found)
    texts = [(scale.text(cell.value), _change(sweep, scale, cell.value)) for cell in found]
    widths = [max(len(text[column]) for text in texts) for column in (0, 1)]
    for cell, (value, change) in zip(found, texts, strict=True):
        numbers = f"{value:>{widths[0]}}  {change:>{widths[1]}}".rstrip()
        numbered = [f"{each.axis} {each.value:>3}" for each in cell.place]
        worded = [each.said for each in cell.place if each.words is not None]
        where = "  ".join([f"{cell.name:<{hook_width}}", *numbered, *worded])
        yield fit(f"  {numbers}  {where}", width)
    yield ""


def _change(sweep: Sweep, scale: Scale, value: float) -> str:
    return "" if sweep.metric == "recovered" else scale.change(value)


def _facts(sweep: Sweep, pen: Pen, width: int) -> Iterator[str]:
    facts = [
        ("noise floor", wording.noise(sweep)),
        ("controls", wording.controls(sweep)),
        ("time", wording.timing(sweep)),
        *(("skipped", line) for line in wording.skipped(sweep)),
        *((visible(name), visible(text)) for name, text in sweep.table.notes.items()),
        *((name, visible(text)) for name, text in sweep.facts),
        *(("warning", visible(line)) for line in sweep.warnings),
    ]
    for name, text in facts:
        if width < 3 * _NAME:
            yield from wrap(f"{name}: {text}", max(width, 1))
            continue
        first, *rest = wrap(text, width - _NAME) or [""]
        yield pen.dim(pad(name, _NAME)) + first
        yield from (" " * _NAME + line for line in rest)
