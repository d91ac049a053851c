"""What a policy is asked and who grades it: as in its training, on prompts it has not had.

The catalog task makes its own prompts, and its verifier comes with Sonde. A run with a reward or
prompts of somebody's own names neither file for us to load: they are code and data of its trainer,
and are handed in.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sonde.errors import BadRequest, BadReward
from sonde.runs.layout import RunLayout
from sonde.runs.reader import run_info
from sonde.training.messages import text_of
from sonde.training.rewards.reward_function import RewardFunction, Verifier

CATALOG = "catalog"
MORE = 20
"""Times as many prompts as are wanted that the catalog is asked for, before it is called empty."""


class Grade(NamedTuple):
    """What a completion is worth."""

    reward: float
    gate: bool | None
    """Whether it passes; None where the reward has no gate."""


@dataclass(frozen=True, eq=False)
class Exam:
    """Prompts, and what their completions are worth."""

    rows: list[dict[str, Any]]
    """Each with its `prompt`, and whatever the verifier wants to know."""
    verify: Verifier
    max_tokens: int
    notes: dict[str, str] = field(default_factory=dict)

    def grade(self, number: int, completion: str) -> Grade:
        """Grade a completion of one of the prompts, as training does."""
        gates: list[float | None] = []

        def note(column: str, values: Sequence[float | None]) -> None:
            if column == "R_A":
                gates.extend(values)

        columns = {name: [value] for name, value in self.rows[number].items() if name != "prompt"}
        prompt = self.rows[number]["prompt"]
        [reward] = RewardFunction(self.verify)([prompt], [completion], log_extra=note, **columns)
        return Grade(float(reward), None if not gates or gates[0] is None else bool(gates[0]))


def exam_of(
    layout: RunLayout,
    n: int,
    *,
    seed: int = 0,
    max_tokens: int | None = None,
    verify: Verifier | None = None,
    rows: Iterable[Mapping[str, Any]] | None = None,
) -> Exam:
    """The exam of a run: its own task, or the verifier and the rows that are handed in."""
    asked, longest = said_of(layout)
    if max_tokens is None and longest is None:
        raise BadRequest(
            f"{layout.directory} has no generations, so it is not known how long completions are: "
            "say so with max_tokens"
        )
    if (verify is None) != (rows is None):
        missing = "prompts" if rows is None else "a reward"
        raise BadRequest(f"a reward of your own grades prompts of your own: give {missing} too")
    offered: Iterable[dict[str, Any]]
    if verify is None or rows is None:
        verify, offered, notes = _catalog(layout, len(asked), n, seed)
    else:
        offered, notes = _given(rows), {"prompts": "given"}
    found, had = _unseen(offered, asked, n)
    if len(found) < 2:
        raise BadRequest(
            f"{len(found)} prompts that the run has not been trained on: give more, two at least"
        )
    if len(found) < n:
        notes["prompts"] += f"; {len(found)} of {n}, there are no more that it has not had"
    if had:
        notes["trained"] = f"{had} prompts were left out: the run has been trained on them"
    return Exam(found, verify, max_tokens or longest or 1, notes)


def said_of(layout: RunLayout) -> tuple[set[str], int | None]:
    """The prompts that a run has been trained on, and the length of its longest completion."""
    prompts, longest = set(), None
    try:
        with layout.generations.open(encoding="utf-8") as lines:
            for line in lines:
                try:
                    one = json.loads(line)
                    prompt, n = one["prompt"], int(one["completion_tokens"])
                except (ValueError, LookupError, TypeError):
                    continue  # half a line, or one of another writer: it has no prompt to leave out
                prompts.add(prompt)
                longest = max(n, longest or 0)
    except FileNotFoundError:
        return set(), None
    return prompts, longest


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Prompts of one's own: one JSON object a line, each with a `prompt`."""
    try:
        rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise BadReward(f"cannot read prompts from {path}: {error}") from error
    return _given(rows)


def _given(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    given = list(rows)
    for number, row in enumerate(given, 1):
        if not isinstance(row, Mapping) or "prompt" not in row:
            raise BadReward(f"prompt {number} is no object with a `prompt`")
    return [dict(row) for row in given]


def _catalog(
    layout: RunLayout, had: int, n: int, seed: int
) -> tuple[Verifier, Iterator[dict[str, Any]], dict[str, str]]:
    """The catalog's verifier and prompts, where this is the catalog that the run was graded by."""
    from sonde.training.rewards.catalog import catalog_task, load_catalog
    from sonde.training.rewards.descriptions import questions
    from sonde.training.rewards.topics import load_topics
    from sonde.training.rewards.verifier import CatalogVerifier

    info = run_info(layout)
    task = None if info is None else info.task
    if info is None or task != CATALOG:
        what = "its own trainer's reward" if task is None else f"the reward {task}"
        raise BadRequest(
            f"the run was graded by {what}, which is not loaded because a run's files name it: "
            "give it with --reward FILE:NAME, and prompts with --prompts FILE (in Python "
            "verify= and rows=)"
        )
    catalog = load_catalog()
    now = catalog_task(catalog).files
    other = [name for name, digest in now.items() if info.files.get(name, digest) != digest]
    if other:
        raise BadRequest(
            f"the run was graded by another {other[0]} than the one that comes with this version "
            "of Sonde, so its rewards are others"
        )
    asked = questions(catalog, MORE * (had + n), seed)
    rows = ({"prompt": each.prompt, "target": each.target} for each in asked)
    notes = {"prompts": "of the catalog", "reward": CATALOG}
    return CatalogVerifier(catalog, load_topics()), rows, notes


def _unseen(
    offered: Iterable[dict[str, Any]], asked: set[str], n: int
) -> tuple[list[dict[str, Any]], int]:
    """The first n different prompts that were not asked before, and how many were."""
    found: dict[str, dict[str, Any]] = {}
    had: set[str] = set()
    for row in offered:
        text = text_of(row["prompt"])
        if text in asked:
            had.add(text)
        elif text not in found:
            found[text] = row
        if len(found) == n:
            break
    return list(found.values()), len(had)


Grader = Callable[[int, str], Grade]
"""The number of a prompt and a completion -> what that is worth."""
