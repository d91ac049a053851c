"""How much of the model a circuit is: circuits of many sizes, run on many prompt pairs.

1. **Lay out**  the edges of every circuit: by each rule, at random, and all that is not in them.
2. **Run**      them pair by pair, with the empty circuit, the whole model, and the whole model put
                together edge by edge, as a control (`Backend.mix`).
3. **Divide**   means first: how much of the gap between the empty circuit and the model each wins.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sonde.backends.base import Backend, Mixture
from sonde.engine.answers import mistake
from sonde.engine.candidates import Candidate, candidates, one_setting
from sonde.engine.controls import TOLERANCE
from sonde.engine.plan import Limits
from sonde.engine.setting import Setting, grades
from sonde.engine.wired import Bools, Edges, check_model, sizes_of
from sonde.errors import BadRequest, ControlFailed
from sonde.schema.circuit import (
    CircuitCurve,
    CircuitEvent,
    CircuitMetric,
    CircuitPair,
    CircuitRequest,
    CircuitRule,
    CircuitSummary,
    CurvePoint,
    Share,
)
from sonde.schema.table import DroppedPair, SweepRequest
from sonde.statistics.effects import Effects, effects

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class _CurvePoint:
    """Where a circuit stands in the curves."""

    rule: CircuitRule | Literal["random"]
    size: int
    edges: int
    faithful: int
    """Number of the row that has its edges; of the row that has all others."""
    complete: int


@dataclass(frozen=True)
class _Laid:
    """All circuits that are run, each once: the empty one is row 0 and the full one row 1."""

    rows: Bools
    places: list[_CurvePoint]


def evaluate(
    backend: Backend, request: CircuitRequest, *, limits: Limits | None = None
) -> Iterator[CircuitEvent]:
    """Run a circuit, and smaller ones of its strongest edges, on every pair that is fit."""
    began = time.perf_counter()
    limits = limits or Limits()
    model = backend.describe()
    edges = Edges(request.circuit, check_model(request.circuit, model))
    laid = _laid_out(edges, request)
    metric = _metric(request)
    asked = candidates(backend, _sweep(request, metric), limits, None)
    dropped, told, noise = list(asked.dropped), [], [0.0]
    clusters: list[str | None] = []
    for candidate in asked.fit:
        found = _one_pair(backend, asked.request, candidate, laid.rows, metric, limits)
        if isinstance(found, str):
            dropped.append(DroppedPair(pair=candidate.number, reason=found))
        else:
            told.append(found.values)
            noise.append(found.noise)
            clusters.append(candidate.pair.cluster)
        done = len(told) + len(dropped)
        yield CircuitPair(done=done, of=len(request.pairs), seconds=time.perf_counter() - began)
    if not told:
        first = "; ".join(f"pair {each.pair}: {each.reason}" for each in dropped[:3])
        raise BadRequest(f"none of {len(request.pairs)} pairs can be run: {first}")
    values = np.array(told)
    statistics = effects(
        values - values[:, :1],
        denominators=values[:, 1] - values[:, 0],
        clusters=clusters if any(clusters) else None,
        seed=request.seed,
        flips=1000,
    )
    circuit = request.circuit
    rules: list[CircuitRule | Literal["random"]] = [*dict.fromkeys(request.rules)]
    if request.random:
        rules.append("random")
    yield CircuitSummary(
        kind="edges" if edges.of_edges else "nodes",
        size=edges.held,
        of=edges.of,
        metric=metric,
        curves=[_curve(rule, laid, statistics, edges.of) for rule in rules],
        outside=float(values[:, 0].mean()),
        inside=float(values[:, 1].mean()),
        pairs=len(values),
        clusters=statistics.clusters,
        dropped=sorted(dropped, key=lambda each: each.pair),
        noise_floor=max(noise),
        circuits=len(laid.rows),
        seconds=time.perf_counter() - began,
        warnings=[*asked.warnings, *_warnings(request, model.weights, statistics)],
        digest=circuit.digest,
    )


def check_circuit(
    backend: Backend, request: CircuitRequest, *, limits: Limits | None = None
) -> None:
    """Raise what is wrong with a request: the model runs nothing."""
    edges = Edges(request.circuit, check_model(request.circuit, backend.describe()))
    _laid_out(edges, request)
    candidates(backend, _sweep(request, _metric(request)), limits or Limits(), None)


def _metric(request: CircuitRequest) -> CircuitMetric:
    if request.metric is not None:
        return request.metric
    return "logit_diff" if all(pair.foil is not None for pair in request.pairs) else "logprob"


def _sweep(request: CircuitRequest, metric: CircuitMetric) -> SweepRequest:
    """The same pairs as a sweep has them, to be checked as a sweep checks them."""
    return SweepRequest(
        pairs=request.pairs, metric=metric, drop_wrong=request.drop_wrong, positions="together"
    )


def _laid_out(edges: Edges, request: CircuitRequest) -> _Laid:
    """Every circuit that is run, once, and where it stands."""
    sizes = sizes_of(request.sizes, edges.held, edges.of)
    number: dict[bytes, int] = {}
    rows: list[Bools] = []

    def row(run: Bools) -> int:
        key = np.packbits(run).tobytes()
        if key not in number:
            number[key] = len(rows)
            rows.append(run)
        return number[key]

    row(np.zeros(edges.n_edges, dtype=bool))
    row(np.ones(edges.n_edges, dtype=bool))
    orders: list[tuple[CircuitRule | Literal["random"], list[int]]] = [
        (rule, edges.ordered(rule)) for rule in dict.fromkeys(request.rules)
    ]
    if request.random:
        orders.append(("random", edges.drawn(request.seed)))
    places = []
    for rule, order in orders:
        for size in sizes:
            run = edges.run(order[:size])
            places.append(_CurvePoint(rule, size, int(run.sum()), row(run), row(~run)))
    return _Laid(np.array(rows), places)


@dataclass(frozen=True)
class _Pair:
    """What one pair gave: the metric of every circuit."""

    values: Numbers
    noise: float


def _one_pair(
    backend: Backend,
    request: SweepRequest,
    candidate: Candidate,
    rows: Bools,
    metric: CircuitMetric,
    limits: Limits,
) -> _Pair | str:
    """All circuits of one pair, or why it has no place."""
    with ExitStack() as cleanup:
        setting = one_setting(backend, request, candidate.pair, limits, cleanup)
        outside, inside = setting.corrupt, setting.clean
        assert inside is not None
        if len(outside) != len(inside):
            return (
                f"its prompts have {len(inside)} and {len(outside)} tokens, and a receiver adds up "
                "what both send: they need one length"
            )
        graded, _ = grades(setting)
        clean = graded.clean
        assert clean is not None
        if request.drop_wrong and (wrong := mistake(clean, graded.corrupt)) is not None:
            return wrong
        told = _told(setting, rows)
        readings = [setting.question.read(list(each)) for each in zip(*told, strict=True)]
        each = [graded.of(metric, reading) for reading in readings]
        ends = [graded.of(metric, graded.corrupt), graded.of(metric, clean)]
        if any(value is None for value in [*each, *ends]):
            return f"{metric} is not a finite number in one of its circuits"
        *values, control = np.array(each, dtype=np.float64)
        known = np.array(ends, dtype=np.float64)
        away = [control - values[1], values[0] - known[0], values[1] - known[1]]
        noise = float(np.abs(away).max())
        _judge(noise, setting)
        return _Pair(np.array(values), noise)


def _told(setting: Setting, rows: Bools) -> list[list[list[float]]]:
    """What every variant's circuits tell, and last the control: [variants][rows][columns]."""
    question, n = setting.question, len(setting.corrupt)
    control = len(rows)
    every = np.concatenate([rows, rows[1:2]])
    asked = [
        Mixture(
            [*setting.corrupt, *variant],
            [*(setting.clean or []), *variant],
            every,
            question.readout(variant, n, setting.told()),
            frozenset([control]),
        )
        for variant in question.variants
    ]
    out: list[list[list[float]]] = [[[] for _ in every] for _ in asked]
    for scores in setting.backend.mix(asked):
        for row, values in zip(scores.rows, scores.values.tolist(), strict=True):
            out[scores.work][row] = values
    return out


