"""What `sonde train` says: the plan, a line a step with an estimate, and the curve at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import click

from sonde.cli.curve import curve
from sonde.cli.progress import time_left
from sonde.results.numbers import count, duration, fixed, size
from sonde.training.plan import LORA_ALPHA, LORA_RANK, Plan, memory
from sonde.training.summary import StepSummary

if TYPE_CHECKING:
    from sonde.training.health import Counts

LINES = 40
"""About as many lines as a run gets, however long it is."""


def describe_plan(plan: Plan, threads: int) -> Iterator[str]:
    """What would be loaded, where, and what it needs."""
    preset, recipe, needed = plan.preset, plan.recipe, memory(plan)
    where = count(preset.gpus, "GPU") if preset.gpus else f"CPU, {count(threads, 'thread')}"
    yield f"policy       {plan.base} ({preset.parameters / 1e9:.3g}B parameters, {recipe.dtype})"
    processes = count(plan.processes, "process", "processes")
    yield f"on           {where}, {preset.strategy}, {processes}"
    if not plan.layers:
        yield "dictionaries none: features are not recorded"
    for layer in plan.layers:
        yield f"layer {layer:<6} {plan.dictionaries[layer]}, encoded on {plan.sae_device}"
    yield (
        f"recipe       {recipe.max_steps} steps of {recipe.prompts_per_step} prompts × "
        f"{recipe.num_generations} completions of up to {recipe.max_completion_length} tokens, "
        f"LoRA r {LORA_RANK} alpha {LORA_ALPHA}, learning rate {recipe.learning_rate:g}"
    )
    yield (
        f"files        {plan.config.output_dir}, saved every {plan.config.save_steps} steps, "
        f"{plan.config.save_total_limit} kept"
    )
    yield (
        f"memory       about {size(needed.total)} on each device: weights {size(needed.weights)}, "
        f"adapter {size(needed.adapter)}, dictionaries {size(needed.dictionaries)}, "
        f"activations {size(needed.activations)}"
    )


class TrainingView:
    """Hears of every step. `step` is called from the sidecar's thread."""

    def __init__(
        self, plan: Plan, threads: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._plan, self._threads, self._clock = plan, threads, clock
        self._rewards: dict[int, float | None] = {}
        self._cost: float | None = None
        self._times = [clock()]

    def begin(self, before: Mapping[int, float | None] | None = None) -> None:
        """Say that it goes off; `before` are the rewards of the steps that were resumed from."""
        self._rewards = dict(before or {})
        recipe, config = self._plan.recipe, self._plan.config
        self._times = [self._clock()]
        _say(
            f"training {self._plan.base} for {count(recipe.max_steps, 'step')} on "
            f"{count(self._threads, 'thread')}, files in {config.output_dir}"
        )
        _say(f"watch it: sonde serve --output-dir {config.output_dir}")

    def step(self, summary: StepSummary) -> None:
        """One line, or none where there are too many steps for one each."""
        self._times.append(self._clock())
        self._rewards[summary.step] = summary.metrics.rewards_mean
        if summary.health is not None and summary.health.sidecar_ms is not None:
            self._cost = summary.health.sidecar_ms
        for alarm in summary.new_alarms:
            _say(f"warning at step {summary.step}: {alarm}")
        total = self._plan.recipe.max_steps
        if summary.step % max(1, total // LINES) == 0 or summary.step == total:
            _say(self._line(summary, total))

    def end(self, counts: Counts | None = None) -> None:
        """The curve of the run, what was written of it, and where everything is."""
        steps = sorted(self._rewards)
        if not steps:
            return
        values = [self._rewards[step] for step in steps]
        for line in curve(values, title="mean reward by step", top=1.0):
            click.echo(line)
        fifth = max(1, len(values) // 5)
        before, after = _mean(values[:fifth]), _mean(values[-fifth:])
        click.echo(
            f"reward {fixed(before, 2)} in the first {count(fifth, 'step')}, "
            f"{fixed(after, 2)} in the last {fifth}"
        )
        if counts is not None:
            cost = (
                ""
                if self._cost is None
                else f", {duration(self._cost / 1000)} a step for recording"
            )
            click.echo(
                f"{counts.records_written:,} records written, {counts.records_dropped:,} left out"
                f"{cost}"
            )
        click.echo(f"run directory: {self._plan.config.output_dir}")

    def _line(self, summary: StepSummary, total: int) -> str:
        metrics = summary.metrics
        gate = metrics.r_a_pass_rate
        parts = [f"step {summary.step:>{len(str(total))}} of {total}"]
        parts.append(f"R {fixed(metrics.rewards_mean, 2)}")
        if gate is not None:
            parts.append(f"gate {gate:.0%}")
        done = len(self._times) - 1
        pace = (self._times[-1] - self._times[0]) / done
        parts.append(f"{duration(pace)} a step")
        if summary.step < total:
            parts.append(time_left(pace * (total - summary.step)))
        return "   ".join(parts)


def _mean(values: list[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def _say(line: str) -> None:
    from sonde.results.tokens import visible

    click.echo(visible(line), err=True)
