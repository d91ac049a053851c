"""The same questions answered by plain Python over the lines, for small runs."""

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product
from typing import Any

Record = dict[str, Any]
Key = Callable[[Record], Any]


def cells(
    values: Iterable[tuple[Any, float | None]],
) -> dict[Any, tuple[int, float, float, float]]:
    """Key -> count, mean, least, greatest of the values that are there."""
    found: dict[Any, list[float]] = defaultdict(list)
    for key, value in values:
        if value is not None:
            found[key].append(value)
    return {
        key: (len(each), math.fsum(each) / len(each), min(each), max(each))
        for key, each in found.items()
    }


def measured(record: Record, measure: str) -> float | None:
    """One record's value."""
    there = [value for value in record["top_feature_activations"] if value is not None]
    if measure == "active":
        return float(len(record["top_feature_indices"]))
    if measure == "activation":
        return max(there, default=None)
    return record["reconstruction_loss"]


def activations(records: Iterable[Record], layer: int) -> list[tuple[Record, int, float]]:
    """Every activation of a layer that has a number."""
    return [
        (record, feature, value)
        for record in records
        if record["layer_index"] == layer
        for feature, value in zip(
            record["top_feature_indices"], record["top_feature_activations"], strict=True
        )
        if value is not None
    ]


def of_generation(records: Iterable[Record], generation: dict[str, Any]) -> list[Record]:
    """The records that belong to a generation."""
    return [
        record
        for record in records
        if record["step"] == generation["step"]
        and generation["token_start"] <= record["token_index"] < generation["token_end"]
    ]


def losses(records: Sequence[Record], generation: dict[str, Any], layer: int) -> list[float]:
    """Losses of a generation in a layer."""
    return [
        record["reconstruction_loss"]
        for record in of_generation(records, generation)
        if record["layer_index"] == layer and record["reconstruction_loss"] is not None
    ]


def mean_loss(records: Sequence[Record], generation: dict[str, Any], layer: int) -> float | None:
    """Mean loss of a generation in a layer."""
    found = losses(records, generation, layer)
    return statistics.fmean(found) if found else None


def ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1, equals sharing theirs."""
    return [
        sum(other < value for other in values) + (sum(other == value for other in values) + 1) / 2
        for value in values
    ]


def interval(r: float, free: int, *, ranked: bool) -> tuple[float, float]:
    """95 % by Fisher's z; Spearman's has a wider one."""
    z = 0.5 * math.log((1 + r) / (1 - r))
    half = 1.959963984540054 * math.sqrt((1 + r**2 / 2 if ranked else 1) / free)
    low, high = ((math.exp(2 * end) - 1) / (math.exp(2 * end) + 1) for end in (z - half, z + half))
    return low, high


def within(groups: Sequence[Any], values: Sequence[float]) -> tuple[list[float], int]:
    """Differences from the means of groups of two or more, and how many such groups there are."""
    of: dict[Any, list[float]] = defaultdict(list)
    for group, value in zip(groups, values, strict=True):
        of[group].append(value)
    means = {group: statistics.fmean(each) for group, each in of.items() if len(each) > 1}
    both = zip(groups, values, strict=True)
    return [value - means[group] for group, value in both if group in means], len(means)


def present(records: Sequence[Record], generation: dict[str, Any]) -> set[tuple[int, int]]:
    """Layers and features that a generation has."""
    return {
        (record["layer_index"], feature)
        for record in of_generation(records, generation)
        for feature in record["top_feature_indices"]
    }


def chance(groups: Sequence[tuple[Sequence[bool], Sequence[bool]]]) -> float:
    """P(as many passed ones with it): every way of dealing each group's gates, one by one.

    A group is (gates, has it).
    """
    seen = sum(
        gate and has for gates, each in groups for gate, has in zip(gates, each, strict=True)
    )
    ways = [
        [
            sum(each[place] for place in chosen)
            for chosen in combinations(range(len(gates)), sum(gates))
        ]
        for gates, each in groups
    ]
    totals = [sum(one) for one in product(*ways)]
    return sum(total >= seen for total in totals) / len(totals)


def adjusted(p: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg, by the book."""
    ordered = sorted(p)
    least = [min(ordered[j] * len(p) / (j + 1) for j in range(i, len(p))) for i in range(len(p))]
    return [min(1.0, least[ordered.index(value)]) for value in p]
