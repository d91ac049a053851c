"""Whether a run that says it is running still has its trainer. One that was killed cannot say so.

Where the trainer was on this machine, the kernel knows: the lock goes with its process. Elsewhere
only silence tells, and how long a silence means something depends on what a step takes.
"""

import shlex
import socket
from typing import Final

from sonde.runs.layout import RunLayout
from sonde.runs.lock import holder, last_holder
from sonde.runs.pulse import Pulse
from sonde.schema.records import RunInfo
from sonde.schema.runs import Unended

STEPS: Final = 3
"""So many steps' time without a word, and the trainer is taken to be gone."""
AT_LEAST: Final = 10.0
"""Clocks of two machines differ, and files are seen late across a network."""
UNKNOWN_PACE: Final = 3600.0
"""Where it is not known what a step takes: models may take long to load."""


def unended(layout: RunLayout, info: RunInfo | None, pulse: Pulse, now: float) -> Unended | None:
    """How a run that says `running` ended all the same; None while there is a trainer."""
    if info is None or info.status != "running":
        return None
    why = _why(layout, pulse, now)
    if why is None:
        return None
    resume, command = how_to_resume(layout, info)
    return Unended(step=pulse.step, since=pulse.sign, why=why, resume=resume, command=command)


def _why(layout: RunLayout, pulse: Pulse, now: float) -> str | None:
    writer = last_holder(layout.directory)
    if writer is not None and writer.host == socket.gethostname():
        if holder(layout.directory) is not None:
            return None
        return f"its process ({writer.process}, on this machine) is gone"
    silent = now - (pulse.sign or 0.0)
    if pulse.step_seconds is None:
        return _silence(silent, None) if silent > UNKNOWN_PACE else None
    limit = max(AT_LEAST, STEPS * pulse.step_seconds)
    return _silence(silent, pulse.step_seconds) if silent > limit else None


def _silence(seconds: float, step: float | None) -> str:
    said = f"nothing was written for {_time(seconds)}"
    return said if step is None else f"{said}, and a step takes {_time(step)}"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def how_to_resume(layout: RunLayout, info: RunInfo) -> tuple[str, bool]:
    """What goes on with a run, and whether that is a command."""
    if info.preset is None and info.task is None:
        return (
            "the script that began it, with trainer.train(resume_from_checkpoint=True)",
            False,
        )
    words = ["sonde", "train"]
    if info.preset is not None:
        words += ["--policy-preset", info.preset]
    words += ["--output-dir", str(layout.directory), "--resume"]
    if info.max_steps is not None:
        words += ["--max-steps", str(info.max_steps)]
    if info.seed:
        words += ["--seed", str(info.seed)]
    return shlex.join(words), True
