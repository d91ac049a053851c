"""A finished sweep over many pairs: what all of them say of each cell, and how sure that is.

The table of one sweep is shown with the mean over its pairs in every cell, so pictures, pages and
terminal draw it as any other. Everything beyond the mean is made here, from the table of all pairs,
by `sonde.statistics`: the engine computes no statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from sonde.results.classic import untagged
from sonde.results.course import CheckpointSweep
from sonde.results.numbers import count, number
from sonde.results.pair_means import array_of, numbers_of, over_pairs
from sonde.results.provenance import Provenance
from sonde.results.reward import RewardSweep
from sonde.results.sweep import PathLike, Sweep
from sonde.results.tokens import visible
from sonde.results.views import Values
from sonde.schema import Hook
from sonde.schema.pair import PromptPair
from sonde.schema.table import (
    DroppedPair,
    PairRecord,
    SweepTable,
)
from sonde.statistics import Effects, Stability, effects, stability
from sonde.statistics.bootstrap import Method

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ByHook = dict[Hook, Values]


@dataclass(frozen=True)
class Settings:
    """How the statistics of a sweep are made."""

    method: Method = "bca"
    level: float = 0.95
    resamples: int = 10_000
    flips: int = 10_000
    seed: int = 0
    alpha: float = 0.05
    """Cells whose family-wise p is above this are hatched."""
    k: int = 10
    """How many of the strongest cells `stability` compares."""
    clusters: bool = True
    """Take pairs of one cluster as one; without it, all as independent."""


@dataclass(frozen=True, repr=False)
class PairSweep(Sweep):
    """What writing at each site did to the behaviour, over many prompt pairs.

    result.mean["z"]              # [layers, heads]; of `recovered` the ratio of means
    result.low["z"], result.high["z"]   # bootstrap interval, over clusters where there are some
    result.p["z"], result.q["z"]  # family-wise by sign flips; false discoveries
    result.per_pair["z"]          # [pairs, layers, heads]
    result.significant["z"]       # what pictures do not hatch
    result.verdict                # in a sentence
    result.intervals(8)           # the strongest cells, as a picture
    result.stability              # would other pairs have shown the same cells?
    result.dropped                # pairs that are not in it, and why
    """

    all_pairs: SweepTable | None = None
    settings: Settings = Settings()

    @classmethod
    def over(cls, found: SweepTable, provenance: Provenance, **settings: Any) -> Self:
        """The result of a sweep over pairs."""
        return cls(
            over_pairs(found),
            provenance,
            all_pairs=untagged(SweepTable, found),
            settings=Settings(**settings),
        )

    def statistics(self, **settings: Any) -> Self:
        """The same pairs with other settings: `method="percentile"`, `level=0.99`, `alpha=0.01`."""
        return replace(self, settings=replace(self.settings, **settings))

    # What was swept.

    @property
    def whole(self) -> SweepTable:
        """The table of all pairs."""
        assert self.all_pairs is not None
        return self.all_pairs

    @property
    def stored(self) -> SweepTable:
        """All pairs; the means are made of them again."""
        return self.whole

    @property
    def records(self) -> list[PairRecord]:
        """What each pair's cells are read against, in the order of the pairs."""
        return self.whole.pairs or []

    @property
    def pairs(self) -> list[PromptPair]:
        """The pairs that are in the tables."""
        return [record.prompts for record in self.records]

    @property
    def dropped(self) -> list[DroppedPair]:
        """Those that are not, by their number in the request, and why."""
        return self.whole.dropped or []

    @property
    def clusters(self) -> list[str | None] | None:
        """What each pair belongs to; None where none does, or where that is not to count."""
        each = [pair.cluster for pair in self.pairs]
        known = self.settings.clusters and any(cluster is not None for cluster in each)
        return each if known else None

    @property
    def clean_prompt(self) -> str | None:
        """The first of them."""
        return self._first_prompt([pair.clean for pair in self.pairs])

    @property
    def corrupt_prompt(self) -> str:
        """The first of them."""
        return self._first_prompt([pair.corrupt for pair in self.pairs])

    @property
    def baseline(self) -> float | None:
        """The mean of the prompts that were written to, unpatched; none of both directions."""
        if self.metric == "recovered":
            return 0.0
        asked = self.provenance.request.get("direction", "denoise")
        return {"denoise": self.corrupt, "noise": self.clean}.get(str(asked))

    # What came out.

    @cached_property
    def per_pair(self) -> ByHook:
        """[pairs, …] of the main metric."""
        cells = [table for table in self.whole.tables if table.kind == "cells"]
        return {table.hook: array_of(table, self.metric) for table in cells}

    @property
    def mean(self) -> ByHook:
        """The mean over pairs; of `recovered` the ratio of means."""
        return self.grids

    @cached_property
    def effects(self) -> Effects:
        """Of every cell of all hooks: one family. Changes from the unpatched prompts."""
        return effects(
            self.changes,
            denominators=self.gaps if self.metric == "recovered" else None,
            clusters=self.clusters,
            method=self.settings.method,
            level=self.settings.level,
            resamples=self.settings.resamples,
            flips=self.settings.flips,
            seed=self.settings.seed,
        )

    @cached_property
    def low(self) -> ByHook:
        """Where the interval of the change begins, counted from the unpatched prompts' mean."""
        return self._grids(self.effects.low, self._zeros)

    @cached_property
    def high(self) -> ByHook:
        """Where it ends."""
        return self._grids(self.effects.high, self._zeros)

    @cached_property
    def t(self) -> ByHook:
        """The change over its standard error."""
        return self._grids(self.effects.t)

    @cached_property
    def p(self) -> ByHook:
        """By sign flips, family-wise: the chance that any cell would have so great a |t|."""
        return self._grids(self.effects.p)

    @cached_property
    def q(self) -> ByHook:
        """The least rate of false discoveries that lets the cell in."""
        return self._grids(self.effects.q)

    @cached_property
    def share_positive(self) -> ByHook:
        """How many of the pairs moved upwards."""
        return self._grids(self.effects.share_positive)

    @cached_property
    def significant(self) -> dict[Hook, NDArray[np.bool_]]:
        """Cells whose family-wise p is at most `settings.alpha`."""
        return {hook: ~np.isnan(p) & (p <= self.settings.alpha) for hook, p in self.p.items()}

    @cached_property
    def stability(self) -> Stability:
        """Whether halves of the pairs, and clusters, show the same cells."""
        return stability(
            self.changes, clusters=self.clusters, k=self.settings.k, seed=self.settings.seed
        )

    @cached_property
    def doubts(self) -> list[NDArray[np.bool_]]:
        """Of every picture, which cells are not significant."""
        return [
            ~self.significant[view.hook].reshape(len(view.rows), len(view.columns))
            for view in self.views
        ]

    @property
    def doubt(self) -> str:
        """What a hatched cell is."""
        return f"not significant (family-wise p > {number(self.settings.alpha)})"

    @property
    def beneath(self) -> dict[str, JsonValue]:
        """Of every picture, every cell from its top: each pair's value; and the pairs' names."""
        named: list[JsonValue] = [_name(pair) for pair in self.pairs]
        cells: list[JsonValue] = []
        words: list[JsonValue] = []
        for view in self.views:
            rows, columns = len(view.rows), len(view.columns)
            values = self.per_pair[view.hook].reshape(len(named), rows, columns)[:, ::-1]
            flat = values.reshape(len(named), -1).T
            cells.append([[_short(value) for value in cell] for cell in flat.tolist()])
            ends = (self.low[view.hook], self.high[view.hook], self.p[view.hook])
            low, high, p = (each.reshape(rows, columns)[::-1].ravel().tolist() for each in ends)
            told = zip(low, high, p, strict=True)
            words.append([f"{number(a)} to {number(b)}, p {number(c)}" for a, b, c in told])
        return {"pairs": named, "cells": cells, "words": words, "baseline": self.baseline}

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What the numbers are of, in words."""
        made, steady = self.effects, self.stability
        unit = "cluster" if self.clusters else "pair"
        way = "all" if made.exhaustive else f"{made.flips:,}"
        told = [
            (
                "interval",
                f"{made.level:.0%} {made.method}, {made.resamples:,} bootstraps over "
                f"{count(made.clusters, unit)}",
            ),
            ("p", f"family-wise over {count(len(made.p), 'cell')}, {way} sign flips"),
            ("stability", _steady(steady)),
            *(("note", note) for note in made.notes),
        ]
        told += [("dropped", line) for line in self._reasons()]
        return [*super().facts, *told]

    # Ways out.

    def intervals(self, k: int = 8) -> Figure:
        """The k strongest cells with their intervals, the strongest on top; a notebook shows it."""
        from sonde.results.intervals import shown

        return shown(self, k)

    @property
    def verdict(self) -> str:
        """Which cells matter over these pairs, in a sentence; or that none is known to."""
        from sonde.results.intervals import verdict

        return verdict(self)

    def to_csv(self, path: PathLike | None = None) -> str:
        """One line a cell with its statistics; every pair's values are in `.json`, `.parquet`."""
        from sonde.results import pair_tables

        return self._written(pair_tables.to_csv(self), path)

    def to_latex(self, path: PathLike | None = None, k: int = 20) -> str:
        """The k strongest cells as a table for a paper."""
        from sonde.results import pair_tables

        return self._written(pair_tables.to_latex(self, k), path)

    def encoded(self, format: str) -> bytes:
        """The bytes of a file; `tex` too."""
        if format == "parquet":
            return Sweep(self.whole, self.provenance).encoded(format)
        return self.to_latex().encode() if format == "tex" else super().encoded(format)

    def _first_prompt(self, prompts: Sequence[str | list[int]]) -> str:
        first = next((each for each in prompts if isinstance(each, str)), "")
        more = len(prompts) - 1
        return f"{first} (and {more} more)" if more else first

    @cached_property
    def gaps(self) -> Values:
        """What each pair's `recovered` is a share of: [pairs]."""
        ends = [(each.clean["recovered"], each.corrupt["recovered"]) for each in self.records]
        return np.array([one - zero for one, zero in numbers_of(ends)])

    @cached_property
    def _unpatched(self) -> Values:
        """The unpatched prompt that each cell is a change from: [pairs, cells]."""
        flat = [values.reshape(len(self.records), -1) for values in self.per_pair.values()]
        if self.metric == "recovered":
            return np.zeros_like(np.concatenate(flat, axis=1))
        ends = [(each.corrupt[self.metric], each.clean[self.metric]) for each in self.records]
        corrupt, clean = np.array(numbers_of(ends)).T
        asked = self.provenance.request.get("direction", "denoise")
        sides = []
        for values in flat:
            noised = np.zeros(values.shape[1], dtype=bool)
            if asked == "both":
                noised[values.shape[1] // 2 :] = True
            elif asked == "noise":
                noised[:] = True
            sides.append(np.where(noised, clean[:, None], corrupt[:, None]))
        return np.concatenate(sides, axis=1)

    @property
    def _zeros(self) -> Values:
        zeros: Values = self._unpatched.mean(axis=0)
        return zeros

    @cached_property
    def changes(self) -> Values:
        """[pairs, cells] of all hooks; of `recovered` in the units that it is a share of."""
        flat = [values.reshape(len(self.records), -1) for values in self.per_pair.values()]
        values = np.concatenate(flat, axis=1)
        if self.metric == "recovered":
            changes: Values = values * self.gaps[:, None]
            return changes
        return values - self._unpatched

    def _grids(self, each: Sequence[float | None], shift: Values | None = None) -> ByHook:
        flat = np.array([np.nan if value is None else value for value in each], dtype=np.float64)
        flat = flat if shift is None else flat + shift
        out: ByHook = {}
        start = 0
        for hook, grid in self.grids.items():
            out[hook] = flat[start : start + grid.size].reshape(grid.shape)
            start += grid.size
        return out

    def _reasons(self) -> list[str]:
        """One line a reason, and the pairs it holds for."""
        by_reason: dict[str, list[int]] = {}
        for each in self.dropped:
            by_reason.setdefault(each.reason.partition(":")[0], []).append(each.pair)
        return [f"{count(len(some), 'pair')}: {why}" for why, some in by_reason.items()]


def result_of(found: SweepTable, provenance: Provenance) -> Sweep:
    """A finished general sweep as people use it: of a prompt, pairs, checkpoints, or a reward."""
    if found.checkpoints is not None:
        return CheckpointSweep.over(found, provenance)
    if found.reward is not None:
        return RewardSweep(found, provenance)
    if found.pairs is None:
        return Sweep(found, provenance)
    return PairSweep.over(found, provenance)


def _name(pair: PromptPair) -> str:
    text = pair.clean if isinstance(pair.clean, str) else f"{len(pair.clean)} tokens"
    return visible(text if len(text) <= 80 else f"{text[:79]}…")


def _short(value: float) -> float | None:
    """A number for a picture: enough digits to place it."""
    return None if np.isnan(value) else float(f"{value:.4g}")


def _steady(found: Stability) -> str:
    halves = found.halves
    if halves.jaccard is None:
        return halves.reason or "not known"
    text = f"halves share {halves.jaccard:.0%} of their {found.k} strongest cells"
    between = found.between_clusters.jaccard
    return text if between is None else f"{text}, clusters {between:.0%}"
