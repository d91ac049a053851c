"""Numbers with intervals, of what was run: one function a kind of finding, by its name in a pack.

Shares are of the gap between both prompts, means over pairs first; intervals are bootstraps over
clusters of pairs, 95 %. What is chosen on some templates is measured on others wherever its name
says held out. Depths are shares of the way from the first layer, 0, to the last, 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np

from sonde.errors import BadRequest
from sonde.nodes import node_of
from sonde.replication import curves
from sonde.replication.parts import Parts, always_in
from sonde.results import PairSweep
from sonde.results.numbers import count, fixed, number
from sonde.schema import Hook
from sonde.statistics.clusters import Numbers
from sonde.statistics.drawn import Interval, drawn
from sonde.statistics.proportion import interval_of

LOOKED: Final = 60
"""Pairs whose attention is read."""


class Measured(NamedTuple):
    """A number, where it lies, and what it says in words."""

    value: float | None
    low: float | None
    high: float | None
    said: str


Measure = Callable[..., Measured]


def accuracy(parts: Parts) -> Measured:
    """How many pairs the model gets right: the answer over the foil after the clean prompt."""
    known = [each.clean for each in parts.asked.verdicts if each.clean is not None]
    right = sum(value > 0 for value in known)
    mean = float(np.mean(known))
    low, high = interval_of(right, len(known))
    said = (
        f"{right} of {count(len(known), 'pair')} right after the clean prompt; the answer's logit "
        f"is {number(mean)} above the foil's on average"
    )
    return Measured(right / len(known), low, high, said)


def top_head(parts: Parts) -> Measured:
    """What patching the strongest head brings back on held-out templates."""
    found = _sender(parts, parts.strongest[0])
    others = ", ".join(f"{name} {fixed(_sender(parts, name).value, 2)}" for name in parts.strongest)
    return _told(found, f"on held-out templates, of the gap: {others}")


def together(parts: Parts) -> Measured:
    """The same of the strongest heads at once."""
    name = "+".join(parts.strongest)
    found = _sender(parts, name)
    return _told(found, f"{name} at once bring back {fixed(found.value, 2)} of the gap")


def relay(parts: Parts, first: str, last: str) -> Measured:
    """The largest share that either of two positions carries, at the layer where that is least."""
    found, layers, one, other, of = _handed_over(parts, first, last, curves.weakest)
    if found.value is None:
        return _told(found, of)
    at = int(np.maximum(one, other).argmin())
    return _told(
        found,
        f"{first} carries {fixed(one[0], 2)} after layer {layers[0]}, {last} "
        f"{fixed(other[-1], 2)} after layer {layers[-1]}; where neither carries much, after layer "
        f"{layers[at]}, they carry {fixed(one[at], 2)} and {fixed(other[at], 2)} ({of})",
    )


def crossing(parts: Parts, first: str, last: str) -> Measured:
    """The depth from which on the second position carries more than the first."""
    found, layers, _, _, of = _handed_over(parts, first, last, curves.crossed)
    if found.value is None:
        return _told(found, f"{last} never carries more than {first} ({of})")
    at = layers[round(found.value * (len(layers) - 1))]
    return _told(found, f"from layer {at} on {last} carries more than {first} ({of})")


def _handed_over(
    parts: Parts, first: str, last: str, made: Callable[[Numbers, Numbers], Numbers]
) -> tuple[Interval, list[str], Numbers, Numbers, str]:
    """What is made of two roles' curves, over the pairs in which they are two positions.

    Where both are one token, as in a prompt that ends with its subject, nothing is handed over, and
    such a pair would carry all of it at both, in every layer.
    """
    sweep = parts.residual
    layers, (one, other) = _columns(sweep, "post_block", first, last)
    apart = np.array([each.roles[first] != each.roles[last] for each in sweep.records])
    of = f"{count(int(apart.sum()), 'pair')} in which these are two positions"
    if not apart.any():
        return Interval(None, None, None), layers, one[0], other[0], of
    gaps, n = sweep.gaps[apart], len(layers)
    clusters = sweep.clusters
    found = drawn(
        np.concatenate([one, other], axis=1)[apart],
        lambda means: made(means[:, :n], means[:, n:]),
        denominators=gaps,
        clusters=clusters and [each for each, kept in zip(clusters, apart, strict=True) if kept],
    )
    first_mean, last_mean = (each[apart].sum(axis=0) / gaps.sum() for each in (one, other))
    return found, layers, first_mean, last_mean, of


def peak_depth(parts: Parts, hook: Hook, column: str) -> Measured:
    """How deep the layers are whose patch at a position brings back most."""
    sweep = _of(parts, hook)
    layers, (values,) = _columns(sweep, hook, column)
    depth = np.linspace(0, 1, len(layers))
    found = _share(sweep, values, lambda means: curves.highest(means, depth))
    best, most = _peak(layers, _mean(sweep, values))
    return _told(found, f"{hook} at {column} brings back most, {most}, in layer {best}")


def peak_ratio(parts: Parts, column: str, of: Hook, to: Hook) -> Measured:
    """The most that one kind of component brings back at a position, over the most of another."""
    sweep = _of(parts, of)
    layers, (one,) = _columns(sweep, of, column)
    _, (other,) = _columns(_of(parts, to), to, column)
    n = len(layers)
    both = np.concatenate([one, other], axis=1)
    found = _share(sweep, both, lambda m: curves.ratio(m[:, :n], m[:, n:]))
    here, most = _peak(layers, _mean(sweep, one))
    there, beside = _peak(layers, _mean(sweep, other))
    return _told(
        found,
        f"at {column}, {of} brings back {most} at most (layers {here}), {to} {beside} "
        f"(layers {there})",
    )


def direct_share(parts: Parts) -> Measured:
    """How much of the strongest head's effect is what it writes to the logits itself."""
    name = parts.strongest[0]
    direct = parts.direct.changes[:, _senders(parts).index(name)]
    total = _effects(parts.heads, "z")[(slice(None), *_place(name))]
    found = drawn(direct, _first, denominators=total, clusters=parts.heads.clusters)
    whole, own = (float(_mean(parts.heads, each)) for each in (total, direct))
    return _told(
        found,
        f"of {fixed(whole, 2)} that {name} brings back, {fixed(own, 2)} goes to the logits "
        "directly, the rest by way of later layers",
    )


