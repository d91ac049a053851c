"""A run's checkpoints as an axis: which of them, and whose activations are written."""

from typing import Annotated, Literal

from pydantic import Field

from sonde.schema.base import Whole, Wire


class CheckpointAxis(Wire):
    """Checkpoints of one run: the same sweep on the weights of each."""

    run: str = Field(min_length=1, max_length=512)
    """By its name; in Python and on the command line also its directory."""
    steps: (
        Literal["all"]
        | Annotated[list[Annotated[Whole, Field(ge=0)]], Field(min_length=1, max_length=1_000)]
    ) = "all"
    """After which steps they were saved."""
    sources_from: Whole | None = Field(default=None, ge=0)
    """The checkpoint whose activations of the clean prompt are written into every one; without it,
    each has its own. Its weights are in the notes, and those of the others in `checkpoints`."""
