"""Numbers with intervals, of what was run: one function a kind of finding, by its name in a pack.

Shares are of the gap between both prompts, means over pairs first; intervals are bootstraps over
clusters of pairs, 95 %. What is chosen on some templates is measured on others wherever its name
says held out. Depths are shares of the way from the first layer, 0, to the last, 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from sonde.errors import BadRequest
from sonde.replication.drawn import Interval, Numbers, drawn
from sonde.replication.parts import Parts, always_in
from sonde.results import PairSweep
from sonde.results.numbers import count, fixed, number
from sonde.schema import Hook

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
    low, high = wilson(right, len(known))
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
    layers, (one, other) = _columns(parts.residual, "post_block", first, last)
    n = len(layers)

    def least(means: Numbers) -> Numbers:
        found: Numbers = np.maximum(means[:, :n], means[:, n:]).min(axis=1)
        return found

    both = np.concatenate([one, other], axis=1)
    found = _drawn(parts.residual, both, least)
    mean = both.sum(axis=0) / _gaps(parts.residual).sum()
    at = int(np.maximum(mean[:n], mean[n:]).argmin())
    return _told(
        found,
        f"{first} carries {fixed(mean[0], 2)} after layer {layers[0]}, {last} "
        f"{fixed(mean[-1], 2)} after layer {layers[-1]}; where neither carries much, after layer "
        f"{layers[at]}, they carry {fixed(mean[at], 2)} and {fixed(mean[n + at], 2)}",
    )


def crossing(parts: Parts, first: str, last: str) -> Measured:
    """The depth from which on the second position carries more than the first."""
    layers, (one, other) = _columns(parts.residual, "post_block", first, last)
    n = len(layers)

    def crossed(means: Numbers) -> Numbers:
        ahead = means[:, n:] > means[:, :n]
        behind = n - 1 - np.argmax(~ahead[:, ::-1], axis=1)
        place = np.where(ahead.all(axis=1), 0, behind + 1)
        found: Numbers = np.where(place < n, place / (n - 1), np.nan)
        return found

    found = _drawn(parts.residual, np.concatenate([one, other], axis=1), crossed)
    if found.value is None:
        return _told(found, f"{last} never carries more than {first}")
    at = layers[round(found.value * (n - 1))]
    return _told(found, f"from layer {at} on {last} carries more than {first}")


def peak_depth(parts: Parts, hook: Hook, column: str) -> Measured:
    """How deep the layers are whose patch at a position brings back most."""
    sweep = _of(parts, hook)
    layers, (values,) = _columns(sweep, hook, column)
    places = np.array([float(np.mean(_numbers(layer))) for layer in layers])
    depth = places / (parts.model.describe().n_layers - 1)
    found = _drawn(sweep, values, lambda means: depth[means.argmax(axis=1)])
    mean = values.sum(axis=0) / _gaps(sweep).sum()
    best = int(mean.argmax())
    said = f"{hook} at {column} brings back most, {fixed(mean[best], 2)}, in layers {layers[best]}"
    return _told(found, said)


def peak_ratio(parts: Parts, column: str, of: Hook, to: Hook) -> Measured:
    """The most that one kind of component brings back at a position, over the most of another."""
    sweep = _of(parts, of)
    layers, (one,) = _columns(sweep, of, column)
    _, (other,) = _columns(_of(parts, to), to, column)
    n = len(layers)

    def ratio(means: Numbers) -> Numbers:
        below = means[:, n:].max(axis=1)
        found: Numbers = means[:, :n].max(axis=1) / np.where(below > 0, below, np.nan)
        return found

    found = _drawn(sweep, np.concatenate([one, other], axis=1), ratio)
    gap = _gaps(sweep).sum()
    mean, under = one.sum(axis=0) / gap, other.sum(axis=0) / gap
    return _told(
        found,
        f"at {column}, {of} brings back {fixed(mean.max(), 2)} at most (layers "
        f"{layers[int(mean.argmax())]}), {to} {fixed(under.max(), 2)} (layers "
        f"{layers[int(under.argmax())]})",
    )


def direct_share(parts: Parts) -> Measured:
    """How much of the strongest head's effect is what it writes to the logits itself."""
    name = parts.strongest[0]
    layer, head = _place(name)
    direct = _direct(parts)[:, _row(parts, name)]
    total = _effects(parts.heads, "z")[:, layer, head]
    found = drawn(direct, total, parts.heads.clusters, lambda means: means[:, 0])
    gap = _gaps(parts.heads).sum()
    return _told(
        found,
        f"of {fixed(total.sum() / gap, 2)} that {name} brings back, {fixed(direct.sum() / gap, 2)} "
        "goes to the logits directly, the rest by way of later layers",
    )


def direct_depth(parts: Parts) -> Measured:
    """How deep heads sit that write the answer: the mean depth, weighted by their direct effect."""
    direct = _direct(parts)
    layers = np.array([_place(name)[0] for name in _senders(parts)])
    depth = layers / (parts.model.describe().n_layers - 1)

    def mean_depth(means: Numbers) -> Numbers:
        weight = np.clip(means, 0, None)
        found: Numbers = (weight * depth).sum(axis=1) / weight.sum(axis=1)
        return found

    found = drawn(direct, None, parts.direct.clusters, mean_depth)
    best = _strongest_direct(parts)
    return _told(found, f"the strongest are {', '.join(best[:3])}")