def direct_depth(parts: Parts) -> Measured:
    """How deep heads sit that write the answer: the mean depth, weighted by their direct effect."""
    layers = np.array([_place(name)[0] for name in _senders(parts)])
    depth = layers / (parts.model.describe().n_layers - 1)
    found = drawn(
        parts.direct.changes,
        lambda means: curves.mean_depth(means, depth),
        clusters=parts.direct.clusters,
    )
    return _told(found, f"the strongest are {', '.join(_writers(parts)[:3])}")


def against(parts: Parts) -> Measured:
    """The most that a head works against the answer, over the most that one works for it."""
    direct, names = parts.direct.changes, _senders(parts)
    mean = direct.mean(axis=0)
    least, most = int(mean.argmin()), int(mean.argmax())
    found = drawn(
        -direct[:, least], _first, denominators=direct[:, most], clusters=parts.direct.clusters
    )
    [p] = parts.direct.p.values()
    sure = int(((mean < 0) & (p.ravel() <= parts.direct.settings.alpha)).sum())
    shares = _mean(parts.heads, direct)
    return _told(
        found,
        f"{names[least]} moves the logits by {fixed(shares[least], 2)} of the gap, "
        f"{names[most]} by {fixed(shares[most], 2)}; of {len(names)} heads {sure} surely "
        "work against the answer (family-wise p ≤ 0.05)",
    )


