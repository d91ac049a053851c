"""Tasks that come with Sonde: prompt pairs that follow from a name, a number and a seed."""

from sonde.schema.base import Wire
from sonde.schema.pair import PromptPair


class TaskEntry(Wire):
    """One behaviour."""

    name: str
    what: str
    """In one sentence."""
    pairs: int
    """How many distinct pairs there are."""


class TaskList(Wire):
    """The tasks there are."""

    tasks: list[TaskEntry]


class TaskPairs(Wire):
    """Some pairs of a task: those of the same number and seed everywhere."""

    pairs: list[PromptPair]
