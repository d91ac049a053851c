"""One optimizer step as it is written: completions in order, token numbers, nine numbers.

Completions of all ranks are put in the order in which they were generated, whatever order they were
trained on in. Token numbers count every completion token of the step, recorded or not, so a record
joins to the one generation whose span holds its number.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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


def step_lines(
    run_id: str, step: int, recorded: Iterable[Recorded], non_finite: NonFinite
) -> StepLines:
    """Number the completions of a step and their tokens."""
    ordered = sorted(recorded, key=lambda done: (done.sample.batch, done.sample.index))
    groups: dict[tuple[int, int], int] = {}
    generations, records, token = [], [], 0
    for number, done in enumerate(ordered):
        sample = done.sample
        group = groups.setdefault((sample.batch, sample.group), len(groups))
        end = token + done.length
        generations.append(
            Generation(
                run_id=run_id,
                step=step,
                generation_id=f"{step}-{number}",
                group_id=f"{step}-{group}",
                token_start=token,
                token_end=end,
                **_facts(sample),
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


def _facts(sample: Sample) -> dict[str, Any]:
    """What a generation's line says about the completion itself."""
    parts = dict(zip(("R_A", "R_B", "R_C", "R_D"), map(finite, sample.parts), strict=True))
    return {
        "prompt_tokens": sample.prompt_tokens,
        "completion_tokens": sample.completion_tokens,
        "truncated": sample.truncated,
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