def steered_by(parts: Parts, by: Hook, rather_than: Hook) -> Measured:
    """What a patch of the strongest writer's query brings back beyond one of its value, or so."""
    name = _writers(parts)[0]
    layer, head = _place(name)
    readers = parts.heads.mean["z"].shape[1]
    one, other = (
        values[:, layer, head * values.shape[2] // readers]
        for values in (_effects(parts.heads, hook) for hook in (by, rather_than))
    )
    found = _share(parts.heads, one - other, _first)
    first, second = (fixed(float(_mean(parts.heads, each)), 2) for each in (one, other))
    return _told(
        found,
        f"of {name}, which writes most to the logits, {by} brings back {first} and "
        f"{rather_than} {second}",
    )


def attends(parts: Parts, column: str, beside: str) -> Measured:
    """How much of the strongest writer's attention is on a role, from the last token."""
    name = _writers(parts)[0]
    layer, head = _place(name)
    chosen, rest, clusters = [], [], []
    for record in parts.residual.records[:LOOKED]:
        clean = record.prompts.clean
        pattern = parts.model.attention(clean, layers=[layer], heads=[head])[0, 0, -1]
        if len(pattern) != len(record.tokens.prompt):
            continue  # roles are known in the corrupt prompt only
        chosen.append(float(pattern[record.roles[column]].sum()))
        rest.append(float(pattern[record.roles[beside]].sum()))
        clusters.append(record.prompts.cluster)
    if not chosen:
        return Measured(None, None, None, "no pair has two prompts of one length")
    values = np.array([chosen, rest]).T
    found = drawn(values[:, 0], _first, clusters=clusters)
    return _told(
        found,
        f"{name} gives {column} {fixed(values[:, 0].mean(), 2)} of its attention from the last "
        f"token of the clean prompt, {beside} {fixed(values[:, 1].mean(), 2)} "
        f"({count(len(chosen), 'pair')})",
    )


def faithfulness(parts: Parts, share: float) -> Measured:
    """How much of the model a circuit of a share of its nodes is, on held-out templates."""
    base = always_in(parts.circuit, parts.pack)
    rest = len(parts.circuit) - base
    wanted = base + share * rest
    curves = {
        curve.rule: min(curve.points, key=lambda each: abs(each.size - wanted))
        for curve in parts.curve.curves
    }
    point, random = curves["absolute"], curves.get("random")
    found = point.faithfulness
    what = "node" if parts.pack.circuit == "nodes" else "head"
    beside = (
        ""
        if random is None
        else (f"; {count(random.size, 'node')} at random {fixed(random.faithfulness.mean, 2)}")
    )
    return Measured(
        found.mean, found.low, found.high,
        f"{point.size - base:,} of {count(rest, what)}{', with all MLPs,' if base else ''} are "
        f"{fixed(found.mean, 2)} of the model on {count(parts.curve.pairs, 'held-out pair')}"
        f"{beside}",
    )  # fmt: skip


MEASURES: Final[Mapping[str, Measure]] = {
    "accuracy": accuracy,
    "top-head": top_head,
    "together": together,
    "relay": relay,
    "crossing": crossing,
    "peak-depth": peak_depth,
    "peak-ratio": peak_ratio,
    "direct-share": direct_share,
    "direct-depth": direct_depth,
    "against": against,
    "steered-by": steered_by,
    "attends": attends,
    "faithfulness": faithfulness,
}
"""By the name that a pack says."""


def _told(found: Interval, said: str) -> Measured:
    """In words; and why there is no interval, where there is a number without one."""
    if found.value is not None and found.low is None:
        said += "; some draws of so few pairs have no such number, so there is no interval"
    return Measured(*found, said)


def _of(parts: Parts, hook: Hook) -> PairSweep:
    """The sweep by roles that a hook is in."""
    for sweep in (parts.residual, parts.components):
        if sweep is not None and hook in sweep.mean:
            return sweep
    raise BadRequest(f"hook {hook!r} was not swept by roles: the pack's components lack it")


def _columns(sweep: PairSweep, hook: Hook, *columns: str) -> tuple[list[str], list[Numbers]]:
    """What layers are called, and for each role what every pair changed there: [pairs, layers]."""
    layer, role = next(view.axes for view in sweep.views if view.hook == hook)
    effects = _effects(sweep, hook)
    return list(layer.labels), [effects[:, :, role.values.index(column)] for column in columns]


def _effects(sweep: PairSweep, hook: Hook) -> Numbers:
    """Changes in logits, [pairs, …]: shares times each pair's gap."""
    values = sweep.per_pair[hook]
    changes: Numbers = values * sweep.gaps.reshape(-1, *[1] * (values.ndim - 1))
    return changes


def _mean(sweep: PairSweep, changes: Numbers) -> Numbers:
    """Over the pairs, as a share of their gaps."""
    mean: Numbers = changes.sum(axis=0) / sweep.gaps.sum()
    return mean


def _share(sweep: PairSweep, changes: Numbers, of: Callable[[Numbers], Numbers]) -> Interval:
    """A number made of such means, and where it lies."""
    return drawn(changes, of, denominators=sweep.gaps, clusters=sweep.clusters)


def _first(means: Numbers) -> Numbers:
    return means[:, 0]


def _peak(layers: list[str], mean: Numbers) -> tuple[str, str]:
    """Where a curve is highest, and how high."""
    best = int(mean.argmax())
    return layers[best], fixed(float(mean[best]), 2)


def _sender(parts: Parts, name: str) -> Interval:
    """What a sender brings back on held-out templates."""
    [view] = parts.together.views
    changes = parts.together.changes[:, view.axes[0].values.index(name)]
    return _share(parts.together, changes, _first)


def _senders(parts: Parts) -> list[str]:
    [view] = parts.direct.views
    return [str(each) for each in view.axes[0].values]


def _writers(parts: Parts) -> list[str]:
    """Heads by what they write for the answer, the strongest first."""
    names = _senders(parts)
    order = np.argsort(-parts.direct.changes.mean(axis=0), kind="stable")
    return [names[int(each)] for each in order]


def _place(name: str) -> tuple[int, int]:
    """`z:26.0` -> 26, 0."""
    node = node_of(name)
    assert node.layer is not None
    assert node.head is not None
    return node.layer, node.head
