"""`sonde ablate`: take features out of a prompt, and see what becomes of the answer.

The join of the two flows: a feature that was seen in a run becomes a test on that run's checkpoint.
"""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sonde.cli import parse
from sonde.cli.finding import analysed, find, hub_of, placed, read_all
from sonde.cli.loading import load_model, torch_backend
from sonde.cli.options import as_json, number
from sonde.cli.progress import Progress, progress
from sonde.cli.terminal import terminal_pen
from sonde.errors import BadRequest
from sonde.results import files
from sonde.sae import shipped
from sonde.sae.feature_file import FEATURES, read_some

if TYPE_CHECKING:
    from sonde.model import Model
    from sonde.runs.layout import RunLayout
    from sonde.runs.moment import Moment
    from sonde.schema.ablation import Ablation
    from sonde.schema.analytics import GenerationPage
    from sonde.schema.feature import Feature

SAVED = (".html", ".json")
LOOKED_AT = 64
"""Passed generations among which those with the most reward are tried."""
TRIED = 8
WATCHED = 8
"""Of the features recorded at a token, the strongest so many."""

EXAMPLES = """\b
Examples:
  sonde ablate --prompt "The Eiffel Tower is in the city of" --answer " Paris" --layer 15
  sonde ablate my-run
  sonde ablate my-run --generation 19-3 --layer 15 --features 748,3844 --save why.html
"""


@dataclass(frozen=True, eq=False)
class Asked:
    """What is removed from what."""

    model: Model
    dictionary: Path
    layer: int
    tokens: tuple[int, ...]
    answer: int
    features: tuple[int, ...] | None
    title: str


@click.command("ablate", epilog=EXAMPLES, short_help="Remove features, and see what they did.")
@click.argument("run", required=False)
@placed
@click.option(
    "--generation", metavar="ID", help="Which one. Without it, a passed one with a high reward."
)
@number(
    "--token", "A recorded token of it. Without it, the one that hung most in the balance.", least=0
)
@click.option("--prompt", metavar="TEXT", help="A prompt of your own, instead of a run.")
@click.option("--answer", metavar="TEXT", help="The token that is graded: --answer ' Paris'.")
@number("--layer", "Whose features. Without it, the last layer that was watched.", least=0)
@click.option("--features", metavar="NUMBERS", help="748,3844. Without it, the strongest there.")
@click.option(
    "--sae", metavar="PATH", help="An autoencoder, instead of the run's or a shipped one."
)
@click.option(
    "--model",
    "name",
    metavar="NAME",
    help="A model as in `sonde sweep`. Without it, the run's checkpoint, or smollm2.",
)
@click.option("--save", metavar="FILE", help="Write a page (.html) or everything (.json).")
@as_json
def command(
    run: str | None,
    output_dir: Path | None,
    config: Path | None,
    generation: str | None,
    token: int | None,
    prompt: str | None,
    answer: str | None,
    layer: int | None,
    features: str | None,
    sae: str | None,
    name: str | None,
    save: str | None,
    as_json: bool,
) -> None:
    """Remove single features from the residual stream, and grade the answer without each.

    RUN is a run directory or its name. A token of one of its passed generations is looked at on the
    nearest checkpoint: everything before it is the prompt, the token said next is the answer. With
    --prompt and --answer, any prompt.

    Beside each feature stand random directions of the same length. What they do, any change of that
    size does.
    """
    _check(run, prompt, answer, generation, save)
    numbers = _numbers(features)
    with progress("reading the run" if prompt is None else "loading") as shown:
        if prompt is not None:
            asked = _about_prompt(prompt, answer or "", layer, sae, name, numbers, shown)
        else:
            layout = find(hub_of(output_dir, config), run)
            asked = _about_run(layout, generation, token, layer, sae, name, numbers, shown)
        shown.say(f"removing features of layer {asked.layer}")
        found, cards = remove(asked)
    if save is not None:
        _save(save, found, cards, asked.title)
    if as_json:
        click.echo(found.model_dump_json())
        return
    click.echo(drawn(found, cards, asked.title))


def remove(asked: Asked) -> tuple[Ablation, dict[int, Feature]]:
    """What was found, and what the features mean as far as that is described."""
    from sonde.sae.ablation import ablate
    from sonde.sae.load import load_autoencoder

    backend = torch_backend(asked.model)
    autoencoder = load_autoencoder(asked.dictionary).to(backend.reader.device)
    found = ablate(
        backend, backend.reader, autoencoder, asked.tokens, asked.answer,
        layer=asked.layer, features=asked.features,
    )  # fmt: skip
    described = asked.dictionary / FEATURES
    cards = read_some(described, [f.feature for f in found.features]) if described.is_file() else []
    return found, {card.feature: card for card in cards}


def drawn(found: Ablation, cards: dict[int, Feature], title: str) -> str:
    """The answer for this terminal."""
    from sonde.results.ablation import render_ablation

    width = shutil.get_terminal_size().columns
    return render_ablation(found, cards, pen=terminal_pen(), width=width, title=title)


