"""A sweep in a terminal: the question, the heatmap, what stands out, how far to trust it.

Plain text of a given width, in that order: who reads only the first screen has seen what was asked
and what came out. How cells become characters is in `blocks`, what is said about them in `wording`.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from sonde.results import wording
from sonde.results.blocks import LARGEST, MISSING, NOISE, Blocks
from sonde.results.pen import Pen
from sonde.results.scale import Scale
from sonde.results.tokens import fit, fit_middle, pad, quoted, visible

if TYPE_CHECKING:
    from sonde.results.sweep import Sweep

_NAME = 13
"""Columns of the names on the left of the facts."""


def render(sweep: Sweep, *, pen: Pen, width: int) -> str:
    """The whole report, no line wider than `width`, without a newline at its end.

    Colour is the pen's to have; without it there is not one escape sequence in the text.
    """
    blocks = Blocks(sweep, pen, width)
    sections = [
        _heading(sweep, pen, width),
        blocks.lines(),
        _legend(blocks),
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


def _legend(blocks: Blocks) -> Iterator[str]:
    scale, pen, sweep = blocks.scale, blocks.pen, blocks.sweep
    low, high = scale.text(scale.low), scale.text(scale.high)
    steps = max(min(32, blocks.width - len(low) - len(high) - 4), 2)
    if pen.color:
        values = (
            scale.low + (scale.high - scale.low) * step / (steps - 1) for step in range(steps)
        )
        bar = "".join(pen.on(" ", scale.color(value, pen.theme)) for value in values)
        yield f"{low} {bar} {high}"
    elif not blocks.has_numbers:
        zero = f"the baseline {scale.text(scale.baseline)}" if scale.baseline is not None else low
        yield from wrap(f"digits are ninths of {scale.text(scale.reach)} from {zero}", blocks.width)
    marks = [f"{LARGEST} largest"] if sweep.argmax else []
    if wording.within_noise(sweep):
        marks.append(f"{NOISE} within the noise floor")
    if any(np.isnan(grid).any() for grid in sweep.grids.values()):
        marks.append(f"{MISSING} no number")
    yield pen.dim(fit("   ".join(marks), blocks.width))
    if blocks.left_out:
        n, places = len(blocks.left_out), wording.ranges(blocks.left_out)
        text = f"not drawn, because no patch changed anything: {n} positions, {places}"
        yield from map(pen.dim, wrap(text, blocks.width))
    yield ""


def _strongest(sweep: Sweep, pen: Pen, width: int) -> Iterator[str]:
    found = wording.strongest(sweep)
    if not found:
        return
    scale = Scale.of(sweep)
    yield pen.bold(fit("strongest sites", width))
    hook_width = max(len(site.hook) for site in found)
    texts = [(scale.text(site.value), _change(sweep, scale, site.value)) for site in found]
    widths = [max(len(text[column]) for text in texts) for column in (0, 1)]
    for site, (value, change) in zip(found, texts, strict=True):
        numbers = f"{value:>{widths[0]}}  {change:>{widths[1]}}".rstrip()
        where = f"{site.hook:<{hook_width}}  layer {site.layer:>3}  position {site.position:>3}"
        yield fit(f"  {numbers}  {where}  {quoted(site.token)}", width)
    yield ""


def _change(sweep: Sweep, scale: Scale, value: float) -> str:
    return "" if sweep.metric == "recovered" else scale.change(value)


def _facts(sweep: Sweep, pen: Pen, width: int) -> Iterator[str]:
    facts = [
        ("noise floor", wording.noise(sweep)),
        ("controls", wording.controls(sweep)),
        ("time", wording.timing(sweep)),
        *(("skipped", line) for line in wording.skipped(sweep)),
        *(("warning", visible(line)) for line in sweep.warnings),
    ]
    for name, text in facts:
        if width < 3 * _NAME:
            yield from wrap(f"{name}: {text}", max(width, 1))
            continue
        first, *rest = wrap(text, width - _NAME) or [""]
        yield pen.dim(pad(name, _NAME)) + first
        yield from (" " * _NAME + line for line in rest)
