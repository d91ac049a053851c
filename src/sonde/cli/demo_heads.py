"""The demo's second question: which heads move the fact, over many landmarks instead of one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from sonde.cli.demo_index import Entry
from sonde.cli.progress import Progress
from sonde.errors import BadRequest
from sonde.model import Model
from sonde.results import PairSweep, Sweep, files
from sonde.results.intervals import interval_plot, lines, strongest_intervals
from sonde.tasks import task

TASK: Final = "landmarks"
PAIRS: Final = 40
SHOWN: Final = 8


def heads(model: Model, fact: Sweep, folder: Path, shown: Progress) -> tuple[Entry, list[str]]:
    """Sweep the heads over many pairs; what it comes to, and the lines that show it.

    A model that gets none of the pairs right has no answer to move: that is said, and is no error.
    """
    first = first_layer(fact, model.describe().n_layers)
    pairs = task(TASK).pairs(PAIRS, 0)
    title = f"The heads that move it, over {len(pairs)} landmarks"
    try:
        found = model.sweep(
            pairs=pairs, hooks="z", layers=range(first, model.describe().n_layers),
            metric="recovered", on_event=shown.event,
        )  # fmt: skip
    except BadRequest as error:
        return Entry(title, f"Not measured: {error}"), []
    assert isinstance(found, PairSweep)
    found.save(folder / "heads.html")
    files.write(folder / "heads.png", _png(found))
    said = f"{found.verdict} Heads of layers {first} and above were asked."
    return Entry(title, said, "heads.html", "heads.png"), list(_told(found))


def first_layer(fact: Sweep, n_layers: int) -> int:
    """From where on heads are asked: a little below where the answer comes to the last token.

    What moves it cannot be later, and little before; the heads of all layers cost nine times more.
    """
    there = [
        layer
        for layer, value in zip(fact.layers, fact.grids["post_block"][:, -1], strict=True)
        if value > 0.5
    ]
    return max(0, there[0] - max(1, n_layers // 10)) if there else 0


def _told(found: PairSweep) -> Iterator[str]:
    yield from lines(strongest_intervals(found, SHOWN))
    for name, text in found.facts:
        yield click.style(f"{name}: {text}", dim=True)


def _png(found: PairSweep) -> bytes:
    import io

    target = io.BytesIO()
    interval_plot(found, SHOWN).savefig(target, format="png", dpi=200)
    return target.getvalue()
