"""What is wrong with a run directory, or with a run that would write one."""

from collections.abc import Sequence

from sonde.errors.base import EngineError, RequestError


class UnknownRun(RequestError):
    """A run directory that is not there, or is none."""

    def __init__(self, run: str, ask: str = "GET /api/runs") -> None:
        super().__init__(f"there is no run {run[:128]!r}; {ask} lists those there are")


class UnknownGeneration(RequestError):
    """A generation that is not in its run's file."""

    def __init__(self, generation: str, why: str) -> None:
        super().__init__(f"there is no generation {generation[:64]!r}: {why}")


class RunExists(RequestError):
    """A run directory that a fresh run must not write to. Nothing in it was changed."""

    def __init__(self, directory: str, found: str) -> None:
        super().__init__(
            f"{directory} already holds a run ({found}); resume it (--resume), set it aside "
            "(--archive; in a script SidecarCallback(existing='archive')), or choose another "
            "directory (--output-dir or SONDE_OUTPUT_DIR)"
        )


class RunInUse(RequestError):
    """A run directory that another process writes to."""

    def __init__(self, directory: str, holder: str) -> None:
        super().__init__(
            f"{directory} is being written by {holder}; wait for it, stop it, "
            "or choose another directory (--output-dir or SONDE_OUTPUT_DIR)"
        )


class ResumeDrift(RequestError):
    """What a run depends on has changed since it was begun."""

    def __init__(self, checkpoint: str, differences: Sequence[str]) -> None:
        self.differences = list(differences)
        super().__init__(
            f"cannot resume {checkpoint}: {'; '.join(differences)}. "
            "Put them back, or accept the change with --no-strict-resume"
        )


class MissingDictionary(RequestError):
    """A layer that was asked for and has no dictionary: a gap nobody would notice."""


class BadTrainer(RequestError):
    """A trainer, or a model, that the sidecar does not know how to read."""


class BadReward(RequestError):
    """A reward that cannot be loaded, or that returns something else than rewards."""


class SharedResource(RequestError):
    """A linked worktree about to use a directory or a port that the primary one uses."""


class RecordsLost(EngineError):
    """A run whose lines could not all be written. What is in its directory is whole and valid."""

    def __init__(self, directory: str, lost: str, why: str) -> None:
        super().__init__(
            f"{lost} of the run in {directory} could not be written ({why}) and are lost; make "
            "room, then go on from the last finished checkpoint with --resume to record them again"
        )


class AnalyticsFailed(EngineError):
    """What was read of a run could not be kept anywhere. The run itself was not touched."""

    def __init__(self, failures: Sequence[str]) -> None:
        super().__init__(
            f"records cannot be compacted: {'; '.join(failures)[:500]}; free some space, or point "
            "XDG_CACHE_HOME or TMPDIR to a disk that has some"
        )
