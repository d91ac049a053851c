"""The texts on which checkpoints of a run are compared: completions of its own, chosen once.

They are kept beside the run (`probes.jsonl`), so that every later comparison is on the same ones,
and so is each comparison (`changed/0-20.json`). Nothing is loaded here.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from pydantic import ValidationError

from sonde.errors import BadRequest
from sonde.runs.atomic import replace
from sonde.runs.layout import RunLayout
from sonde.runs.reader import read_object
from sonde.schema.analytics import GenerationRow
from sonde.schema.changed import Changed, ChangedAnswer, Probe

_PAIR = re.compile(r"(0|[1-9][0-9]{0,17})-(0|[1-9][0-9]{0,17})\.json")


def chosen(
    rows: Iterable[GenerationRow], n: int, fits: Callable[[Probe], bool] = lambda _probe: True
) -> list[Probe]:
    """Of every prompt the completion with the most reward, the newest of equals; n, spread evenly.

    `rows` are generations with their texts, the newest first; those that do not fit are left out.
    """
    best: dict[str, GenerationRow] = {}
    for row in rows:
        if row.prompt is None or not row.completion:
            continue
        there = best.get(row.prompt)
        better = there is None or (row.R or 0.0) > (there.R or 0.0)
        if better and fits(_probe(row)):
            best[row.prompt] = row
    every = sorted(best.values(), key=lambda row: (row.step, row.token_start))
    kept = [every[place * len(every) // n] for place in range(n)] if len(every) > n else every
    return [_probe(row) for row in kept]


def _probe(row: GenerationRow) -> Probe:
    return Probe.model_validate(row.model_dump())


def kept_probes(layout: RunLayout) -> list[Probe]:
    """The texts that were chosen for a run; none where nobody has asked yet."""
    try:
        lines = layout.probes.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    try:
        return [Probe.model_validate_json(line) for line in lines if line.strip()]
    except ValidationError as error:
        raise BadRequest(
            f"{layout.probes} is not what it should be ({error.errors()[0]['msg']}); remove it, "
            "and other texts are chosen"
        ) from error


def keep_probes(layout: RunLayout, probes: Iterable[Probe]) -> None:
    """Keep the texts with the run."""
    text = "".join(f"{probe.model_dump_json()}\n" for probe in probes)
    replace(layout.probes, text.encode())


def keep_changed(layout: RunLayout, changed: Changed) -> Path:
    """Keep an answer with the run. -> where it is"""
    layout.changed.mkdir(exist_ok=True)
    path = layout.changed / f"{changed.first}-{changed.last}.json"
    replace(path, changed.model_dump_json(indent=1).encode())
    return path


def changed_files(layout: RunLayout) -> dict[tuple[int, int], Path]:
    """The answers that are kept, by their two steps."""
    found = {}
    try:
        names = sorted(path.name for path in layout.changed.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    for name in names:
        if steps := _PAIR.fullmatch(name):
            found[int(steps[1]), int(steps[2])] = layout.changed / name
    return dict(sorted(found.items()))


def known_changes(
    layout: RunLayout, first: int | None = None, last: int | None = None
) -> ChangedAnswer:
    """What is kept of a run's changes: of two steps, or over the longest way to the last one."""
    there = changed_files(layout)
    fitting = [
        pair
        for pair in there
        if (first is None or pair[0] == first) and (last is None or pair[1] == last)
    ]
    if not fitting:
        which = "" if first is None and last is None else " between these steps"
        return _answer(there, None, f"nobody has compared checkpoints of this run{which} yet")
    pair = max(fitting, key=lambda steps: (steps[1], -steps[0]))
    found = read_object(there[pair])
    try:
        return _answer(there, None if found is None else Changed.model_validate(found), None)
    except ValidationError:
        return _answer(there, None, f"{there[pair].name} was written by another version")


def _answer(
    there: dict[tuple[int, int], Path], changed: Changed | None, why: str | None
) -> ChangedAnswer:
    reason = why or ("it cannot be read" if changed is None else None)
    return ChangedAnswer(known=[list(pair) for pair in there], changed=changed, reason=reason)
