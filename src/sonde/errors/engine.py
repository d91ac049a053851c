"""What went wrong while a model was at work."""

from sonde.errors.base import EngineError


class BaselineFailed(EngineError):
    """The unpatched corrupt prompt could not be run."""


class CaptureFailed(EngineError):
    """The clean prompt could not be captured."""


class HookNeverFired(EngineError):
    """A patch whose site was not reached: no number may come of it."""


class ControlFailed(EngineError):
    """A control cell, which changes nothing by construction, changed something."""


class OutOfMemory(EngineError):
    """Not even one cell fits the memory that is left."""

    def __init__(self) -> None:
        super().__init__(
            "out of memory: there was not enough for a single cell; no number of this sweep was "
            "kept. Shorten the prompt, free memory, or take a smaller model or dtype"
        )


class EngineLost(EngineError):
    """A process that the model runs in has ended. No later work can succeed."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"the engine is lost: {' '.join(what.split())[:300]}. Start the server again"
        )


class WorkersLost(EngineError):
    """Workers of a study that died, again and again. Every pair that was done is kept."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{' '.join(what.split())[:500]}. What is done is kept; the same command goes on"
        )


class JobCancelled(EngineError):
    """A sweep or a completion that was stopped before its end."""

    def __init__(self, why: str = "cancelled before its end") -> None:
        super().__init__(why)
