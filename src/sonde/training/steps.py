"""One optimizer step as it is written: completions in order, token numbers, nine numbers.

Completions of all ranks are put in the order in which they were generated, whatever order they were
trained on in. Token numbers count every completion token of the step, recorded or not, so a record
joins to the one generation whose span holds its number. A completion that several steps learn from
keeps the name it got in the first, and its passes are numbered.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sonde.runs.spool import Chunk
from sonde.schema.records import Generation, GRPOMetrics
from sonde.training.encoding import Recorded
from sonde.training.lines import NonFinite, chunk
from sonde.training.pieces import Sample


@dataclass(frozen=True)
class StepLines:
    """What a step adds to the files."""

    generations: list[Generation]
    records: list[Chunk]


@dataclass
class Names:
    """What completions and their groups were called when a step first learnt from them."""

    passes: dict[tuple[int, int], int] = field(default_factory=dict)
    """How often a completion was learnt from, by batch and index."""
    _ids: dict[tuple[int, int], str] = field(default_factory=dict)
    _groups: dict[tuple[int, int], str] = field(default_factory=dict)

    def of(self, step: int, recorded: Iterable[Recorded]) -> list["Named"]:
        """The completions of a step by name and pass, in the order they were generated in."""
        ordered = sorted(recorded, key=lambda done: (done.sample.batch, done.sample.index))
        found, groups = [], 0
        for number, done in enumerate(ordered):
            sample = done.sample
            which, group = (sample.batch, sample.index), (sample.batch, sample.group)
            self.passes[which] = self.passes.get(which, 0) + 1
            if group not in self._groups:
                self._groups[group] = f"{step}-{groups}"
                groups += 1
            name = self._ids.setdefault(which, f"{step}-{number}")
            found.append(Named(done, name, self._groups[group], self.passes[which]))
        self._forget(max((done.sample.batch for done in ordered), default=0))
        return found

    def _forget(self, newest: int) -> None:
        """Keep this batch and the one before: a step can take rows of both, never of older ones."""
        for known in (self.passes, self._ids, self._groups):
            for key in [key for key in known if key[0] < newest - 1]:
                del known[key]


@dataclass(frozen=True)
class Named:
    """A completion as one step learns from it."""

    done: Recorded
    name: str
    group: str
    pass_number: int


def step_lines(run_id: str, step: int, named: Iterable[Named], non_finite: NonFinite) -> StepLines:
    """Number the tokens of a step's completions, and say what is known of each."""
    generations, records, token = [], [], 0
    for each in named:
        done = each.done
        end = token + done.span
        generations.append(
            Generation(
                run_id=run_id,
                step=step,
                generation_id=each.name,
                group_id=each.group,
                token_start=token,
                token_end=end,
                prompt_token=end - 1 if done.span > done.length else None,
                **_facts(done.sample, each.pass_number),
            )
        )
        if lines := chunk(done, step, token, non_finite):
            records.append(lines)
        token = end
    return StepLines(generations, records)


def step_metrics(step: int, samples: Sequence[Sample]) -> GRPOMetrics:
    """The nine numbers of a step. What nobody gave a reward is left out of the means."""
    rewards = [reward for sample in samples if (reward := finite(sample.reward)) is not None]
    advantages = [value for sample in samples if (value := finite(sample.advantage)) is not None]
    gates = [gate for sample in samples if (gate := _gate(sample)) is not None]
    return GRPOMetrics(
        iteration=step,
        rewards_mean=_mean(rewards),
        rewards_std=_std(rewards),
        rewards_min=min(rewards, default=None),
        rewards_max=max(rewards, default=None),
        advantage_mean=_mean(advantages),
        advantage_std=_std(advantages),
        r_a_pass_rate=_mean([float(gate) for gate in gates]),
        n_invalid_compositions=sum(sample.invalid for sample in samples),
    )


def finite(value: float | None) -> float | None:
    """The value, or None for what JSON cannot say."""
    return value if value is not None and math.isfinite(value) else None


def _facts(sample: Sample, pass_number: int) -> dict[str, Any]:
    """What a generation's line says about the completion itself."""
    parts = dict(zip(("R_A", "R_B", "R_C", "R_D"), map(finite, sample.parts), strict=True))
    return {
        "prompt_tokens": sample.prompt_tokens,
        "completion_tokens": sample.completion_tokens,
        "truncated": sample.truncated,
        "pass": pass_number,
        "R": finite(sample.reward),
        **parts,
        "gate": _gate(sample),
        "advantage": finite(sample.advantage),
        "prompt": sample.prompt,
        "completion": sample.completion,
    }


def _gate(sample: Sample) -> bool | None:
    """Whether R_A = 1; None where the reward has no gate."""
    return None if sample.parts[0] is None else sample.parts[0] == 1


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _std(values: Sequence[float]) -> float | None:
    """With n − 1; None for a single value."""
    return statistics.stdev(values) if len(values) > 1 else None
