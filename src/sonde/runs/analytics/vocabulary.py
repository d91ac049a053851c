"""The vocabulary: features that generations which pass the gate keep using, and failed ones do not.

1. **Window**  all generations with a gate; or the last n passed ones, and the others from their
   first step on.
2. **Presence** which generation has which feature (`presence`). Features that the same generations
   have are one pattern of use, and one line.
3. **Sustain** features of at least m of those n.
4. **Test**    against gates dealt at random within groups (`permutation`), over every pattern that
   m generations of the window have and that could come out at all: where a feature is in all
   generations of a group, or in none, no dealing of its gates tells anything. Which patterns these
   are does not depend on the gates, so choosing them leaves p as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sonde.errors import RequestTooLarge
from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.generations import PASSED, UNGATED, present
from sonde.runs.analytics.presence import Presence, Whole, Window, presence
from sonde.runs.analytics.scatter import NO_GENERATIONS
from sonde.schema.analytics import FeatureName, Vocabulary, VocabularyFeature
from sonde.statistics.permutation import adjusted, chances, folds, least, normal_chances

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SHARE = 0.75
"""What m is of the n of a window where nobody says."""
SHARE_OF_RUN = 0.1
"""The same of a whole run, in whose course a policy takes features up and drops them."""
EVERYWHERE = 0.95
"""Features in more than this share of the generations are set apart."""
BUDGET = 2**29
BYTES = 1024
"""What a record takes while features are counted. Of a run with more than fit, the newest are."""
EXACT = 2**31
"""Products that exact chances may take; beyond, the normal distribution serves."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Tested:
    """What gates dealt at random say of each pattern."""

    p: Numbers | None = None
    q: Numbers | None = None
    """NaN for what is in no family."""
    family: int = 0
    least_q: float | None = None
    exact: bool = True
    why_not: str | None = None


def vocabulary(
    known: RunContents,
    cursor: "DuckDBPyConnection",
    layer: int | None = None,
    *,
    n: int | None = None,
    m: int | None = None,
    min_tokens: int = 1,
    rate: float = 0.05,
    limit: int = 200,
) -> Vocabulary:
    """Features sustained over at least m of the last n passed generations; of all without n."""
    question = ("vocabulary", layer, n, m, min_tokens, rate, limit)
    return known.once(
        question, lambda: _vocabulary(known, cursor, layer, n, m, min_tokens, rate, limit)
    )


def _vocabulary(
    known: RunContents,
    cursor: "DuckDBPyConnection",
    layer: int | None,
    n: int | None,
    m: int | None,
    min_tokens: int,
    rate: float,
    limit: int,
) -> Vocabulary:
    there = np.zeros(len(known.generations.rows), bool)
    there[known.losses(cursor)["generation"]] = True
    there &= known.generations.once
    window = _window(known, there, n)
    share = SHARE_OF_RUN if n is None else SHARE
    n = int(window.last.sum())
    m = m if m is not None else max(1, ceil(share * n))
    why = _why_not(known, n, m)
    if why is not None:
        return _answer(known, layer, window, m, min_tokens, rate, Tested(), why=why)
    layers = known.layers if layer is None else [layer]
    has = presence(known, cursor, window, layers, min_tokens, m)
    patterns = has.patterns()
    tested = _tested(has, [rows[0] for rows in patterns], window, rate)
    lines = sorted(_lines(has, patterns, window, m, tested), key=_rank)
    why = None if lines else f"no feature is in {m} of the last {n} passed generations"
    return _answer(known, layer, window, m, min_tokens, rate, tested, lines, why, limit)


def _window(known: RunContents, there: NDArray[np.bool_], n: int | None) -> Window:
    """The generations to compare, of those that were recorded."""
    rows = known.generations.rows
    passed = np.flatnonzero((rows["gate"] == PASSED) & there)
    passed = passed if n is None else passed[-n:]
    first = 0 if n is None or not len(passed) else int(rows["step"][passed[0]])
    steps, needed = _bytes_back_to(known)
    affordable = steps[needed <= BUDGET]
    if len(affordable) < len(steps) and first < affordable.min(initial=steps[0] + 1):
        if n is not None:
            most = int(needed[steps >= first].max())
            raise RequestTooLarge("looking back so far", most, BUDGET, "ask for a smaller n")
        first = int(affordable.min(initial=steps[0] + 1))
        passed = passed[rows["step"][passed] >= first]
    places = np.flatnonzero((rows["step"] >= first) & (rows["gate"] != UNGATED) & there)
    places = places if len(passed) else places[:0]
    steps = rows["step"][places]
    return Window(
        places,
        rows["gate"][places] == PASSED,
        rows["group"][places],
        np.isin(places, passed),
        (int(steps[0]), int(steps[-1])) if len(places) else (0, 0),
        whole=bool(len(places)) and len(places) == int(((rows["gate"] != UNGATED) & there).sum()),
    )


def _bytes_back_to(known: RunContents) -> tuple[Whole, Whole]:
    """Steps, the newest first, and what looking back to each takes for one layer."""
    found = [np.zeros((2, 0), np.int64)]
    for part in known.parts:
        of_layers = [part.layers[part.layers["layer"] == layer] for layer in known.layers]
        fullest = max(of_layers, key=lambda each: int(each["records"].sum()))
        found.append(np.stack([part.bins["step"][fullest["bin"]], fullest["records"]]))
    step, records = np.concatenate(found, axis=1)
    steps, place = np.unique(step, return_inverse=True)
    of_step = np.bincount(place, records, len(steps)).astype(np.int64)
    return steps[::-1], np.cumsum(of_step[::-1]) * BYTES


