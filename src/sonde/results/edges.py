"""A table of edges as a list of them, the strongest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sonde.errors import BadRequest
from sonde.results.numbers import number
from sonde.results.views import TableView
from sonde.schema.table import Table

if TYPE_CHECKING:
    from sonde.results.sweep import Sweep


class Edge(NamedTuple):
    """One edge, or path, and how far it moves the metric from the baseline."""

    sender: str
    receiver: str
    score: float
    """What its cell shows: exact, or, by attribution, to first order. Over pairs, the mean."""
    exact: float | None
    """By running it; None where it was only attributed."""

    @property
    def name(self) -> str:
        """`z:9.6 → q:12.4`."""
        return f"{self.sender} → {self.receiver}"


class SenderEffect(NamedTuple):
    """What a sender does, as changes from the baseline."""

    sender: str
    direct: float
    """What the logits read of it: receiver `logits`."""
    total: float
    """An ordinary patch of it: receiver `total`."""

    @property
    def indirect(self) -> float:
        """What is left: the way through everything that computes anew."""
        return self.total - self.direct


def is_of_edges(table: Table) -> bool:
    """Whether a table's cells are edges."""
    return "sender" in [axis.name for axis in table.axes]


def sender_effects(sweep: Sweep) -> list[SenderEffect]:
    """Every sender by what it does directly and in all, the strongest total first."""
    found: dict[str, dict[str, float]] = {}
    for edge in edges_of(sweep):
        found.setdefault(edge.sender, {})[edge.receiver] = edge.score
    both = [
        SenderEffect(sender, each["logits"], each["total"])
        for sender, each in found.items()
        if {"logits", "total"} <= each.keys()
    ]
    if not both:
        raise BadRequest("direct and total effects are those of receivers 'logits' and 'total'")
    return sorted(both, key=lambda effect: -abs(effect.total))


def directly(sweep: Sweep, k: int = 3) -> list[tuple[str, str]]:
    """The strongest senders in words, where both effects were measured."""
    axes = [{axis.name: axis.values for axis in table.axes} for table in sweep.table.tables[:1]]
    if not axes or axes[0].keys() != {"sender", "receiver"}:
        return []
    if not {"logits", "total"} <= set(axes[0]["receiver"]):
        return []
    told = [
        f"{each.sender} {number(each.total)} = {number(each.direct)} direct "
        f"+ {number(each.indirect)} by other ways"
        for each in sender_effects(sweep)[:k]
    ]
    return [("in all", "; ".join(told))]


def edges_of(sweep: Sweep) -> list[Edge]:
    """Every edge of a sweep, the strongest first, either way; of equals in their order."""
    tables = [table for table in sweep.table.tables if table.kind == "cells"]
    if not tables or not is_of_edges(tables[0]):
        raise BadRequest("this sweep is not of edges: name `senders` and `receivers` for it")
    names = [axis.name for axis in tables[0].axes]
    if names != ["sender", "receiver"]:
        raise BadRequest(
            f"edges at single positions ({', '.join(names)}): sweep with positions 'together' for "
            "a list of edges"
        )
    view = TableView.of(tables[0], sweep.metric)
    changes = (view.values - (sweep.baseline or 0.0)).ravel()
    senders, receivers = ([str(value) for value in axis.values] for axis in view.axes)
    known: dict[int, float] | None = None
    if sweep.verification is not None:
        each = sweep.verification.compared
        known = {cell.at[0] * len(receivers) + cell.at[1]: cell.exact for cell in each}
    out = []
    for place in np.argsort(-np.abs(changes), kind="stable").tolist():
        score = float(changes[place])
        if np.isnan(score):
            continue
        sender, receiver = divmod(place, len(receivers))
        exact = score if known is None else known.get(place)
        out.append(Edge(senders[sender], receivers[receiver], score, exact))
    return out
