"""`sonde runs changed`: what a policy now does that it did not, and which features moved with it.

Two checkpoints of a run are read on texts that are kept with it, one after the other. What comes
out is kept with the run too, and shown by the page.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sonde.cli.finding import analysed, find, hub_of, placed, read_all
from sonde.cli.loading import load_model, unload
from sonde.cli.options import as_json, number, seeded
from sonde.cli.progress import Progress, progress
from sonde.errors import BadRequest

if TYPE_CHECKING:
    from sonde.model import Model
    from sonde.runs.layout import RunLayout
    from sonde.sae.gained import Feature, Move, Saes
    from sonde.schema.analytics import Coefficient
    from sonde.schema.changed import Changed, Probe

LOOKED_AT = 100_000
"""Generations among which texts are chosen."""


@dataclass(frozen=True)
class Effort:
    """How much is tried."""

    probes: int
    features: int
    draws: int
    seed: int


@click.command("changed")
@click.argument("run", required=False)
@placed
@number("--from", "The earlier step; 0 is the model it began as. Default: 0.", least=0)
@number("--to", "The later step. Default: the last checkpoint.", least=1)
@number("--probes", "Texts to choose, where the run has none yet.", default=16)
@number("--features", "Of each layer, features to put back.", least=0, default=12)
@number("--draws", "Random directions beside each.", least=0, default=19)
@seeded
@as_json
def changed(
    run: str | None,
    output_dir: Path | None,
    config: Path | None,
    to: int | None,
    probes: int,
    features: int,
    draws: int,
    seed: int,
    as_json: bool,
    **further: int | None,
) -> None:
    """What the policy now does that it did not: tokens, places, features.

    Completions of the run, chosen once and kept with it, are read at two checkpoints: which tokens
    gained log-probability, and which features moved where they are decided. The features that moved
    furthest are put back to what they were, and the gain that goes is what their change does,
    beside random directions of the same length.
    """
    from sonde.cli.changed_view import changed_page
    from sonde.runs.probes import keep_changed

    layout = find(hub_of(output_dir, config), run)
    first, last = steps_of(layout, further["from"], to)
    asked = Effort(probes, features, draws, seed)
    with progress("reading the run") as shown:
        found = compare(layout, first, last, asked, shown)
    path = keep_changed(layout, found)
    click.echo(f"kept as {path}", err=True)
    if as_json:
        click.echo(found.model_dump_json())
        return
    for line in changed_page(found, shutil.get_terminal_size().columns):
        click.echo(line)


def steps_of(layout: RunLayout, first: int | None, last: int | None) -> tuple[int, int]:
    """Which two checkpoints are meant."""
    from sonde.runs.listing import checkpoints

    there = checkpoints(layout)
    if not there:
        raise BadRequest("the run has no checkpoint to compare: train with --save-steps")
    first, last = first or 0, last if last is not None else there[-1]
    for step in (first, last):
        if step and step not in there:
            raise BadRequest(f"the run has no checkpoint of step {step}; it has {there}")
    if first >= last:
        raise BadRequest(f"from {first} to {last} nothing can have changed; --to has to be later")
    return first, last


def compare(
    layout: RunLayout,
    first: int,
    last: int,
    asked: Effort,
    shown: Progress,
    only: Sequence[Feature] | None = None,
) -> Changed:
    """Read the texts on both, put features back on the later one, and tell.

    `only` are the features that are put back, instead of those that moved furthest and all layers.
    """
    from sonde.sae.changed import text_of, told
    from sonde.sae.gained import moves, read, undone
    from sonde.sae.together import undone_together

    saes, reasons = dictionaries(layout)
    base = load_step(layout, first, last, shown)

    def fits(probe: Probe) -> bool:
        return text_of(base.backend, probe) is not None

    probes = probes_of(layout, asked.probes, fits, shown)
    each = [(probe, text_of(base.backend, probe)) for probe in probes]
    pairs = [(probe, text) for probe, text in each if text is not None]
    if not pairs:
        raise BadRequest(
            "no text of the run comes out at the tokens that were recorded: its tokenizer is "
            f"another; {layout.probes} has the texts"
        )
    texts = [text for _, text in pairs]
    layers = range(base.backend.describe().n_layers) if only is None else ()
    before = read(base.backend, texts, saes, layers)
    unload(base)
    model = load_step(layout, last, last, shown)
    after = read(model.backend, texts, saes, layers)
    every = moves(before, after, saes)
    if only is None:
        chosen = [move for layer in saes for move in _of_layer(every, layer)[: asked.features]]
    else:
        chosen = [move for move in every if (move.layer, move.feature) in only]
    found = undone(
        model.backend,
        texts,
        after,
        saes,
        chosen,
        draws=asked.draws,
        seed=asked.seed,
        say=shown.now,
    )
    together = undone_together(
        model.backend,
        texts,
        before,
        after,
        saes,
        every,
        draws=asked.draws,
        seed=asked.seed,
        say=shown.now,
    )
    shown.now("how features go with the reward")
    answer = told(
        model.backend,
        (first, last),
        [probe for probe, _ in pairs],
        texts,
        before,
        after,
        moved=chosen,
        undone=found,
        together=together,
        rewards=rewards_of(layout, [(move.layer, move.feature) for move in chosen], shown),
        owed=owed_to(layout, last),
        left_out=len(probes) - len(texts),
        reasons=reasons,
    )
    unload(model)
    return answer


def _of_layer(every: list[Move], layer: int) -> list[Move]:
    return [move for move in every if move.layer == layer]


def probes_of(
    layout: RunLayout, n: int, fits: Callable[[Probe], bool], shown: Progress
) -> list[Probe]:
    """The run's texts, chosen and kept when they are first asked for."""
    from sonde.runs.analytics.generation import generation_page
    from sonde.runs.probes import chosen, keep_probes, kept_probes

    if kept := kept_probes(layout):
        return kept
    with analysed(layout) as (analysis, _connection):
        page = generation_page(read_all(analysis, shown), limit=LOOKED_AT)
    found = chosen(page.generations, n, fits)
    if not found:
        why = "no text of the run comes out at the tokens that were recorded, with this tokenizer"
        raise BadRequest(page.reason or (why if page.total else "the run has no completions yet"))
    keep_probes(layout, found)
    return found


