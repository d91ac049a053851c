"""What changing each feature did, read from the tables of a sweep over features.

Tables hold what the answer was graded with in every cell. An effect is how far that is from the
unpatched prompt, and a feature is judged by how many random directions do as much.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sonde.errors import BadRequest
from sonde.schema.table import SweepTable, Table


@dataclass(frozen=True)
class FeatureEffect:
    """One feature, or another row beside them. Effects are changes of the sweep's metric."""

    feature: int | None
    """None for a row that is no single feature: all of them, or what they leave over."""
    label: str
    """The layer and the feature, 15:748; or which other row it is."""
    activations: dict[int | str, float]
    """By position or role, where it was changed by itself: how active it was there, or how much
    more active it was made. Over many pairs it is not told."""
    effects: dict[int | str, float | None]
    """Of changing it there alone; None where that was no finite number."""
    everywhere: float | None
    """Of changing it at all of its positions at once."""
    random: tuple[float | None, ...]
    """The same with directions drawn at random, each as long as what was written there."""
    alike: tuple[float | None, ...] = ()
    """The same of other features whose change is about as long."""

    @property
    def p(self) -> float | None:
        """See `p_value`."""
        return p_value(self.everywhere, self.random)


def p_value(effect: float | None, random: Sequence[float | None]) -> float | None:
    """How often a random direction does at least as much as the feature, counting the feature.

    None where one of them is no finite number: a share of what is left would flatter it.
    """
    known = [each for each in random if each is not None]
    if effect is None or len(known) < len(random):
        return None
    return (1 + sum(abs(each) >= abs(effect) for each in known)) / (1 + len(known))


def feature_effects(found: SweepTable) -> list[FeatureEffect]:
    """Every feature, the one with the largest effect everywhere first; then the other rows."""
    asked = next((table for table in found.tables if _is_of_features(table)), None)
    if asked is None:
        raise BadRequest("this sweep has no table of features; ask for one with `features`")
    rows = _rows(asked, found)
    random, alike = (_beside(kind, found, len(rows)) for kind in ("random_direction", "alike"))
    features, places = asked.axes
    width = len(places.values)
    active = asked.activations
    effects = []
    for i, (feature, label) in enumerate(zip(features.values, features.labels, strict=True)):
        told = None if active is None else active[i * width : (i + 1) * width]
        changed = range(width - 1) if told is None else [k for k in range(width - 1) if told[k]]
        effects.append(
            FeatureEffect(
                feature=feature if isinstance(feature, int) else None,
                label=label,
                activations={} if told is None else {places.values[k]: told[k] for k in changed},
                effects={places.values[k]: rows[i][k] for k in changed},
                everywhere=rows[i][-1],
                random=tuple(random[i]),
                alike=tuple(alike[i]),
            )
        )
    largest = sorted(effects, key=lambda each: -abs(each.everywhere or 0.0))
    return sorted(largest, key=lambda each: each.feature is None)


def _beside(kind: str, found: SweepTable, n: int) -> list[list[float | None]]:
    """What was compared with each row; nothing where no such thing was asked for."""
    table = next((table for table in found.tables if table.kind == kind), None)
    rows = [] if table is None else _rows(table, found)
    return rows + [[]] * (n - len(rows))


def _is_of_features(table: Table) -> bool:
    first, *others = (axis.name for axis in table.axes)
    return table.kind == "cells" and first == "feature" and len(others) == 1


def _rows(table: Table, found: SweepTable) -> list[list[float | None]]:
    """The changes from the unpatched prompt, one list a feature."""
    values = table.values[found.metric]
    zero = 0.0 if found.metric == "recovered" else found.corrupt[found.metric]
    changes = [None if value is None or zero is None else value - zero for value in values]
    width = len(table.axes[1].values)
    return [changes[start : start + width] for start in range(0, len(changes), width)]