def _judge(noise: float, setting: Setting) -> None:
    allowed = TOLERANCE[setting.model.dtype]
    if not noise <= allowed:
        raise ControlFailed(
            f"the model put together edge by edge differs from the model by {noise:.3g} (allowed: "
            f"{allowed:g}); no number of this circuit can be trusted"
        )


def _curve(
    rule: CircuitRule | Literal["random"], laid: _Laid, found: Effects, of: int
) -> CircuitCurve:
    places = [place for place in laid.places if place.rule == rule]
    points = [
        CurvePoint(
            size=place.size,
            share=place.size / of,
            edges=place.edges,
            faithfulness=_share(found, place.faithful),
            completeness=_share(found, place.complete),
        )
        for place in places
    ]
    cpr, cmd = areas(
        [point.share for point in points], [point.faithfulness.mean for point in points]
    )
    return CircuitCurve(rule=rule, points=points, cpr=cpr, cmd=cmd)


def _share(found: Effects, row: int) -> Share:
    each = (None if value is None else value + 0.0 for value in (  # no -0.0
        found.mean[row], found.low[row], found.high[row],
    ))  # fmt: skip
    mean, low, high = each
    return Share(mean=mean, low=low, high=high, reason=found.reasons[row])


def areas(
    shares: Sequence[float], faithfulness: Sequence[float | None]
) -> tuple[float | None, float | None]:
    """CPR and CMD by the trapezoid rule from the empty circuit on; None without the full one."""
    if not shares or shares[-1] < 1 or any(value is None for value in faithfulness):
        return None, None
    x = np.array([0.0, *shares])
    y = np.array([0.0, *faithfulness], dtype=np.float64)
    return float(np.trapezoid(y, x)), float(np.trapezoid(np.abs(1 - y), x))


def _warnings(request: CircuitRequest, weights: str, found: Effects) -> list[str]:
    out = [note for note in found.notes if "interval" in note]  # nothing is tested here
    theirs = request.circuit.weights
    if theirs and theirs != weights:
        out.append(f"the circuit was found in weights {theirs} and is run in {weights}")
    return out
