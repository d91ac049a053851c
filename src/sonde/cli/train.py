"""`sonde train`: a GRPO run whose features can be watched while it goes on.

Everything is decided, and refused where it must be, before a weight is loaded. With several
processes the command starts itself again, once for each, and only the first one speaks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sonde.cli.finding import configured
from sonde.cli.options import number, seeded
from sonde.cli.progress import progress
from sonde.cli.training_view import TrainingView, describe_plan
from sonde.errors import BadRequest, MissingExtra, RecordsLost, RunExists, RunInUse
from sonde.runs.archive import run_found
from sonde.runs.layout import RunLayout
from sonde.runs.lock import holder
from sonde.settings import CheckpointConfig, Settings, load_settings
from sonde.training import launch
from sonde.training.plan import Plan, choose_threads, find_dictionaries, watched_layers
from sonde.training.presets import DEFAULT, PRESETS, find_preset
from sonde.training.stopping import exit_status, stoppable
from sonde.training.worktree import find_worktree, guard_training

if TYPE_CHECKING:
    from sonde.training.grpo import Policy

EXAMPLES = """\b
Examples:
  sonde train --output-dir runs/one
  sonde train --policy-preset 9b-local-l0-50 --dry-run
  sonde train --output-dir runs/one --resume --max-steps 40
  sonde train --reward examples/custom_verifier.py:verify --prompts prompts.jsonl
