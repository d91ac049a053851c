"""`sonde ablate RUN --reward`: what the reward of a run hangs on, from the command line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from sonde.cli.loading import unload
from sonde.cli.progress import Progress
from sonde.errors import BadRequest
from sonde.results import files

if TYPE_CHECKING:
    from sonde.model import Model
    from sonde.results import RewardSweep
    from sonde.reward.exam import Exam
    from sonde.runs.layout import RunLayout
    from sonde.schema.table import FeatureAxis

OWN = "run"
"""What `--reward` without a value says: the run's own verifier."""


@dataclass(frozen=True)
class RewardOptions:
    """What the options say."""

    reward: str
    """`run`, or FILE:NAME."""
    prompts: Path | None
    completions: int
    step: int | None
    layer: int | None
    features: list[int] | None
    how: Literal["remove", "clamp"] | None
    value: float | None
    draws: int | None
    seed: int
    sae: str | None
    top: int | None = None
    """How many features, where none is named."""


def rewarding(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a test of the reward."""
    from sonde.cli.options import number

    reward = click.option(
        "--reward",
        is_flag=False,
        flag_value=OWN,
        metavar="[FILE:NAME]",
        help="Test what the reward hangs on: sample completions with each feature changed, on "
        "prompts that the run was not trained on, and grade them as it does. A reward of your "
        "own is named.",
    )
    prompts = click.option(
        "--prompts",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="With a reward of your own: its prompts, one JSON object a line.",
    )
    completions = number("--completions", "With --reward: how many prompts are completed.", least=2)
    step = number("--step", "With --reward: which checkpoint. Default: the last.", least=0)
    return reward(prompts(completions(step(command))))


def test_reward(
    layout: RunLayout, asked: RewardOptions, shown: Progress, load: Callable[..., Model]
) -> RewardSweep:
    """Sample, grade and tell; what comes out is kept with the run."""
    from sonde.results import Provenance, RewardSweep
    from sonde.reward.sampling import sweep_reward
    from sonde.runs.kept_rewards import keep_reward
    from sonde.sae.load import load_autoencoder
    from sonde.schema.reward import RewardTest
    from sonde.schema.table import SweepRequest, TableSummary

    step = _step(layout, asked.step)
    axis, folder = _features(layout, asked)
    exam = _exam(layout, asked)
    model = load(str(layout.checkpoint(step)), progress=shown)
    test = RewardTest(run=layout.directory.name, step=step, prompts=asked.completions)
    request = SweepRequest(features=axis, reward=test, seed=asked.seed)
    autoencoder = load_autoencoder(folder)
    for event in sweep_reward(model.backend, request, exam, autoencoder, name=folder.name):
        shown.event(event)
        if isinstance(event, TableSummary):
            assert event.reward is not None
            keep_reward(layout, step, event.reward)
            source = Provenance.of(model.describe(), request, versions=_versions())
            unload(model)
            return RewardSweep(event, source)
    raise AssertionError("a test ends with its summary")


def show(found: RewardSweep, save: str | None, *, as_json: bool) -> None:
    """Print it, and write it where that was asked for."""
    from sonde.results.reward import lines

    if save is not None:
        format = Path(save).suffix.lower().removeprefix(".")
        click.echo(f"saved {files.write(save, found.encoded(format))}", err=True)
    if as_json:
        click.echo(found.to_json(), nl=False)
        return
    click.echo("\n".join(lines(found, shutil.get_terminal_size().columns)))


def _versions() -> dict[str, str]:
    from sonde.results.provenance import versions

    return versions()


def _step(layout: RunLayout, step: int | None) -> int:
    from sonde.runs.listing import checkpoints

    there = checkpoints(layout)
    if not there:
        raise BadRequest("the run has no checkpoint to sample from: train with --save-steps")
    if step is not None and step not in there:
        raise BadRequest(f"the run has no checkpoint of step {step}; it has {there}")
    return there[-1] if step is None else step


def _features(layout: RunLayout, asked: RewardOptions) -> tuple[FeatureAxis, Path]:
    """Which features, and where their dictionary is."""
    from sonde.runs.reader import run_info
    from sonde.sae import shipped
    from sonde.sae.of_run import dictionary_of
    from sonde.schema.table import FeatureAxis

    info = run_info(layout)
    watched = [] if info is None else info.layers
    if asked.layer is None and not watched:
        raise BadRequest("which layer? The run watched none: give --layer, and --sae PATH")
    layer = asked.layer if asked.layer is not None else watched[-1]
    folder, reason = (
        dictionary_of(layout, layer) if asked.sae is None else (shipped.find(asked.sae), None)
    )
    if folder is None:
        raise BadRequest(f"{reason}; name the dictionary with --sae")
    axis = FeatureAxis(
        layer=layer, numbers=asked.features, how=asked.how, value=asked.value, draws=asked.draws,
        top=asked.top,
    )  # fmt: skip
    return axis, folder


def _exam(layout: RunLayout, asked: RewardOptions) -> Exam:
    from sonde.reward.exam import exam_of, read_rows
    from sonde.training.rewards.plugin import load_verifier

    rows = None if asked.prompts is None else read_rows(asked.prompts)
    verify = None if asked.reward == OWN else load_verifier(asked.reward)
    return exam_of(layout, asked.completions, seed=asked.seed, verify=verify, rows=rows)