def _why_not(known: RunContents, n: int, m: int) -> str | None:
    if not known.generations.there:
        return NO_GENERATIONS
    if not len(known.generations.rows):
        return "there are no generations yet"
    if (known.generations.rows["gate"] == UNGATED).all():
        return "no generation says whether it passed: its reward has no gate"
    if n == 0:
        return "no generation has passed the gate yet"
    if m > n:
        return f"only {n} generations have passed the gate so far, and m is {m}"
    return None


def _tested(has: Presence, rows: list[int], window: Window, rate: float) -> Tested:
    """Chances of every pattern, from the groups that have both passed and failed generations."""
    if not rows:
        return Tested(why_not="there is no pattern of use to test")
    names, place = np.unique(window.group, return_inverse=True)
    sizes = np.bincount(place, minlength=len(names))
    passed = np.bincount(place[window.passed], minlength=len(names))
    mixed = np.flatnonzero((passed > 0) & (passed < sizes))
    if not len(mixed):
        return Tested(why_not="no group of the window has both passed and failed generations")
    number = np.full(len(names), -1)
    number[mixed] = np.arange(len(mixed))
    kind = number[place]
    with_it = has.by(kind, len(mixed))[rows]
    seen = has.among(window.passed & (kind >= 0))[rows]
    exact = folds(len(rows), passed[mixed]) <= EXACT
    p = (chances if exact else normal_chances)(with_it, seen, passed[mixed], sizes[mixed])
    reachable = least(with_it, passed[mixed], sizes[mixed])
    able = reachable <= rate
    q = np.full(len(rows), np.nan)
    q[able] = adjusted(p[able])
    least_q = float(adjusted(reachable[able]).min()) if able.any() else None
    why_not = None
    if least_q is None:
        why_not = (
            f"{len(mixed)} of {len(names)} groups have both passed and failed generations: too few "
            f"for any feature to reach {rate:g}"
        )
    return Tested(p, q, int(able.sum()), least_q, exact, why_not)


def _lines(
    has: Presence, patterns: list[list[int]], window: Window, m: int, tested: Tested
) -> list[VocabularyFeature]:
    sustained = has.among(window.last)
    passed_with, failed_with = has.among(window.passed), has.among(~window.passed)
    passed, failed = int(window.passed.sum()), int((~window.passed).sum())

    def line(number: int, rows: list[int]) -> VocabularyFeature:
        row, *others = sorted(rows, key=lambda each: -np.nan_to_num(has.activation[each]))
        return VocabularyFeature(
            **_name(has, row),
            same=[FeatureName(**_name(has, other)) for other in others],
            sustained=int(sustained[row]),
            passed_with=int(passed_with[row]),
            failed_with=int(failed_with[row]),
            lift=_lift(int(passed_with[row]), passed, int(failed_with[row]), failed),
            p=None if tested.p is None else float(tested.p[number]),
            q=None if tested.q is None else present(tested.q[number]),
            activation=present(has.activation[row]),
        )

    each = enumerate(patterns)
    return [line(number, rows) for number, rows in each if sustained[rows[0]] >= m]


def _name(has: Presence, row: int) -> dict[str, int]:
    return {"layer": int(has.layer[row]), "feature": int(has.feature[row])}


def _lift(passed_with: int, passed: int, failed_with: int, failed: int) -> float | None:
    return (passed_with / passed) / (failed_with / failed) if failed_with else None


def _rank(feature: VocabularyFeature) -> tuple[float, ...]:
    lift = feature.lift if feature.lift is not None else np.inf
    q = feature.q if feature.q is not None else 1.0
    return (q, -lift, -feature.sustained, feature.layer, feature.feature)


def _answer(
    known: RunContents,
    layer: int | None,
    window: Window,
    m: int,
    min_tokens: int,
    rate: float,
    tested: Tested,
    lines: Sequence[VocabularyFeature] = (),
    why: str | None = None,
    limit: int = 0,
) -> Vocabulary:
    groups = window.group
    both = np.intersect1d(groups[window.passed], groups[~window.passed])
    most = EVERYWHERE * len(groups)
    apart = [line for line in lines if line.passed_with + line.failed_with > most]
    telling = [line for line in lines if line.passed_with + line.failed_with <= most]
    n = int(window.last.sum())
    return Vocabulary(
        coverage=known.coverage,
        layer=layer,
        n=n,
        m=m,
        min_tokens=min_tokens,
        whole=window.whole,
        first_step=window.steps[0] if n else None,
        last_step=window.steps[1] if n else None,
        passed=int(window.passed.sum()),
        failed=int((~window.passed).sum()),
        groups=len(np.unique(groups)),
        mixed_groups=len(both),
        family=tested.family,
        least_q=tested.least_q,
        significant=sum(line.q is not None and line.q <= rate for line in lines),
        rate=rate,
        exact=tested.exact,
        total=len(telling),
        features=telling[:limit],
        everywhere_total=len(apart),
        everywhere=apart[:limit],
        reason=why,
        reason_p=tested.why_not,
    )