"""

EXTRA = {"torch", "transformers", "trl", "peft", "datasets", "accelerate", "safetensors"}


@click.command("train", epilog=EXAMPLES, short_help="Train with GRPO and show the features.")
@click.option(
    "--policy-preset",
    "preset_name",
    default=DEFAULT,
    metavar="NAME",
    help=f"One of {', '.join(PRESETS)}. Default: {DEFAULT}.",
)
@click.option(
    "--output-dir",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIRECTORY",
    help="The run directory. Default: $SONDE_OUTPUT_DIR, or what the configuration says.",
)
@configured
@number("--sae-num-layers", "How many layers to watch, spread evenly.", least=None, default=2)
@click.option(
    "--sae-attach",
    type=click.Choice(["auto", "off"]),
    default="auto",
    help="off trains without looking at features. Default: auto.",
)
@click.option(
    "--sae-device",
    type=click.Choice(["cuda", "cpu"]),
    help="Where to encode. Default: where the policy is.",
)
@click.option(
    "--saes",
    metavar="WHERE",
    help="A folder of dictionaries, or a repository of them, instead of the preset's.",
)
@click.option(
    "--model", metavar="NAME", help="A policy of the same shape, instead of the preset's."
)
@click.option("--init-checkpoint", metavar="PATH", help="Begin with the weights of a checkpoint.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value="last",
    metavar="[STEP]",
    help="Go on from the last finished checkpoint, or from that of a step.",
)
@click.option(
    "--strict-resume/--no-strict-resume",
    default=True,
    help="Refuse to resume what would be another run, or only say so. Default: refuse.",
)
@click.option("--archive", is_flag=True, help="Set a run that is in the directory aside first.")
@number(
    "--save-steps",
    "Save every so many steps. Default: what the configuration says; a short run saves at "
    "its middle and its end.",
)
@number("--max-steps", "How long to train. Default: as long as the preset says.")
@number("--record-every-n-tokens", "Record one token of a completion in so many.", default=1)
@click.option("--reward", metavar="FILE:NAME", help="A verifier of your own.")
@click.option(
    "--prompts",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Prompts of your own, one JSON object a line.",
)
@seeded
@number("--threads", "For each process. Default: the idle cores.")
@number("--processes", "How many work together. Default: as many as the preset has GPUs.")
@click.option("--dry-run", is_flag=True, help="Say what would be loaded and needed; load nothing.")
def command(**options: Any) -> None:
    """Train a policy with GRPO, and write a run directory that shows its features.

    Without options: SmolLM2-135M on the catalog task, on the CPU, in a few minutes.
    """
    flags = {
        "aegir.p5.output_dir": options["output_dir"],
        "aegir.p5.save_steps": options["save_steps"],
    }
    settings = load_settings(options["config"], flags=flags)
    plan = decide(options, settings)
    threads = choose_threads(options["threads"], os.environ)
    if options["dry_run"]:
        for line in describe_plan(plan, threads):
            click.echo(line)
        return
    guard_training(find_worktree(Path.cwd()), plan.config.output_dir, os.environ)
    first = launch.rank() == 0
    if first:
        check_directory(plan, archive=options["archive"])
    if launch.needs_launch(plan):
        arguments = sys.argv[sys.argv.index("train") + 1 :]
        told = launch.environment(plan, os.environ, threads)
        with stopped_by_signal(None):
            raise SystemExit(launch.run(launch.command(plan, arguments), told))
    os.environ["OMP_NUM_THREADS"] = str(threads)
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # read when TRL is imported
    try:
        carry_out(plan, options, threads, first=first)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        raise MissingExtra(f"training ({error.name} is not installed)", "train") from error


def decide(options: dict[str, Any], settings: Settings) -> Plan:
    """The plan that the options and the settings make."""
    preset = find_preset(options["preset_name"])
    recipe = preset.recipe
    if options["max_steps"] is not None:
        recipe = replace(recipe, max_steps=options["max_steps"])
    layers = watched_layers(
        preset, options["sae_num_layers"], options["sae_attach"], options["saes"]
    )
    if options["resume"] is not None and options["archive"]:
        raise BadRequest("--resume goes on with a run and --archive sets it aside; choose one")
    return Plan(
        preset=preset,
        recipe=recipe,
        base=options["init_checkpoint"] or options["model"] or preset.base,
        config=_saving(settings.checkpoint, recipe.max_steps, settings),
        layers=layers,
        dictionaries=find_dictionaries(preset, options["saes"], layers),
        sae_device=options["sae_device"] or ("cuda" if preset.gpus else "cpu"),
        processes=options["processes"] or max(preset.gpus, 1),
        seed=options["seed"],
        resume=options["resume"],
        record_every_n_tokens=options["record_every_n_tokens"],
    )


def _saving(config: CheckpointConfig, max_steps: int, settings: Settings) -> CheckpointConfig:
    """As configured; a short run without a word about it saves at its middle and at its end."""
    if "aegir.p5.save_steps" in settings.origins or max_steps > config.save_steps:
        return config
    return replace(config, save_steps=max(1, max_steps // 2))


def check_directory(plan: Plan, *, archive: bool) -> None:
    """Refuse early what the writer would refuse after the weights are loaded."""
    layout = plan.config.layout()
    try:
        layout.directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadRequest(
            f"cannot make the run directory {layout.directory}: {error.strerror}; choose another "
            "with --output-dir or SONDE_OUTPUT_DIR"
        ) from error
    if who := holder(layout.directory):
        raise RunInUse(str(layout.directory), who)
    found = run_found(layout)
    if found and plan.resume is None and not archive:
        raise RunExists(str(layout.directory), found)
    if plan.resume is not None and not found:
        raise BadRequest(
            f"there is no run in {layout.directory} to resume; leave --resume out to begin one"
        )


def carry_out(plan: Plan, options: dict[str, Any], threads: int, *, first: bool) -> None:
    """Load, train, and show how it went."""
    import torch

    from sonde.training.dictionaries import load_dictionaries
    from sonde.training.grpo import assignment, prepare

    torch.set_num_threads(threads)
    count = plan.recipe.max_steps * plan.recipe.prompts_per_step
    asked = assignment(count, plan.seed, prompts=options["prompts"], reward=options["reward"])
    with progress("loading") as shown:
        say = shown.say if first else _say_nothing
        policy = load_policy(plan, say)
        saes = load_dictionaries(plan, say)
    view = TrainingView(plan, threads)
    training = prepare(
        plan,
        policy,
        saes,
        asked,
        existing="archive" if options["archive"] else "refuse",
        strict_resume=options["strict_resume"],
        listen=view.step,
    )
    if first:
        view.begin(rewards_before(plan.config.layout(), training.step))
    with stopped_by_signal(plan if first else None):
        training.run()
    ended = training.sidecar.ended
    if first:
        view.end(ended.counts if ended else None)
    if ended is not None and ended.lost:
        raise RecordsLost(str(plan.config.output_dir), ended.lost, ended.why)


def rewards_before(layout: RunLayout, step: int) -> dict[int, float | None]:
    """The mean reward of each step that a resumed run goes on from."""
    from sonde.runs.analytics.companions import Companion
    from sonde.runs.analytics.steplines import MetricsLine

    _, found = Companion(layout.metrics, MetricsLine).advance() if step else (False, [])
    lines = (each.value for each in found)
    return {line.iteration: line.rewards_mean for line in lines if line.iteration <= step}


@contextmanager
def stopped_by_signal(plan: Plan | None) -> Iterator[None]:
    """Ctrl-C or SIGTERM in the block: the usual exit status, and how to go on where that helps."""
    try:
        with stoppable():
            yield
    except KeyboardInterrupt as interrupt:
        if plan is not None:
            click.echo(
                f"stopped; go on with --output-dir {plan.config.output_dir} --resume", err=True
            )
        raise SystemExit(exit_status(interrupt)) from interrupt


def load_policy(plan: Plan, say: Any) -> Policy:
    """The plan's model and tokenizer."""
    from sonde.backends.torch.loading.load import load_model
    from sonde.training.grpo import Policy

    device = "cpu" if plan.preset.gpus == 0 or plan.preset.strategy == "fsdp" else None
    loaded = load_model(plan.base, dtype=plan.recipe.dtype, device=device, progress=say)
    return Policy(loaded.model, loaded.tokenizer)


def _say_nothing(_line: str) -> None:
    """What all processes but the first say."""
