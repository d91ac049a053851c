"""Grading one completion: log-probabilities of the answer and the foil, and the metric of both.

The ids of answer and foil go out with every request, so that their rank does not matter. They come
back under their text; a text that could mean two tokens is an error, because either number would
look right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from sonde.schema import Metric
from sonde.schema.sweep import MIN_GAP

FLOOR = -9999.0
"""What the wire says for a probability of nothing."""

METRICS: Final[tuple[Metric, ...]] = get_args(Metric)


@dataclass(frozen=True)
class Graded:
    """A token that is graded."""

    text: str
    id: int


def logprobs_of(completion: Mapping[str, Any], tokens: Sequence[Graded]) -> list[float | None]:
    """The log-probability of each token as the first one generated; None where it is not said."""
    said = _first_token(completion)
    keys = [_key(said, token) for token in tokens]
    found = [key for key in keys if key is not None]
    if len(set(found)) < len(found):
        raise RuntimeError(
            f"the server writes {[token.text for token in tokens]} alike, as {found[0]!r}, so they "
            "cannot be told apart cell by cell; sweep with server_side=True"
        )
    return [None if key is None or said[key] <= FLOOR else said[key] for key in keys]


def _first_token(completion: Mapping[str, Any]) -> dict[str, float]:
    """Log-probabilities by text: those asked for, and the generated token's."""
    try:
        logprobs = completion["choices"][0]["logprobs"] or {}
    except (LookupError, TypeError) as error:
        raise RuntimeError(f"not a completion: {str(completion)[:200]}") from error
    top = (logprobs.get("top_logprobs") or [None])[0] or {}
    generated = zip(logprobs.get("tokens") or [], logprobs.get("token_logprobs") or [], strict=True)
    return {**dict(list(generated)[:1]), **top}


def _key(said: Mapping[str, float], token: Graded) -> str | None:
    """Under which text a token is listed: by its id, letter for letter, or but for blanks."""
    for key in (f"token_id:{token.id}", token.text):
        if key in said:
            return key
    alike = [key for key in said if key.strip() == token.text.strip() != ""]
    return alike[0] if len(alike) == 1 else None


@dataclass(frozen=True)
class Scale:
    """How log-probabilities of (answer, foil) become a metric; fixed before the first cell."""

    metric: Metric
    corrupt: float | None
    """Answer log-probability of the unpatched corrupt prompt."""
    clean: float | None
    """Answer log-probability of the clean prompt, when it is known."""

    @property
    def gap(self) -> float | None:
        """What `recovered` is a share of; None when there is no such thing."""
        if self.clean is None or self.corrupt is None:
            return None
        gap = self.clean - self.corrupt
        return gap if abs(gap) >= MIN_GAP else None

    def value(self, logprobs: Sequence[float | None]) -> float | None:
        """The metric of one run; None when a number for it is missing."""
        if self.metric != "recovered":
            return raw(self.metric, logprobs)
        answer = logprobs[0]
        if answer is None or self.corrupt is None or self.gap is None:
            return None
        return (answer - self.corrupt) / self.gap

    def noise_floor(self, once: float | None, again: float | None) -> float | None:
        """How far two raw baselines are from each other, in the metric's units."""
        if once is None or again is None:
            return None
        unit = abs(self.gap or 1.0) if self.metric == "recovered" else 1.0
        return abs(again - once) / unit

    def warnings(self) -> list[str]:
        """Why `recovered` is null everywhere, when it is."""
        if self.metric != "recovered" or self.gap is not None:
            return []
        return [
            f"'recovered' is null: it divides by clean - corrupt, and they are {self.clean} and "
            f"{self.corrupt}; choose prompts whose answers differ, or use metric 'logprob'"
        ]


def raw(metric: Metric, logprobs: Sequence[float | None]) -> float | None:
    """What a result shows as `clean` and `corrupt`: for `recovered`, log-probabilities."""
    answer = logprobs[0]
    if metric != "logit_diff" or answer is None:
        return answer
    foil = logprobs[1]
    return None if foil is None else answer - foil


def checked_metric(metric: str, foil: str | None) -> Metric:
    """A metric that exists, with the foil it needs."""
    for known in METRICS:
        if metric == known:
            break
    else:
        raise ValueError(f"metric {metric!r} is none of {', '.join(METRICS)}")
    if known == "logit_diff" and foil is None:
        raise ValueError("metric 'logit_diff' compares the answer with another word: foil_token")
    return known
