"""A finished test of the reward: what it owes to each feature, in words, in a picture, on a page.

The table of all completions stays beside it: what was said without a change and with each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from sonde.errors import BadRequest
from sonde.results.numbers import count, fixed, number, signed
from sonde.results.sweep import PathLike, Sweep
from sonde.results.tokens import fit, pad, visible
from sonde.schema.reward import RewardEffect, RewardFound
from sonde.schema.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 100
SHOWN = 3
"""Completions that are shown of a feature."""
NOTES = ("chosen", "prompts", "trained")
"""What was decided on the way, and is told."""


class Changed(NamedTuple):
    """A completion that became another."""

    prompt: str
    before: str
    after: str
    reward_before: float
    reward_after: float


@dataclass(frozen=True, repr=False)
class RewardSweep(Sweep):
    """What the reward of a run owes to features of its policy.

    result.verdict           # in one sentence
    result.effects           # every feature, the largest effect first, with interval and p
    result.completions(748)  # those that became others, the costliest first
    result.save("reward.html")
    """

    @property
    def reward(self) -> RewardFound:
        """All that was found."""
        if self.table.reward is None:
            raise BadRequest("this sweep tested no reward; ask for one with `reward`")
        return self.table.reward

    @property
    def verdict(self) -> str:
        """What it comes to."""
        return self.reward.verdict

    @property
    def effects(self) -> list[RewardEffect]:
        """Every feature, the largest effect first."""
        return self.reward.effects

    def completions(self, feature: int) -> list[Changed]:
        """The completions that became others with a feature changed, the costliest first."""
        cells, baseline = self._of("cells"), self._of("baseline")
        prompts, features = cells.axes
        if feature not in features.values:
            raise BadRequest(f"feature {feature} was not tested; there are {features.values}")
        place, width = features.values.index(feature), len(features.values)
        found = []
        for i, prompt in enumerate(prompts.labels):
            at = i * width + place
            before, after = (baseline.said or [])[i], (cells.said or [])[at]
            rewards = baseline.values["reward"][i], cells.values["reward"][at]
            if before != after and None not in (before, after, *rewards):
                found.append(Changed(prompt, before, after, *rewards))  # type: ignore[arg-type]
        return sorted(found, key=lambda each: each.reward_after - each.reward_before)

    def _of(self, kind: str) -> Table:
        return next(table for table in self.table.tables if table.kind == kind)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Each feature beside random directions."""
        return [(each.label, in_words(each)) for each in self.effects]

    def to_html(self, path: PathLike | None = None) -> str:
        """One page that needs nothing else."""
        from sonde.results.reward_page import reward_page

        return self._written(reward_page(self), path)

    def encoded(self, format: str) -> bytes:
        """The bytes of a file; a picture is of the effects."""
        if format not in ("png", "svg"):
            return super().encoded(format)
        import io

        import matplotlib

        made = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "sonde"}):  # the same result, the same bytes
            dated = {"Date": None} if format == "svg" else {}
            self.figure().savefig(made, format=format, dpi=200, metadata=dated)
        return made.getvalue()

    def figure(self) -> Figure:
        """Effects with their intervals, and random directions beside them."""
        from matplotlib.figure import Figure

        shown = self.effects[::-1]
        figure = Figure(figsize=(6.4, 1.2 + 0.45 * len(shown)), layout="constrained")
        ax = figure.subplots()
        for row, each in enumerate(shown):
            low = each.effect if each.low is None else each.low
            high = each.effect if each.high is None else each.high
            ax.plot(each.random, [row] * len(each.random), "|", color="#9aa0a6", ms=12)
            ax.plot([low, high], [row, row], "-", color="#1f5fa8", lw=2)
            ax.plot([each.effect], [row], "o", color="#1f5fa8", ms=6)
        ax.axvline(0, color="#6a7078", lw=0.8)
        ax.set_yticks(range(len(shown)), [each.label for each in shown])
        ax.set_ylim(-0.6, len(shown) - 0.4)
        ax.set_xlabel("change of the mean reward, 95 % interval; | random directions as long")
        return figure

    def _repr_html_(self) -> str:
        from sonde.results.reward_page import body

        return "\n".join(body(self, heading="h3"))

    def __repr__(self) -> str:
        return f"<RewardSweep {self.verdict}>"

    def __str__(self) -> str:
        return "\n".join(lines(self, WIDTH))


def in_words(each: RewardEffect) -> str:
    """−0.33 [−0.42, −0.24], p 0.0003; random directions −0.02 to +0.01, beyond them p 0.002."""
    text = f"{signed(each.effect, 3)} {interval(each.low, each.high)}, p {number(each.p)}"
    if each.random:
        low, high = signed(min(each.random), 3), signed(max(each.random), 3)
        text += f"; random directions {low} to {high}, beyond them p {number(each.p_random)}"
    return f"{text}; {count(each.changed, 'completion')} changed"


def interval(low: float | None, high: float | None) -> str:
    """[−0.42, −0.24]"""
    return f"[{signed(low, 3)}, {signed(high, 3)}]"


def lines(result: RewardSweep, width: int) -> Iterator[str]:
    """The verdict first, then each feature, what it did to completions, and how it was tested."""
    found, notes = result.reward, result.table.notes
    yield from wrap(found.verdict, width)
    yield ""
    yield fit(without(found), width)
    for each in found.effects:
        yield ""
        yield from wrap(
            f"{pad(each.label, 10)} {in_words(each)}", width, subsequent_indent=" " * 11
        )
        for changed in result.completions(each.feature)[:SHOWN]:
            rewards = f"{fixed(changed.reward_before, 2)} → {fixed(changed.reward_after, 2)}"
            said = f"{visible(changed.before.strip())} → {visible(changed.after.strip())}"
            yield fit(f"{'':10} R {rewards}  {said}", width)
    yield ""
    for name in NOTES:
        if name in notes:
            yield from wrap(f"{pad(name, 10)} {notes[name]}", width, subsequent_indent=" " * 11)
    yield fit(f"{pad('control', 10)} {control(result)}", width)


def without(found: RewardFound) -> str:
    """What completions are worth as they are."""
    gate = "" if found.gate is None else f", {found.gate:.0%} pass the gate"
    return f"R {fixed(found.reward, 3)} without any change{gate}; {count(found.prompts, 'prompt')}"


def control(result: RewardSweep) -> str:
    """What came of an edit that adds nothing."""
    share = max((each.difference for each in result.controls), default=0.0)
    same = "the same completions" if share == 0 else f"{share:.0%} of completions others"
    return f"sampled by themselves with an edit that adds nothing: {same}"
