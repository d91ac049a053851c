"""The vocabulary: features that generations which pass the gate keep using, and failed ones do not.

1. **Window**  the last n passed generations, and all others with a gate from their first step on.
2. **Presence** which generation has which feature: one statement over the records of those steps.
3. **Sustain** features of at least m of those n.
4. **Test**    against gates dealt at random within groups (`permutation`), over every feature that
   m generations of the window have. That family does not depend on the gates, so choosing it
   leaves p as it is.
"""

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sonde.errors import RequestTooLarge
from sonde.runs.analytics.analysis import Known
from sonde.runs.analytics.database import arrays
from sonde.runs.analytics.featuresums import counted, places_of
from sonde.runs.analytics.generations import PASSED, UNGATED, present
from sonde.runs.analytics.losses import register
from sonde.runs.analytics.parts import Part
from sonde.runs.analytics.permutation import adjusted, chances
from sonde.runs.analytics.scatter import NO_GENERATIONS
from sonde.schema.analytics import Vocabulary, VocabularyFeature

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SHARE = 0.75
"""What m is of n where nobody says."""
MOST = 256
"""Passed generations that can be looked back on."""
BUDGET = 2**29
BYTES = 640
"""What a record takes while its features are counted, and what those of one layer may take."""

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Window:
    """Generations to compare, by their place in the run."""

    places: Whole
    passed: NDArray[np.bool_]
    group: Whole
    last: NDArray[np.bool_]
    """Which of them are the last n passed ones."""
    steps: tuple[int, int]


@dataclass(frozen=True)
class Presence:
    """Features of the window, and in which generations they are."""

    layer: Whole
    feature: Whole
    has: NDArray[np.bool_]
    """[features, generations]"""
    activation: NDArray[np.float64]
    """Mean over the tokens of passed generations; NaN where there are none."""


def vocabulary(
    known: Known,
    cursor: "DuckDBPyConnection",
    layer: int | None = None,
    *,
    n: int = 64,
    m: int | None = None,
    min_tokens: int = 1,
    rate: float = 0.05,
    limit: int = 200,
) -> Vocabulary:
    """Features sustained over at least m of the last n passed generations."""
    there = np.zeros(len(known.generations.rows), bool)
    there[known.losses(cursor)["generation"]] = True
    window = _window(known, there, min(n, MOST))
    n = int(window.last.sum())
    m = m if m is not None else max(1, ceil(SHARE * n))
    why = _why_not(known, n, m)
    if why is not None:
        return _answer(known, layer, window, n, m, min_tokens, rate, [], 0, why, None)
    layers = known.layers if layer is None else [layer]
    presence = _presence(known, cursor, window, layers, min_tokens, m)
    p, why_no_p = _p(presence, window)
    features = _features(presence, window, m, p)
    ranked = sorted(features, key=_rank)
    return _answer(
        known,
        layer,
        window,
        n,
        m,
        min_tokens,
        rate,
        ranked,
        len(presence.feature),
        None if ranked else f"no feature is in {m} of the last {n} passed generations",
        why_no_p,
        limit,
    )


def _window(known: Known, there: NDArray[np.bool_], n: int) -> Window:
    """The generations to compare, of those that were recorded."""
    rows = known.generations.rows
    passed = np.flatnonzero((rows["gate"] == PASSED) & there)[-n:]
    first = int(rows["step"][passed[0]]) if len(passed) else 0
    places = np.flatnonzero((rows["step"] >= first) & (rows["gate"] != UNGATED) & there)
    places = places if len(passed) else places[:0]
    last = int(rows["step"][places[-1]]) if len(places) else 0
    return Window(
        places,
        rows["gate"][places] == PASSED,
        rows["group"][places],
        np.isin(places, passed),
        (first, last),
    )


def _why_not(known: Known, n: int, m: int) -> str | None:
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


def _presence(
    known: Known,
    cursor: "DuckDBPyConnection",
    window: Window,
    layers: list[int],
    min_tokens: int,
    m: int,
) -> Presence:
    """Which generation of the window has which feature, of those that m generations have.

    A layer at a time, so that memory holds the features of one.
    """
    records = _records(known, window)
    register(cursor, known.generations.spans[window.places])
    each = []
    for layer in layers if records else ():
        found = arrays(
            cursor,
            f"""
            SELECT generation::INTEGER AS generation, unnest(features) AS feature,
                   unnest(activations) AS activation
            FROM (SELECT * FROM ({records}) WHERE layer = {layer:d}) AS records
            ASOF JOIN spans
            ON records.step = spans.step AND records.token_index >= spans.token_start
            WHERE token_index < token_end
            """,
        )
        each.append(_pivoted(layer, found, window, min_tokens, m))
    empty = np.zeros(0, np.int64)
    nothing = Presence(empty, empty, np.zeros((0, len(window.places)), bool), np.zeros(0))
    columns = zip(*(vars(one).values() for one in (nothing, *each)), strict=True)
    return Presence(*(np.concatenate(column) for column in columns))


