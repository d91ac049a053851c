"""Prompt pairs by the hundred: tasks that make them, files of one's own, and a check of both.

Templates and word lists are our own. A task's pairs follow from its name and a seed alone.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from sonde.errors import BadRequest
from sonde.tasks.agreement import AGREEMENT
from sonde.tasks.facts import CAPITALS, LANDMARKS
from sonde.tasks.greater import GREATER_THAN
from sonde.tasks.induction import INDUCTION
from sonde.tasks.objects import IOI
from sonde.tasks.pairs import Pairs
from sonde.tasks.pronouns import PRONOUNS
from sonde.tasks.task import Task, Variant

__all__ = ["TASKS", "Pairs", "Task", "Variant", "pairs", "task"]

_ALL = (AGREEMENT, IOI, CAPITALS, LANDMARKS, GREATER_THAN, PRONOUNS, INDUCTION)

TASKS: Final[Mapping[str, Task]] = MappingProxyType({task.name: task for task in _ALL})


def task(name: str) -> Task:
    """The task of that name."""
    if name not in TASKS:
        raise BadRequest(f"no task is called {name!r}; there are {', '.join(TASKS)}")
    return TASKS[name]


def pairs(name: str, *, n: int = 200, seed: int = 0) -> Pairs:
    """So many pairs of a task: `sonde.pairs("agreement", n=200)`. The seed says which."""
    return task(name).pairs(n, seed)