def _check(
    run: str | None, prompt: str | None, answer: str | None, generation: str | None,
    save: str | None,
) -> None:  # fmt: skip
    if (prompt is None) != (answer is None):
        raise BadRequest("--prompt and --answer go together; without both, name a run")
    if prompt is not None and (run is not None or generation is not None):
        raise BadRequest("either a run or --prompt, not both")
    if save is not None:
        if Path(save).suffix.lower() not in SAVED:
            raise BadRequest(f"cannot save to {save!r}: the suffix is none of {', '.join(SAVED)}")
        files.check(save)


def _numbers(features: str | None) -> tuple[int, ...] | None:
    if features is None:
        return None
    form = "write numbers with commas between, such as 748,3844"
    return tuple(dict.fromkeys(parse.numbers("--features", features, form)))


def _about_prompt(
    prompt: str, answer: str, layer: int | None, sae: str | None, name: str | None,
    features: tuple[int, ...] | None, shown: Progress,
) -> Asked:  # fmt: skip
    if layer is None:
        raise BadRequest(f"which layer? --layer, one of {list(shipped.layers())} is shipped")
    dictionary = shipped.find(sae if sae is not None else str(layer))
    model = load_model(name or shipped.MODEL, shown)
    graded = model.backend.tokenize(answer, special=False)
    if len(graded) != 1:
        raise BadRequest(f"--answer {answer!r} is {len(graded)} tokens; it has to be one")
    tokens = tuple(model.backend.tokenize(prompt))
    title = f"features of layer {layer}, removed from {model.describe().name}"
    return Asked(model, dictionary, layer, tokens, graded[0], features, title)


def _about_run(
    layout: RunLayout, generation: str | None, token: int | None, layer: int | None,
    sae: str | None, name: str | None, features: tuple[int, ...] | None, shown: Progress,
) -> Asked:  # fmt: skip
    from sonde.runs.listing import checkpoints
    from sonde.runs.moment import checkpoint_near
    from sonde.sae.of_run import dictionary_of

    steps = checkpoints(layout)
    if not steps and name is None:
        checkpoint_near(steps, 0)
    newest = load_model(name or str(layout.directory / f"checkpoint-{steps[-1]}"), shown)
    moment = choose(layout, newest, generation=generation, layer=layer, token=token, shown=shown)
    near = None if name is not None else checkpoint_near(steps, moment.step)
    model = (
        newest
        if near is None or near == steps[-1]
        else load_model(str(layout.directory / f"checkpoint-{near}"), shown)
    )
    if sae is not None:
        dictionary = shipped.find(sae)
    else:
        found, reason = dictionary_of(layout, moment.layer)
        if found is None:
            raise BadRequest(f"{reason}; name the dictionary with --sae")
        dictionary = found
    by = f"checkpoint-{near}" if near is not None else model.describe().name
    title = (
        f"generation {moment.generation_id}, token {moment.token}: features of layer "
        f"{moment.layer}, removed on {by}"
    )
    watched = features or moment.features[:WATCHED]
    return Asked(model, dictionary, moment.layer, moment.tokens, moment.answer, watched, title)


def choose(
    layout: RunLayout,
    model: Model,
    *,
    generation: str | None,
    layer: int | None,
    token: int | None,
    shown: Progress,
) -> Moment:
    """The moment somebody means; else, of the best passed generations, the least decided one."""
    from sonde.runs.analytics.generation import generation_page, generation_view
    from sonde.runs.moment import moments_of

    def tokenize(text: str, special: bool) -> list[int]:
        return model.backend.tokenize(text, special=special)

    moments: list[Moment] = []
    failure: BadRequest | None = None
    with analysed(layout) as (analysis, connection):
        known = read_all(analysis, shown)
        if not known.layers:
            raise BadRequest(
                f"no features were recorded in {os.fspath(layout.directory)}; train with "
                "dictionaries (--sae-attach auto), or ask about a prompt with --prompt"
            )
        at = layer if layer is not None else known.layers[-1]
        page = generation_page(known, passed=True, limit=LOOKED_AT, text=False)
        names = [generation] if generation is not None else _best_first(page)[:TRIED]
        for name in names:
            try:
                view = generation_view(known, connection, name)
                moments += moments_of(view, tokenize, layer=at, token=token)
            except BadRequest as error:
                failure = failure or error
    if not moments:
        raise failure or BadRequest("no generation of this run passed; name one with --generation")
    return max(moments, key=lambda moment: undecided(model, moment))


def undecided(model: Model, moment: Moment) -> float:
    """How near to a coin's toss what was said next was: p (1 - p)."""
    [[logprob]] = model.backend.baselines([moment.tokens], [moment.answer], [])
    p = math.exp(logprob)
    return p * (1 - p)


def _best_first(page: GenerationPage) -> list[str]:
    best = sorted(page.generations, key=lambda row: -(row.R or 0.0))  # stable: newest first
    return [row.generation_id for row in best]


def _save(path: str, found: Ablation, cards: dict[int, Feature], title: str) -> None:
    from sonde.results.ablation_page import ablation_page

    html = Path(path).suffix.lower() == ".html"
    text = ablation_page(found, cards, title) if html else found.model_dump_json(indent=1)
    click.echo(f"saved {files.write(path, text.encode())}", err=True)
