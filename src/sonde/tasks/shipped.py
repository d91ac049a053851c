"""The tasks that come with Sonde, by name."""

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
from sonde.tasks.task import Task

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
