"""Two prompts that differ in one thing, as one row of a study of many.

Tasks that come with Sonde give such pairs: they follow from a name, a number and a seed.
"""

from typing import Annotated

from pydantic import Field

from sonde.schema.base import Wire
from sonde.schema.prompt import Answers, Prompt

Text = Annotated[str, Field(min_length=1, max_length=100_000)]
RoleName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$")]


class RoleSpans(Wire):
    """A role whose words differ between the prompts."""

    clean: Text
    corrupt: Text


Role = Text | RoleSpans
"""A span that stands in both prompts, or one for each: `" is"`, or France here and Italy there."""


class PromptPair(Wire):
    """A clean prompt, a corrupt one, and the answers that tell them apart."""

    clean: Prompt
    corrupt: Prompt
    answer: Answers
    foil: Answers | None = None
    roles: Annotated[dict[RoleName, Role], Field(max_length=64)] = {}
    """Named spans, the columns that pairs of different length share. `NAME_last` is the last token
    of a role; `end` is the prompt's last token, unless a role is called so."""
    cluster: Annotated[str, Field(max_length=1_000)] | None = None
    """What pairs share that are not independent: a template, a subject."""


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
