"""What a head attends to in the two prompts of a sweep, asked of the model that it was run on."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.errors import BadRequest
from sonde.results.provenance import Provenance

Pattern = NDArray[np.float32]
"""[T, T]: the weight that a position has for each key."""
Attend = Callable[[str | list[int], int, int], Pattern]
"""A prompt, a layer and a head, to the pattern there."""


class PromptPatterns(NamedTuple):
    """What one head attends to in both prompts of a sweep."""

    clean: Pattern
    corrupt: Pattern
    difference: Pattern | None
    """Clean minus corrupt; None where the prompts differ in length."""


def of_both(attend: Attend | None, provenance: Provenance, layer: int, head: int) -> PromptPatterns:
    """The patterns of a sweep's prompts; refused where its model is not in this process."""
    if attend is None:
        raise BadRequest(
            "this result has no model to ask: it was read from a file or came from a server; "
            f"load {provenance.model!r} and call its attention(prompt, layers=[{layer}], "
            f"heads=[{head}])"
        )
    request = provenance.request
    prompts = [
        request.get("clean", request.get("clean_prompt")),
        request.get("corrupt", request.get("prompt")),
    ]
    if prompts[0] is None:
        raise BadRequest("this sweep had no clean prompt; ask the model for its attention")
    clean, corrupt = (attend(each, layer, head) for each in prompts)  # type: ignore[arg-type]
    difference = clean - corrupt if clean.shape == corrupt.shape else None
    return PromptPatterns(clean, corrupt, difference)
