"""A recorded token of a run as a question that a server can be asked.

The page sends the request as it is to `POST /v1/sweeps`: what is tested, and on which weights, is
decided here once, as `sonde ablate` decides it.
"""

from sonde.schema.base import Wire
from sonde.schema.table import SweepRequest


class MomentToTest(Wire):
    """One moment: the token of a completion, what was said next, and the test of the features."""

    run: str
    generation_id: str
    step: int
    """The step that learned from it."""
    layer: int
    token: int
    """Which token of the completion was recorded; -1 is the last of the prompt."""
    after: str
    """The end of the prompt of the test, as text."""
    said: str
    """The token that was said next, which is the answer."""
    checkpoint: int
    why: str
    """Which checkpoint it is asked on, and why that one."""
    asked: int | None
    """The feature somebody asked about; it is tested whatever comes first."""
    request: SweepRequest