def dictionaries(layout: RunLayout) -> tuple[Saes, list[str]]:
    """The run's dictionaries, and why one is not to be had."""
    from sonde.runs.reader import run_info
    from sonde.sae.load import load_autoencoder
    from sonde.sae.of_run import dictionary_of

    info = run_info(layout)
    saes, reasons = {}, []
    for layer in info.layers if info is not None else []:
        path, why = dictionary_of(layout, layer)
        if path is None:
            reasons.append(f"layer {layer}: {why}")
        else:
            saes[layer] = load_autoencoder(path)
    if info is None:
        reasons.append("the run has no run.json, so it is not known which features were watched")
    return saes, reasons


def load_step(layout: RunLayout, step: int, last: int, shown: Progress) -> Model:
    """A checkpoint; at step 0 what its adapter was trained over, or the model the run names."""
    from sonde.backends.torch.loading.adapter import find_base, is_adapter
    from sonde.runs.reader import run_info

    checkpoint = layout.checkpoint(step or last)
    if step:
        return load_model(str(checkpoint), shown)
    if is_adapter(checkpoint):
        return load_model(str(find_base(checkpoint, shown.say)), shown)
    info = run_info(layout)
    if info is None:
        raise BadRequest("the run does not say which model it began as; name a step with --from")
    return load_model(info.model, shown)


def owed_to(layout: RunLayout, step: int) -> dict[Feature, float]:
    """What the reward owes to features that were tested for it on a checkpoint."""
    from sonde.runs.kept_rewards import kept_rewards

    found = {}
    for label, each in kept_rewards(layout, step).effects.items():
        layer, _, feature = label.partition(":")
        found[int(layer), int(feature)] = each.effect
    return found


def rewards_of(
    layout: RunLayout, features: list[Feature], shown: Progress
) -> dict[Feature, Coefficient | None]:
    """How these features go with the reward over the run."""
    from sonde.runs.analytics.tendency import with_reward

    with analysed(layout) as (analysis, connection):
        return with_reward(read_all(analysis, shown), connection, features)
