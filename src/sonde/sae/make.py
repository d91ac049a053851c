"""From text to autoencoders in a folder: train, judge, describe, and write the card.

What is judged is what is written: weights are saved in half precision, read back, and everything
said about them is said about those.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import torch

from sonde.backends.torch.reading import Reader
from sonde.errors import BadRequest
from sonde.sae import training_state
from sonde.sae.autoencoder import Autoencoder, Origin
from sonde.sae.cards import write_card
from sonde.sae.corpus import (
    HELD_OUT,
    Contexts,
    as_text,
    from_text,
    generated,
    join,
    split,
)
from sonde.sae.evaluate import evaluate
from sonde.sae.feature_file import FEATURES, write_features
from sonde.sae.features import describe
from sonde.sae.formats.sonde import save_autoencoder
from sonde.sae.load import load_autoencoder
from sonde.sae.train import Recipe, Report, Sites, described, fast_products, train
from sonde.sae.trainee import Trainee

DESCRIBED_TOKENS: Final = 3_000_000
"""At most so many tokens are searched for snippets."""
STATE: Final = "state"
KEPT: Final = "held_out.txt"
"""Some of the held-out text, to judge by again."""
KEPT_CONTEXTS: Final = 24


@dataclass(frozen=True)
class Text:
    """What to train on."""

    documents: Sequence[str] = ()
    generate: int = 0
    """Tokens for the model to write itself."""
    context: int = 256
    """Tokens in a context."""
    seed: int = 0
    sources: Sequence[Mapping[str, str]] = ()
    """Where the documents come from, for the card: what, licence, package."""


@dataclass(frozen=True, eq=False)
class Material:
    """Text as it will be read."""

    train: Contexts
    held_out: Contexts
    notes: dict[str, Any] = field(default_factory=dict)


Say = Callable[[str], None]


def prepare(reader: Reader, text: Text, say: Say) -> Material:
    """Cut the documents, let the model write, and hold some of both out."""
    parts = []
    if text.documents:
        say(f"cutting {len(text.documents):,} documents into contexts")
        parts.append(from_text(reader, text.documents, text.context))
    if text.generate:
        after = parts[0] if parts else None
        say(f"writing {text.generate:,} tokens")
        with fast_products():
            parts.append(
                generated(reader, text.generate, text.context, after=after, seed=text.seed)
            )
    pairs = [split(part) for part in parts]
    notes = {
        "tokens": sum(part.n_tokens for part in parts),
        "generated": text.generate,
        "context": text.context,
        "held_out_one_in": HELD_OUT,
        "sources": [dict(source) for source in text.sources],
    }
    held_out = join([b for _, b in pairs])
    if not len(held_out):
        raise BadRequest(
            f"{sum(map(len, parts)):,} contexts of {text.context} tokens are too few: one in "
            f"{HELD_OUT} is held out to judge by. Give more --text, --generate more, or a smaller "
            "--context"
        )
    return Material(join([a for a, _ in pairs]), held_out, notes)


def make(
    reader: Reader,
    model: str,
    material: Material,
    sites: Sites,
    recipe: Recipe,
    out: Path,
    *,
    notes: Mapping[str, Any],
    say: Say,
    report: Report,
) -> dict[int, Path]:
    """Train one autoencoder a layer and write each into a folder of its own."""
    began = time.monotonic()
    trainees = train(reader, material.train, sites, recipe, state=out / STATE, report=report)
    say(f"trained in {time.monotonic() - began:.0f} s")
    facts = {"recipe": described(recipe), "text": material.notes, **notes}
    folders = {layer: out / f"layer_{layer}" for layer in sites.layers}
    for layer, trainee in trainees.items():
        keep(trainee, sites, layer, model, facts, folders[layer])
    every = -(-len(material.held_out) // KEPT_CONTEXTS)
    text = as_text(reader, material.held_out.take(slice(every // 2, None, every)))
    (out / KEPT).write_text(text, encoding="utf-8")
    judge_and_describe(reader, folders, material, say)
    training_state.remove(out / STATE)
    return folders


def keep(
    trainee: Trainee, sites: Sites, layer: int, model: str, facts: Mapping[str, Any], folder: Path
) -> None:
    """Save what was learned in half precision."""
    origin = Origin(model=model, notes=dict(facts))
    finished = trainee.finished(sites.hook, layer, origin)
    save_autoencoder(finished, folder, dtype=torch.float16)


def judge_and_describe(
    reader: Reader, folders: Mapping[int, Path], material: Material, say: Say
) -> None:
    """Evaluate what is in the folders, describe its features, and write the cards."""
    loaded = {
        layer: load_autoencoder(folder).to(reader.device) for layer, folder in folders.items()
    }
    with fast_products():
        found = evaluate(reader, loaded, material.held_out, say)
        some = _some(material, DESCRIBED_TOKENS)
        for layer, folder in folders.items():
            features = describe(reader, loaded[layer], layer, some, say)
            write_features(folder / FEATURES, features)
    for layer, folder in folders.items():
        note(folder, loaded[layer], {"evaluation": found[layer].plain()})


def note(folder: Path, autoencoder: Autoencoder, more: Mapping[str, Any]) -> None:
    """Add to what an autoencoder's files say about it, and write its card anew."""
    origin = replace(autoencoder.origin, notes={**autoencoder.origin.notes, **more})
    save_autoencoder(replace(autoencoder, origin=origin), folder, dtype=torch.float16)
    write_card(folder)


def _some(material: Material, n_tokens: int) -> Contexts:
    """Contexts from all over the text, held out or not."""
    both = join([material.held_out, material.train])
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(len(both), generator=generator)
    enough = max(1, min(len(both), n_tokens * len(both) // max(both.n_tokens, 1)))
    return both.take(order[:enough])