def _records(known: Known, window: Window) -> str:
    """The statement for the records of the window; empty where there are none."""
    first, last = window.steps
    parts = [part for part in known.parts if part.first_step <= last and part.last_step >= first]
    needed = sum(_most_records(part, first, last) for part in parts) * BYTES
    if needed > BUDGET:
        raise RequestTooLarge(
            "looking back so far", needed, BUDGET, "ask for fewer generations (a smaller n)"
        )
    chosen = f"step BETWEEN {first:d} AND {last:d}"
    each = (f"SELECT * FROM (SELECT * {part.records_from}) WHERE {chosen}" for part in parts)
    return " UNION ALL ".join(each)


def _most_records(part: Part, first: int, last: int) -> int:
    """Records that one layer has in these steps, at most."""
    steps = part.bins["step"][part.layers["bin"]]
    rows = part.layers[(steps >= first) & (steps <= last)]
    layers = np.unique(rows["layer"])
    return max((int(rows["records"][rows["layer"] == n].sum()) for n in layers), default=0)


def _pivoted(
    layer: int, found: dict[str, Any], window: Window, min_tokens: int, m: int
) -> Presence:
    """One row a feature; found has one for each token and feature of a layer.

    What is in fewer than m tokens is in fewer than m generations, and goes first.
    """
    whole = np.ma.getmaskarray(found["feature"])
    feature = np.ma.getdata(found["feature"])[~whole]
    generation, activation = found["generation"][~whole], found["activation"][~whole]
    names, tokens = counted(feature)
    names = names[tokens >= m * min_tokens]
    kept = np.isin(feature, names)
    row = places_of(names)(feature[kept])
    generation, activation = generation[kept], activation[kept]
    shape = (len(names), len(window.places))
    cells = np.bincount(row * shape[1] + generation, minlength=shape[0] * shape[1])
    has = cells.reshape(shape) >= min_tokens
    passed = window.passed[generation] & has[row, generation] & ~np.ma.getmaskarray(activation)
    added = np.bincount(row[passed], np.ma.getdata(activation)[passed], shape[0])
    count = np.bincount(row[passed], minlength=shape[0])
    mean = np.divide(added, count, out=np.full(shape[0], np.nan), where=count > 0)
    family = has.sum(axis=1) >= m
    return Presence(np.full(int(family.sum()), layer), names[family], has[family], mean[family])


def _p(presence: Presence, window: Window) -> tuple[NDArray[np.float64] | None, str | None]:
    """Chances of every feature, from the groups that have both passed and failed generations."""
    names, place = np.unique(window.group, return_inverse=True)
    sizes = np.bincount(place, minlength=len(names))
    passed = np.bincount(place[window.passed], minlength=len(names))
    mixed = np.flatnonzero((passed > 0) & (passed < sizes))
    if not len(mixed):
        return None, "no group of the window has both passed and failed generations"
    member = place[:, None] == mixed[None, :]
    has = presence.has.astype(np.float32)
    with_it = (has @ member).astype(np.int64)
    seen = (has @ (member & window.passed[:, None])).sum(axis=1).astype(np.int64)
    return chances(with_it, seen, passed[mixed], sizes[mixed]), None


def _features(
    presence: Presence, window: Window, m: int, p: NDArray[np.float64] | None
) -> list[VocabularyFeature]:
    q = None if p is None else adjusted(p)
    sustained = presence.has[:, window.last].sum(axis=1)
    passed_with = presence.has[:, window.passed].sum(axis=1)
    failed_with = presence.has[:, ~window.passed].sum(axis=1)
    passed, failed = int(window.passed.sum()), int((~window.passed).sum())
    return [
        VocabularyFeature(
            layer=int(presence.layer[row]),
            feature=int(presence.feature[row]),
            sustained=int(sustained[row]),
            passed_with=int(passed_with[row]),
            failed_with=int(failed_with[row]),
            lift=_lift(int(passed_with[row]), passed, int(failed_with[row]), failed),
            p=None if p is None else float(p[row]),
            q=None if q is None else float(q[row]),
            activation=present(presence.activation[row]),
        )
        for row in np.flatnonzero(sustained >= m)
    ]


def _lift(passed_with: int, passed: int, failed_with: int, failed: int) -> float | None:
    return (passed_with / passed) / (failed_with / failed) if failed_with else None


def _rank(feature: VocabularyFeature) -> tuple[float, ...]:
    lift = feature.lift if feature.lift is not None else np.inf
    q = feature.q if feature.q is not None else 1.0
    return (q, -lift, -feature.sustained, feature.layer, feature.feature)


def _answer(
    known: Known,
    layer: int | None,
    window: Window,
    n: int,
    m: int,
    min_tokens: int,
    rate: float,
    features: list[VocabularyFeature],
    family: int,
    why: str | None,
    why_no_p: str | None,
    limit: int = 0,
) -> Vocabulary:
    groups = window.group
    both = np.intersect1d(groups[window.passed], groups[~window.passed])
    return Vocabulary(
        coverage=known.coverage,
        layer=layer,
        n=n,
        m=m,
        min_tokens=min_tokens,
        first_step=window.steps[0] if n else None,
        last_step=window.steps[1] if n else None,
        passed=int(window.passed.sum()),
        failed=int((~window.passed).sum()),
        mixed_groups=len(both),
        family=family,
        significant=sum(feature.q is not None and feature.q <= rate for feature in features),
        rate=rate,
        total=len(features),
        features=features[:limit],
        reason=why,
        reason_p=why_no_p,
    )
