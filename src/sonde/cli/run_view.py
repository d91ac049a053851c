"""What `sonde runs` says about a run: a list of them, or one in a page of text. Pure text."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from textwrap import wrap

from sonde.cli.curve import curve
from sonde.results.numbers import MISSING, count, fixed, number, size
from sonde.results.tokens import fit, pad, visible
from sonde.runs.reader import model_name
from sonde.schema.analytics import (
    Coefficient,
    Correlation,
    Curves,
    Overview,
    Scatter,
    Vocabulary,
    VocabularyFeature,
)
from sonde.schema.records import RunInfo
from sonde.schema.runs import RunRow

NAME = 13
"""Columns of the names on the left."""
WORDS = 8
"""Features of the vocabulary that are shown."""


def run_table(rows: Sequence[RunRow], width: int) -> Iterator[str]:
    """One line a run, the newest first."""
    cells = [("run", "status", "step", "last written", "layers", "checkpoint", "model")]
    for row in rows:
        layers = ",".join(map(str, row.layers)) if row.layers is not None else MISSING
        last = str(row.last_checkpoint) if row.last_checkpoint is not None else MISSING
        status, model = status_of(row), model_name(row.model) or MISSING
        step = MISSING if row.last_step is None else str(row.last_step)
        cells.append((row.run, status, step, when(row.written), layers, last, model))
    shown = [[visible(cell) for cell in line] for line in cells]
    widths = [max(len(line[column]) for line in shown) for column in range(len(cells[0]))]
    for line in shown:
        texts = (pad(cell, wide) for cell, wide in zip(line, widths, strict=True))
        yield fit("  ".join(texts).rstrip(), width)
    for row in rows:
        for text in ending(row, name=row.run):
            yield from wrapped(text, width)


def wrapped(text: str, width: int) -> list[str]:
    """A sentence or a command in as many lines as it takes; a word is never cut."""
    return wrap(visible(text), width, break_long_words=False, break_on_hyphens=False)


def status_of(row: RunRow) -> str:
    """In a word or two; a trainer that was killed cannot say so itself."""
    return "stopped without ending" if row.unended is not None else row.status or MISSING


def ending(row: RunRow, name: str = "") -> Iterator[str]:
    """How a run ended that does not say so, and what goes on with it; nothing of others."""
    found = row.unended
    if found is None:
        return
    at = "before its first step" if found.step is None else f"after step {found.step}"
    yield f"{name}{': ' if name else ''}stopped {at} without ending: {found.why}"
    yield f"to go on: {found.resume}"


def run_page(
    overview: Overview,
    info: RunInfo | None,
    row: RunRow,
    scatter: Scatter,
    vocabulary: Vocabulary,
    rewards: Curves,
    health: Curves,
    width: int,
) -> Iterator[str]:
    """One run, in the order in which questions come up."""
    for name, text in _facts(overview, info, row, scatter, health):
        first, *rest = wrap(visible(text), max(width - NAME, 20)) or [""]
        yield pad(name, NAME) + first
        yield from (" " * NAME + line for line in rest)
    yield ""
    yield from reward_plot(rewards, width)
    yield ""
    yield from _words(vocabulary, width)
    for missing in overview.missing:
        yield from wrap(f"no {missing.file}: cannot show {missing.prevents}", width)


def reward_plot(rewards: Curves, width: int) -> Iterator[str]:
    """The reward curve, or why there is none."""
    mean = next((one.mean for one in rewards.series if one.name == "rewards_mean"), [])
    there = [value for value in mean if value is not None]
    if not there:
        yield from wrap(f"no reward curve: {rewards.reason or 'no step has a reward'}", width)
        return
    first, last = rewards.first_step, rewards.last_step
    title = f"mean reward, steps {first} to {last}"
    *rows, foot, _ = curve(mean, title=title, top=max(1.0, *there))
    yield from (fit(line, width) for line in (*rows, foot))


def coefficient(found: Coefficient | None) -> str:
    """An r with its interval."""
    if found is None:
        return MISSING
    if found.low is None or found.high is None:
        return fixed(found.r, 2)
    return f"{fixed(found.r, 2)} [{fixed(found.low, 2)}, {fixed(found.high, 2)}]"


def when(seconds: float | None) -> str:
    """A moment, to the second, in UTC."""
    if seconds is None:
        return MISSING
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"


def _facts(
    overview: Overview, info: RunInfo | None, row: RunRow, scatter: Scatter, health: Curves
) -> Iterator[tuple[str, str]]:
    yield "run", overview.run
    if info is not None:
        yield "model", model_name(info.model)
        yield "status", f"{status_of(row)}, begun {when(info.started)}"
        yield from (("", line) for line in ending(row))
    coverage = overview.coverage
    layers = ", ".join(str(layer.layer) for layer in overview.layers)
    steps = (
        MISSING if overview.first_step is None else f"{overview.first_step} to {overview.last_step}"
    )
    yield (
        "records",
        f"{coverage.records:,} of layers {layers or MISSING}, steps {steps}, "
        f"{size(coverage.bytes_read)}",
    )
    if coverage.withheld:
        yield (
            "",
            f"{count(coverage.withheld, 'line')} withheld: not valid, or out of place",
        )
    for layer in overview.layers:
        yield "", f"layer {layer.layer}: {count(layer.features, 'different feature')}"
    yield (
        "generations",
        f"{overview.generations:,}: {overview.passed:,} passed the gate, "
        f"{overview.failed:,} did not",
    )
    if scatter.reason:
        yield "loss and R", scatter.reason
    for each in scatter.correlations:
        yield "loss and R" if each.among == "all" else "", _correlation(each, scatter.layer)
    for alarm in health.alarms:
        now = "now" if alarm.standing else f"until step {alarm.last_step}"
        yield "warning", f"from step {alarm.first_step}, {now}: {alarm.alarm}"


def _correlation(found: Correlation, layer: int | None) -> str:
    where = f"layer {layer}, " if found.among == "all" else ""
    what = f"{where}{found.among}, n {found.n:,}"
    if found.reason:
        return f"{what}: {found.reason}"
    return f"{what}: r {coefficient(found.pearson)}, by rank {coefficient(found.spearman)}"


def _words(vocabulary: Vocabulary, width: int) -> Iterator[str]:
    if vocabulary.reason:
        yield from wrap(f"no vocabulary: {visible(vocabulary.reason)}", width)
        return
    if vocabulary.whole:
        where = f"{vocabulary.n:,} passed generations, all of the run"
    else:
        where = f"the last {vocabulary.n:,} passed generations"
    yield from wrap(
        f"vocabulary: {count(vocabulary.total, 'line')} in at least {vocabulary.m:,} of {where}; "
        f"{vocabulary.significant:,} with q ≤ {vocabulary.rate:g}",
        width,
    )
    yield from wrap(_power(vocabulary), width)
    for each in vocabulary.features[:WORDS]:
        yield fit(_word(each), width)
    if vocabulary.everywhere:
        names = ", ".join(f"{each.layer}:{each.feature}" for each in vocabulary.everywhere[:WORDS])
        more = ", …" if vocabulary.everywhere_total > WORDS else ""
        yield from wrap(
            f"set apart, in nearly all generations: "
            f"{count(vocabulary.everywhere_total, 'line')} ({names}{more})",
            width,
        )


def _power(vocabulary: Vocabulary) -> str:
    """How much the groups can tell, whatever the features are."""
    if vocabulary.reason_p:
        return f"no p or q: {visible(vocabulary.reason_p)}"
    mixed = (
        f"{vocabulary.mixed_groups:,} of {count(vocabulary.groups, 'group')} have both passed and "
        f"failed generations, and tell them apart: {count(vocabulary.family, 'pattern')} of use "
        "tested"
    )
    if vocabulary.least_q is None:
        return mixed
    about = "" if vocabulary.exact else "; p by the normal distribution"
    return f"{mixed}, the smallest q within reach {number(vocabulary.least_q)}{about}"


def _word(each: VocabularyFeature) -> str:
    lift = number(each.lift) if each.lift is not None else "only there"
    same = f"  and {len(each.same)} with the same generations" if each.same else ""
    return (
        f"  layer {each.layer:>3}  feature {each.feature:>6}  in {each.sustained:>3}  "
        f"lift {lift:>10}  q {number(each.q):>9}{same}"
    )
