"""A verifier of one completion, as the reward function of a batch that TRL calls.

A verifier is any callable: `verify(prompt, completion, **columns)`, where columns are those of the
dataset. It returns a number, or `Scores`. One that raises gives R = 0 for that completion, which
counts as invalid; the run goes on, and the first error is logged with its traceback.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from sonde.errors import BadReward
from sonde.training.messages import text_of
from sonde.training.rewards.scores import INVALID, Scores

log = logging.getLogger("sonde.training")

Verifier = Callable[..., float | Scores]

HANDED_IN = ("trainer_state", "log_extra", "log_metric", "completion_ids", "environments")
"""What TRL passes along and a verifier of one completion has no use for."""


class RewardFunction:
    """Calls a verifier for each completion, and notes the parts of the reward."""

    def __init__(self, verify: Verifier, name: str = "R") -> None:
        self.__name__ = name
        self._verify = verify
        self._told = False

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], **given: Any
    ) -> list[float]:
        """Rewards of a batch, in order."""
        columns = {name: value for name, value in given.items() if name not in HANDED_IN}
        graded = [
            self._grade(text_of(prompt), text_of(completion), _row(columns, place))
            for place, (prompt, completion) in enumerate(zip(prompts, completions, strict=True))
        ]
        if (note := given.get("log_extra")) is not None:
            _note(note, graded)
        return [each.reward if isinstance(each, Scores) else each for each in graded]

    def _grade(self, prompt: str, completion: str, columns: dict[str, Any]) -> float | Scores:
        try:
            found = self._verify(prompt, completion, **columns)
        except BadReward:
            raise
        except Exception:  # whatever a plug-in raises, the run goes on
            if not self._told:
                log.warning("the verifier raised; R = 0 for %r", completion, exc_info=True)
            self._told = True
            return INVALID
        return found if isinstance(found, Scores) else float(found)


def _row(columns: dict[str, Any], place: int) -> dict[str, Any]:
    """What the columns hold for one completion."""
    return {name: values[place] for name, values in columns.items()}


def _note(log_extra: Callable[[str, list[Any]], None], graded: Sequence[float | Scores]) -> None:
    """Hand the parts to the trainer, which gathers them from all ranks; the sidecar reads them."""
    parts = [each if isinstance(each, Scores) else None for each in graded]
    if not any(each is not None for each in parts):
        return
    for column, name in (("R_A", "a"), ("R_B", "b"), ("R_C", "c"), ("R_D", "d")):
        log_extra(column, [None if each is None else float(getattr(each, name)) for each in parts])
    log_extra("invalid", [each is not None and each.invalid for each in parts])
