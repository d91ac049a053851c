"""`sonde sae label`: have features labelled, or import labels, each with its score."""

from __future__ import annotations

import json
import random
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from sonde.cli import parse
from sonde.cli.loading import load_model, placing, torch_backend
from sonde.cli.options import as_json, number, seeded
from sonde.cli.progress import progress
from sonde.cli.sae_options import context_option, layer_of, load, model_option, text_option, told
from sonde.errors import BadRequest
from sonde.results.numbers import fixed
from sonde.sae import shipped

CHANCE = 0.5
LEAST = 0.7


@click.command("label", short_help="Label features, and measure how far each label is true.")
@click.argument("autoencoder")
@click.option("--explainer", metavar="URL", help="Ask this OpenAI-protocol address for labels.")
@click.option("--explainer-model", metavar="NAME", help="Which model there. Default: the only one.")
@click.option(
    "--scorer", metavar="URL", help="Ask this address to score them. Default: the explainer."
)
@click.option("--scorer-model", metavar="NAME", help="Which model there.")
@click.option(
    "--import",
    "imported",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Take labels from an export of Neuronpedia, or from a folder of Delphi's.",
)
@click.option("--features", metavar="NUMBERS", help="These features: 12,4071.")
@number("--most", "So many features, drawn at random from those that are not dead.")
@click.option(
    "--least",
    type=click.FloatRange(0, 1),
    default=LEAST,
    metavar="SCORE",
    help=f"Keep labels with this detection score or more; {CHANCE} is chance. Default: {LEAST}.",
)
@seeded
@model_option
@text_option
@context_option
@told
@placing
@as_json
def label_command(
    autoencoder: str,
    explainer: str | None,
    explainer_model: str | None,
    scorer: str | None,
    scorer_model: str | None,
    imported: Path | None,
    features: str | None,
    most: int | None,
    least: float,
    seed: int,
    name: str,
    text: Path | None,
    context: int,
    dtype: str | None,
    device: str | None,
    as_json: bool,
    **said: Any,
) -> None:
    """Label features of AUTOENCODER with a language model, or import labels of others.

    The model sees snippets of a feature's description and says what they share. Then it is shown
    held-out snippets, some with the feature and some without, and has to tell which; the share that
    it gets right is the label's score. Labels without a score, or below --least, are not kept. They
    go into labels.json beside the weights, and are shown wherever the feature is. A key for the
    address goes into SONDE_EXPLAINER_KEY.
    """
    if (imported is None) == (explainer is None):
        raise BadRequest("say where labels come from: --explainer URL, or --import PATH")
    path = shipped.find(autoencoder)
    if imported is not None:
        _import(path, imported, least, **said)
        return
    assert explainer is not None
    from sonde.sae.corpus import documents, from_text
    from sonde.sae.feature_file import FEATURES, read_some
    from sonde.sae.label_file import read_labels, write_labels
    from sonde.sae.labelling.asking import asking
    from sonde.sae.labelling.snippets import held_out_trials
    from sonde.sae.labelling.write import marked, write_label

    held = load(path, **said)
    folder = Path(held.origin.folder or path)
    described = read_some(folder / FEATURES, _wanted(features, held.d_sae, most, seed))
    described = [each for each in described if features or each.snippets][: most or None]
    kept = read_labels(folder, held.origin.sha256)
    told_of: list[dict[str, Any]] = []
    with ExitStack() as stack:
        ask = stack.enter_context(asking(explainer, explainer_model))
        score = stack.enter_context(asking(scorer, scorer_model)) if scorer else ask
        shown = stack.enter_context(progress(f"loading {name}"))
        reader = torch_backend(load_model(name, shown, dtype=dtype, device=device)).reader
        contexts = from_text(reader, documents(text or shipped.JUDGED), context)
        shown.say(f"looking for {len(described)} features in {contexts.n_tokens:,} held-out tokens")
        trials = held_out_trials(
            reader, held.to(reader.device), layer_of(held), contexts,
            [each.feature for each in described],
            without=[
                {marked(s).replace("«", "").replace("»", "") for s in each.snippets}
                for each in described
            ],
            seed=seed,
        )  # fmt: skip
        for n, (feature, some) in enumerate(zip(described, trials, strict=True)):
            shown.now(f"asking {ask.name}: feature {n + 1} of {len(described)}")
            written = write_label(feature, some, ask, score)
            made, reason = written.label, written.reason
            if made is not None and made.score is not None and made.score < least:
                reason = f"“{made.text}” scored {fixed(made.score, 2)}, below {least:g}"
            elif made is not None:
                kept[feature.feature] = made
                write_labels(folder, kept, held.origin.sha256)
            told_of.append({
                "feature": feature.feature, "kept": reason is None, "reason": reason,
                "label": made.model_dump() if made else None,
            })  # fmt: skip
    if as_json:
        click.echo(json.dumps(told_of, indent=1, allow_nan=False))
        return
    for each in told_of:
        label = each["label"]
        line = each["reason"] or f"{label['text']} (detection {fixed(label['score'], 2)})"
        click.echo(f"{each['feature']:>6}  {'' if each['kept'] else 'no label: '}{line}")
    n = sum(bool(each["kept"]) for each in told_of)
    click.echo(f"{n} of {len(told_of)} features labelled; the labels are in {folder}")


def _import(path: Path, source: Path, least: float, **said: Any) -> None:
    """Take the labels of others that are scored, and say what was left out."""
    from sonde.sae.label_file import read_labels, write_labels
    from sonde.sae.labelling.imported import import_labels

    held = load(path, **said)
    folder = Path(held.origin.folder or path)
    found = import_labels(source)
    beyond = sorted(feature for feature in found.labels if feature >= held.d_sae)
    if beyond:
        raise BadRequest(
            f"{source} labels feature {beyond[-1]}, and {path} has {held.d_sae:,}: it speaks of "
            "another dictionary"
        )
    good = {n: label for n, label in found.labels.items() if (label.score or 0) >= least}
    if good:
        kept = read_labels(folder, held.origin.sha256) | good
        write_labels(folder, kept, held.origin.sha256)
    click.echo(
        f"{len(good)} labels imported; left out: {len(found.labels) - len(good)} scored below "
        f"{least:g}, {found.unscored} without a score; the labels are in {folder}"
    )


def _wanted(features: str | None, d_sae: int, most: int | None, seed: int) -> list[int]:
    """The features that were named, or all in random order: dead ones fall away later."""
    if (features is None) == (most is None):
        raise BadRequest("say which features: --features 12,4071, or --most 20")
    if features is not None:
        return parse.numbers("--features", features, "write 12,4071")
    return random.Random(seed).sample(range(d_sae), d_sae)
