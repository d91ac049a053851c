"""What one feature does in a run, and what somebody noted of it there."""

from typing import Annotated

from pydantic import Field

from sonde.schema.analytics import Coverage
from sonde.schema.base import Wire

NoteText = Annotated[str, Field(max_length=4_000)]


class RunSnippet(Wire):
    """A few tokens of a completion around one where the feature was strong."""

    generation_id: str
    step: int
    gate: bool | None
    position: int
    """Of the strong token, in the completion; -1 is the last of the prompt."""
    value: float
    tokens: list[str]
    """Empty where it is not known how the text was split."""
    values: list[float | None]
    """How active it was at each; null where the token was not recorded."""


class FeatureInRun(Wire):
    """Where a feature was among the strongest of a token, over all of a run."""

    coverage: Coverage
    layer: int
    feature: int
    tokens: int
    """Recorded tokens that have it."""
    recorded: int
    """Recorded tokens of the layer."""
    edges: list[float]
    """Of the histogram's bins, one more than those; empty where no token has it."""
    counts: list[int]
    snippets: list[RunSnippet]
    """Strongest first, each of another completion."""
    reason: str | None


class Note(Wire):
    """What somebody wrote about a feature of a run."""

    text: NoteText
    written: float
    """Seconds since 1970."""


class NoteToKeep(Wire):
    """A note as it is sent; an empty one takes the old one away."""

    text: NoteText


class NoteList(Wire):
    """`notes.json` of a run: notes by `layer.feature`."""

    notes: dict[Annotated[str, Field(pattern=r"^[0-9]{1,6}\.[0-9]{1,9}$")], Note] = {}
