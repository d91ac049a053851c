"""Dictionaries side by side: one column each, one row a figure. Pure text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sonde.results.numbers import MISSING, fixed, number

if TYPE_CHECKING:
    from sonde.sae.density import Density
    from sonde.sae.evaluate import Evaluation
    from sonde.sae.judgement import Judgement

_NAMES = 30
_COLUMN = 14
_BARS = " ▁▂▃▄▅▆▇█"

Row = tuple[str, Sequence[str]]


def table(columns: Sequence[tuple[str, Judgement]]) -> str:
    """Named dictionaries, all judged on the same text."""
    names, judged = zip(*columns, strict=True)
    rows = [("", names), *_rows(judged)]
    width = max(_COLUMN, *(len(name) + 2 for name in names))
    lines = [
        name.ljust(_NAMES) + "".join(cell.rjust(width) for cell in cells) for name, cells in rows
    ]
    return "\n".join([*(line.rstrip() for line in lines), "", *_notes(judged)])


def _rows(judged: Sequence[Judgement]) -> Iterator[Row]:
    def each(name: str, say: Callable[[Judgement], str]) -> Row:
        return name, [say(one) for one in judged]

    yield each("features", lambda j: f"{j.features:,}")
    yield from _kept(judged)
    yield each("cosine", lambda j: fixed(j.whole.health.cosine, 4))
    yield each("shrinkage", lambda j: fixed(j.whole.shrinkage, 4))
    yield each("L0", lambda j: fixed(j.whole.health.l0, 1))
    yield each("never active", lambda j: percent(j.whole.health.dead))
    yield each("dense", lambda j: f"{j.whole.dense:,}")
    yield each("  their share of L0", lambda j: _density(j, lambda d: percent(d.dense_share)))
    yield each("active on, median", lambda j: _density(j, _middle))
    yield each("from 1e−6 to 1", lambda j: _density(j, lambda d: bars(d.counts)))
    yield each("nearest neighbour, median", lambda j: fixed(j.alike.median if j.alike else None, 3))
    yield each("  at 0.7 or nearer", lambda j: percent(j.alike.twins if j.alike else None))
    if any(j.letters for j in judged):
        yield from _letters(judged)
    if any(j.concepts for j in judged):
        yield from _concepts(judged)
    if any(j.labelled for j in judged):
        yield each("labels", lambda j: f"{j.labelled.labels:,}" if j.labelled else MISSING)
        yield each(
            "  detection, median", lambda j: fixed(j.labelled.median if j.labelled else None, 2)
        )
        yield each("  at 0.7 or more", lambda j: percent(j.labelled.good if j.labelled else None))


def _kept(judged: Sequence[Judgement]) -> Iterator[Row]:
    """What a reconstruction keeps: of all the text, and of each kind."""
    figures: tuple[tuple[str, Callable[[Evaluation], str]], ...] = (
        ("FVU", lambda e: fixed(e.health.fvu, 4)),
        ("cross-entropy recovered", lambda e: percent(e.loss.recovered)),
        ("recovered against the mean", lambda e: percent(e.loss.recovered_from_mean)),
    )
    for name, say in figures:
        for kind in judged[0].kinds:
            yield f"  {kind}" if kind else name, [say(j.kinds[kind]) for j in judged]
        if name == "cross-entropy recovered":
            yield (
                "  nats, as it is → rebuilt",
                [
                    f"{fixed(j.whole.loss.original, 3)} → {fixed(j.whole.loss.spliced, 3)}"
                    for j in judged
                ],
            )


def _letters(judged: Sequence[Judgement]) -> Iterator[Row]:
    def each(name: str, say: Callable[[Any], str]) -> Row:
        return name, [say(j.letters) if j.letters else MISSING for j in judged]

    yield each("first letters that count", lambda found: f"{found.letters}")
    yield each("  by a probe", lambda found: fixed(found.probe_f1, 2))
    yield each("  by one feature", lambda found: fixed(found.feature_f1, 2))
    yield each("  features a letter", lambda found: fixed(found.split, 2))
    yield each("  absorbed", lambda found: percent(found.absorbed))


def _concepts(judged: Sequence[Judgement]) -> Iterator[Row]:
    def means(j: Judgement, which: str) -> str:
        told = [getattr(each, which) for each in (j.concepts or {}).values()]
        return fixed(sum(told) / len(told), 3) if told else MISSING

    for name, which in (
        ("concepts, by one feature", "one"),
        ("  by five", "few"),
        ("  by the whole activation", "all"),
    ):
        yield name, [means(j, which) for j in judged]
    for concept in next(j.concepts for j in judged if j.concepts):
        told = [j.concepts and j.concepts[concept] for j in judged]
        yield f"  {concept}, by one", [fixed(each.one, 3) if each else MISSING for each in told]


def _notes(judged: Sequence[Judgement]) -> Iterator[str]:
    tokens = judged[0].whole.health.tokens
    yield f"over {tokens:,} tokens; position 0 left out; recovered against zeros"
    if any(j.letters or j.concepts for j in judged):
        yield "letters and concepts on held-out words: F1, and accuracy where 0.5 is chance"


def bars(counts: Sequence[int]) -> str:
    """A histogram of one character a bin; the highest is full, and no bin that counts is empty."""
    most = max(counts, default=0)
    return "".join(_BARS[-(-8 * n // most)] if n else _BARS[0] for n in counts) if most else MISSING


def percent(share: float | None) -> str:
    """A share, or a dash where it is not defined."""
    return MISSING if share is None else f"{100 * share:.2f} %"


def _density(j: Judgement, say: Callable[[Density], str]) -> str:
    return MISSING if j.whole.density is None else say(j.whole.density)


def _middle(density: Density) -> str:
    return MISSING if density.median is None else f"{number(100 * density.median)} %"