def against(parts: Parts) -> Measured:
    """The most that a head works against the answer, over the most that one works for it."""
    direct = _direct(parts)
    names = _senders(parts)
    mean = direct.mean(axis=0)
    least, most = int(mean.argmin()), int(mean.argmax())
    found = drawn(
        -direct[:, least], direct[:, most], parts.direct.clusters, lambda means: means[:, 0]
    )
    hook = next(iter(parts.direct.p))
    p = parts.direct.p[hook].ravel()
    sure = int(((mean < 0) & (p <= parts.direct.settings.alpha)).sum())
    gap = _gaps(parts.direct).sum() / len(direct)
    return _told(
        found,
        f"{names[least]} moves the logits by {fixed(mean[least] / gap, 2)} of the gap, "
        f"{names[most]} by {fixed(mean[most] / gap, 2)}; of {len(names)} heads {sure} surely "
        "work against the answer (family-wise p ≤ 0.05)",
    )


def steered_by(parts: Parts, by: Hook, rather_than: Hook) -> Measured:
    """What a patch of the strongest writer's query brings back beyond one of its value, or so."""
    name = _strongest_direct(parts)[0]
    shares = []
    for hook in (by, rather_than):
        values = _effects(parts.heads, hook)
        layer, head = _place(name)
        groups = parts.heads.mean["z"].shape[1] // values.shape[2]
        shares.append(values[:, layer, head // groups])
    found = _drawn(parts.heads, (shares[0] - shares[1])[:, None], lambda means: means[:, 0])
    gap = _gaps(parts.heads).sum()
    one, other = (each.sum() / gap for each in shares)
    return _told(
        found,
        f"of {name}, which writes most to the logits, {by} brings back {fixed(one, 2)} and "
        f"{rather_than} {fixed(other, 2)}",
    )


def attends(parts: Parts, column: str, beside: str) -> Measured:
    """How much of the strongest writer's attention is on a role, from the last token."""
    name = _strongest_direct(parts)[0]
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
    found = drawn(values, None, clusters, lambda means: means[:, 0])
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


def wilson(seen: int, n: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """The 95 % interval of a share: it has a width where all were right."""
    middle = (seen + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * float(np.sqrt(seen * (n - seen) / n + z * z / 4))
    return max(0.0, middle - half), min(1.0, middle + half)


def _told(found: Interval, said: str) -> Measured:
    return Measured(*found, said)


def _of(parts: Parts, hook: Hook) -> PairSweep:
    """The sweep by roles that a hook is in."""
    for sweep in (parts.residual, parts.components):
        if sweep is not None and hook in sweep.mean:
            return sweep
    raise BadRequest(f"hook {hook!r} was not swept by roles: the pack's components lack it")


def _columns(sweep: PairSweep, hook: Hook, *columns: str) -> tuple[list[Any], list[Numbers]]:
    """The labels of layers, and for each role what every pair changed there: [pairs, layers]."""
    axes = sweep.axes[hook]
    roles = [str(each) for each in axes["role"]]
    for column in columns:
        if column not in roles:
            raise BadRequest(f"no column {column!r}: there are {', '.join(roles)}")
    effects = _effects(sweep, hook)
    return list(axes["layer"]), [effects[:, :, roles.index(column)] for column in columns]


def _effects(sweep: PairSweep, hook: Hook) -> Numbers:
    """Changes in logits, [pairs, …]: shares times each pair's gap."""
    values = sweep.per_pair[hook]
    gaps = _gaps(sweep).reshape(-1, *[1] * (values.ndim - 1))
    changes: Numbers = values * gaps
    return changes


def _gaps(sweep: PairSweep) -> Numbers:
    """How far apart the two prompts of each pair are, in logits."""
    name = "recovered" if sweep.metric == "recovered" else sweep.metric
    ends = [(each.clean[name] or 0.0) - (each.corrupt[name] or 0.0) for each in sweep.records]
    return np.array(ends, dtype=np.float64)


def _drawn(sweep: PairSweep, changes: Numbers, of: Callable[[Numbers], Numbers]) -> Interval:
    return drawn(changes, _gaps(sweep), sweep.clusters, of)


def _sender(parts: Parts, name: str) -> Interval:
    """What a sender brings back on held-out templates."""
    sweep = parts.together
    hook, values = next(iter(sweep.per_pair.items()))
    names = [str(each) for each in sweep.axes[hook]["sender"]]
    changes = values.reshape(len(values), len(names))[:, names.index(name)] * _gaps(sweep)
    return _drawn(sweep, changes[:, None], lambda means: means[:, 0])


def _direct(parts: Parts) -> Numbers:
    """What every head writes to the logits, in logits: [pairs, heads]."""
    sweep = parts.direct
    values = next(iter(sweep.per_pair.values()))
    before = np.array([each.corrupt[sweep.metric] or 0.0 for each in sweep.records])
    changes: Numbers = values.reshape(len(values), -1) - before[:, None]
    return changes


def _senders(parts: Parts) -> list[str]:
    hook = next(iter(parts.direct.axes))
    return [str(each) for each in parts.direct.axes[hook]["sender"]]


def _row(parts: Parts, name: str) -> int:
    return _senders(parts).index(name)


def _strongest_direct(parts: Parts) -> list[str]:
    """Heads by what they write for the answer, the strongest first."""
    names = _senders(parts)
    order = np.argsort(-_direct(parts).mean(axis=0), kind="stable")
    return [names[int(each)] for each in order]


def _place(name: str) -> tuple[int, int]:
    """`z:26.0` -> 26, 0."""
    layer, _, head = name.removeprefix("z:").partition(".")
    return int(layer), int(head)


def _numbers(layer: object) -> list[int]:
    """A layer, or a window of some such as `3–8`, as its layers."""
    return [int(part) for part in str(layer).replace("–", "-").split("-")]
