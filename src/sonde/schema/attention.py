"""What heads attend to in one prompt: what is asked of `POST /v1/attention`, and the answer."""

from typing import Annotated, Literal

from pydantic import Field

from sonde.schema.base import Whole, Wire
from sonde.schema.prompt import Layers, Prompt

HeadScore = Literal["previous", "duplicate", "induction"]
"""`previous`: weight on the token just before · `duplicate`: on earlier occurrences of the same
token · `induction`: on what followed those. Each a mean over the positions that have such keys."""


class AttentionRequest(Wire):
    """Run one prompt, and tell what its heads attend to."""

    model: str | None = None
    prompt: Prompt | None = None
    repeated: Annotated[Whole, Field(ge=2, le=10_000)] | None = None
    """Instead of a prompt: so many random tokens, and then the same once more."""
    seed: Whole = Field(default=0, ge=0)
    """What the random tokens are drawn with."""
    layers: Layers | None = None
    """All of them, if none is named."""
    heads: (
        Annotated[list[Annotated[Whole, Field(ge=0)]], Field(min_length=1, max_length=10_000)]
        | None
    ) = None
    """Query heads; all of them, if none is named."""
    scores: bool = False
    """Tell the head scores instead of the patterns."""


class AttentionTable(Wire):
    """Patterns or scores of some heads, layer by layer, head by head."""

    tokens: list[str]
    """The text of each token of the prompt."""
    token_ids: list[int]
    layers: list[int]
    heads: list[int]
    patterns: list[float] | None = None
    """layers × heads × positions × keys, the last varying fastest: the weight that a position has
    for each key, after the softmax; 0 where it cannot look."""
    scores: dict[HeadScore, list[float | None]] | None = None
    """layers × heads; null where no position of the prompt has such keys."""
