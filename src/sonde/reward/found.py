"""What rewards of completions say of each feature: paired, prompt by prompt.

Every completion has a twin of the same prompt and the same random numbers without any change, and
one for each random direction. So what is tested are differences within a prompt: from nothing, and
from the mean of the random directions. Both are corrected over all features of the test.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sonde.schema.reward import RewardEffect, RewardFound
from sonde.statistics.effects import Effects, effects

SURE = 0.05
RESAMPLES, MEANWHILE = 10_000, 1_000
"""Resamples and flips: in the end, and of what is told on the way."""
Numbers = NDArray[np.float64]


def reward_found(
    labels: Mapping[int, str],
    without: Numbers,
    gates: Sequence[bool | None],
    changed: Mapping[int, Numbers],
    random: Mapping[int, Sequence[Numbers]],
    others: Mapping[int, int],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> RewardFound:
    """What is known of the features in `changed`: rewards of all prompts, without and with.

    `random` are the same of random directions; `others` counts completions that are others.
    """
    features = list(changed)
    tests = _tested([changed[f] - without for f in features], seed, resamples)
    beside = [f for f in features if random.get(f)]
    against = _tested([changed[f] - np.mean(random[f], axis=0) for f in beside], seed, resamples)
    found = []
    for place, feature in enumerate(features):
        own = _of(tests, place)
        far = _of(against, beside.index(feature)) if feature in beside else _Effect()
        found.append(
            RewardEffect(
                feature=feature,
                label=labels[feature],
                effect=float(np.mean(changed[feature] - without)),
                low=own.low,
                high=own.high,
                p=own.p,
                p_alone=own.p_alone,
                changed=others[feature],
                random=[float(np.mean(each - without)) for each in random.get(feature, ())],
                beyond=far.mean,
                beyond_low=far.low,
                beyond_high=far.high,
                p_random=far.p,
            )
        )
    known = [gate for gate in gates if gate is not None]
    ranked = sorted(found, key=lambda each: (-abs(each.effect), each.feature))
    return RewardFound(
        verdict=verdict(ranked, float(without.mean())),
        reward=float(without.mean()),
        gate=None if len(known) < len(gates) or not known else float(np.mean(known)),
        prompts=len(without),
        effects=ranked,
    )


def matters(each: RewardEffect) -> bool:
    """Whether the reward hangs on it, by both tests: from nothing, and from random directions."""
    if each.p is None or each.p > SURE or each.p_random is None or each.p_random > SURE:
        return False
    return each.beyond is not None and each.beyond * each.effect > 0


def verdict(ranked: Sequence[RewardEffect], reward: float) -> str:
    """What it comes to, in one sentence."""
    if not ranked:
        return "Nothing is known yet."
    sure = [each for each in ranked if matters(each)]
    if sure:
        first = sure[0]
        more = f", and on {', '.join(each.label for each in sure[1:])}" if sure[1:] else ""
        return (
            f"The reward hangs on {first.label}{more}: with it changed, R goes from {reward:.2f} "
            f"to {reward + first.effect:.2f} ({_told(first)}), {_further(first)}."
        )
    first = ranked[0]
    tested = f"None of the {len(ranked)} features tested" if len(ranked) > 1 else first.label
    if not any(each.random for each in ranked):
        if first.p is not None and first.p <= SURE:
            return (
                f"The reward moves with {first.label}, by {_told(first)}; no random directions "
                "stand beside it, so any change as large may do as much."
            )
        return f"{_does_not(len(ranked), tested)} move the reward; the most is {_told(first)}."
    return (
        f"{_does_not(len(ranked), tested)} move the reward beyond chance and beyond random "
        f"directions as long; the most is {first.label}, {_told(first)}"
        f"{_beside(first)}."
    )


def _does_not(n: int, tested: str) -> str:
    return f"{tested} is seen to" if n > 1 else f"{tested} is not seen to"


def _told(each: RewardEffect) -> str:
    """−0.33 [−0.42, −0.24], p 0.0003"""
    interval = (
        ""
        if each.low is None or each.high is None
        else f" [{_signed(each.low)}, {_signed(each.high)}]"
    )
    p = "" if each.p is None else f", p {_p(each.p)}"
    return f"{_signed(each.effect)}{interval}{p}"


def _further(each: RewardEffect) -> str:
    mean = float(np.mean(each.random))
    assert each.p_random is not None
    return f"{_signed(mean)} with random directions as long (p {_p(each.p_random)})"


def _beside(each: RewardEffect) -> str:
    if not each.random:
        return ""
    p = "" if each.p_random is None else f", p {_p(each.p_random)}"
    return f", beside {_signed(float(np.mean(each.random)))} with random directions{p}"


def _p(value: float) -> str:
    return f"{value:.2g}"


def _signed(value: float) -> str:
    text = f"{value:+.2f}"
    return "0" if float(text) == 0 else text.replace("-", "−")


class _Effect:
    """Mean, interval and p of one column; all None where it was not tested."""

    def __init__(
        self,
        mean: float | None = None,
        low: float | None = None,
        high: float | None = None,
        p: float | None = None,
        p_alone: float | None = None,
    ) -> None:
        self.mean, self.low, self.high, self.p, self.p_alone = mean, low, high, p, p_alone


def _tested(
    columns: Sequence[Numbers], seed: int, resamples: int
) -> tuple[Effects, Numbers] | None:
    if not columns:
        return None
    values = np.stack(columns, axis=1)
    return effects(values, seed=seed, resamples=resamples, flips=resamples), values


def _of(tested: tuple[Effects, Numbers] | None, place: int) -> _Effect:
    """One column. Where all numbers are the same, so is every mean of them."""
    if tested is None:
        return _Effect()
    found, values = tested
    column = values[:, place]
    mean = float(column.mean())
    if (column == column[0]).all():
        same = float(column[0])
        return _Effect(same, same, same, found.p[place], found.p_alone[place])
    return _Effect(mean, found.low[place], found.high[place], found.p[place], found.p_alone[place])
