"""From text to autoencoders in a folder: train, judge, describe, and write the card.

What is judged is what is written: weights are saved in fewer bits, read back, and everything
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
    in_documents,
    join,
    split,
)
from sonde.sae.evaluate import evaluate
from sonde.sae.feature_file import FEATURES, write_features
from sonde.sae.features import describe
from sonde.sae.formats.sonde import Bits, add_notes, save_autoencoder
from sonde.sae.label_file import LABELS
from sonde.sae.load import load_autoencoder
from sonde.sae.train import Recipe, Report, Sites, described, fast_products, train
from sonde.sae.trainee import Trainee
from sonde.schema.feature import Feature

DESCRIBED_TOKENS: Final = {"cuda": 3_000_000, "cpu": 500_000}
"""At most so many tokens are searched for what features do: what is active is kept, 5 kB a token
where 64 features are, and three million of them were more than 16 GB."""
QUOTED_TOKENS: Final = 700_000
"""At most so many are searched for snippets: those of many features then share their text, which
packs to a third of the bytes."""
OWN: Final = "written by the model"
"""The kind of text that is generated."""
STATE: Final = "state"
KEPT: Final = "held_out.txt"
"""Some of the held-out text, to judge by again."""
KEPT_CONTEXTS: Final = 24


@dataclass(frozen=True)
class Text:
    """What to train on."""

    documents: Sequence[str] = ()
    kinds: Sequence[str] = ()
    """What kind of text each document is, where that is known."""
    quoted: Sequence[bool] = ()
    """Whether snippets of it may be shown; all may where nothing is said."""
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
    kinds: tuple[str, ...] = ()
    """What the kinds of its contexts are called."""
    quoted: Contexts | None = None
    """Of what may be quoted; None where all may be."""


Say = Callable[[str], None]


def prepare(reader: Reader, text: Text, say: Say) -> Material:
    """Cut the documents, let the model write, and hold some of both out."""
    pairs: list[tuple[Contexts, Contexts]] = []
    quoted: list[Contexts] = []
    whole, kinds = True, list(dict.fromkeys(text.kinds))
    if text.documents:
        say(f"cutting {len(text.documents):,} documents into contexts")
        cut = from_text(reader, text.documents, text.context)
        whole = in_documents(cut)
        assert cut.documents is not None
        if kinds:
            numbers = torch.tensor([kinds.index(kind) for kind in text.kinds])
            cut = replace(cut, kinds=numbers[cut.documents])
        if not all(text.quoted):
            quoted.append(quotable(cut, text.quoted))
        pairs.append(split(cut))
    if text.generate:
        after = quotable(pairs[0][0], text.quoted) if pairs else None
        say(f"writing {text.generate:,} tokens")
        with fast_products():
            made = generated(
                reader, text.generate, text.context, after=after or None, seed=text.seed
            )
        if kinds:
            kinds.append(OWN)
            made = replace(made, kinds=torch.full((len(made),), len(kinds) - 1))
        if quoted:
            quoted.append(made)
        pairs.append(split(made))
    parts = [part for pair in pairs for part in pair]
    notes = {
        "tokens": sum(part.n_tokens for part in parts),
        "generated": text.generate,
        "context": text.context,
        "held_out_one_in": HELD_OUT,
        "held_out": "documents" if whole else "end",
        "sources": [dict(source) for source in text.sources],
    }
    held_out = join([b for _, b in pairs])
    if not len(held_out):
        raise BadRequest(
            f"{sum(map(len, parts)):,} contexts of {text.context} tokens are too few: one in "
            f"{HELD_OUT} is held out to judge by. Give more --text, --generate more, or a smaller "
            "--context"
        )
    train = join([a for a, _ in pairs])
    return Material(train, held_out, notes, tuple(kinds), join(quoted) if quoted else None)


def cut_for_description(
    reader: Reader, text: Text, n_tokens: int
) -> tuple[Contexts, Contexts, tuple[str, ...]]:
    """Contexts to describe features over, those of them to quote, and what kinds there are."""
    kinds = tuple(dict.fromkeys(text.kinds))
    cut = from_text(reader, text.documents, text.context)
    assert cut.documents is not None
    if kinds:
        cut = replace(
            cut, kinds=torch.tensor([kinds.index(kind) for kind in text.kinds])[cut.documents]
        )
    quoted = quotable(cut, text.quoted)
    if not len(quoted):
        raise BadRequest("none of this text may be quoted, so there would be no snippets")
    return few(cut, n_tokens), few(quoted, QUOTED_TOKENS), kinds


def quotable(contexts: Contexts, quoted: Sequence[bool]) -> Contexts:
    """Those of documents that may be quoted. What the model goes on from is quoted with it."""
    if all(quoted) or contexts.documents is None:
        return contexts
    return contexts.take(torch.tensor([*quoted])[contexts.documents])


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
    bits: Bits | None = None,
) -> dict[int, Path]:
    """Train one autoencoder a layer and write each into a folder of its own."""
    began = time.monotonic()
    trainees = train(reader, material.train, sites, recipe, state=out / STATE, report=report)
    say(f"trained in {time.monotonic() - began:.0f} s")
    facts = {"recipe": described(recipe), "text": material.notes, **notes}
    folders = {layer: out / f"layer_{layer}" for layer in sites.layers}
    finished = {
        layer: keep(trainee, sites, layer, model, facts, folders[layer], bits)
        for layer, trainee in trainees.items()
    }
    every = -(-len(material.held_out) // KEPT_CONTEXTS)
    text = as_text(reader, material.held_out.take(slice(every // 2, None, every)))
    (out / KEPT).write_text(text, encoding="utf-8")
    if bits is not None:
        judge_rounding(reader, finished, folders, material, bits, say)
    judge_and_describe(reader, folders, material, say)
    training_state.remove(out / STATE)
    return folders


def keep(
    trainee: Trainee,
    sites: Sites,
    layer: int,
    model: str,
    facts: Mapping[str, Any],
    folder: Path,
    bits: Bits | None = None,
) -> Autoencoder:
    """Save what was learned in fewer bits, and return it; labels of what lay there before go."""
    origin = Origin(model=model, notes=dict(facts))
    finished = trainee.finished(sites.hook, layer, origin, sites.hook_out)
    save_autoencoder(finished, folder, bits=bits)
    (folder / LABELS).unlink(missing_ok=True)
    return finished


def judge_rounding(
    reader: Reader,
    finished: Mapping[int, Autoencoder],
    folders: Mapping[int, Path],
    material: Material,
    bits: Bits,
    say: Say,
) -> None:
    """Note what was reached before weights were rounded, so that the loss can be seen."""
    say("judging before rounding")
    with fast_products():
        found = evaluate(reader, finished, material.held_out, say)
    for layer, folder in folders.items():
        held = found[layer].plain()
        kept = {name: held[name] for name in ("fvu", "l0", "ce_recovered")}
        add_notes(folder, {"unrounded": {"bits": list(bits), **kept}})


def judge_and_describe(
    reader: Reader, folders: Mapping[int, Path], material: Material, say: Say
) -> None:
    """Evaluate what is in the folders, describe its features, and write the cards."""
    loaded = {
        layer: load_autoencoder(folder).to(reader.device) for layer, folder in folders.items()
    }
    with fast_products():
        found = evaluate(reader, loaded, material.held_out, say)
        some = _some(material, described_tokens(reader))
        activity: dict[int, dict[str, Any]] = {}
        for layer, folder in folders.items():
            features = describe(
                reader, loaded[layer], layer, some, say,
                kinds=material.kinds, quoted=_few(material.quoted, QUOTED_TOKENS),
            )  # fmt: skip
            write_features(folder / FEATURES, features)
            activity[layer] = {"tokens": some.n_tokens, "never_active": never_active(features)}
    for layer, folder in folders.items():
        add_notes(folder, {"evaluation": found[layer].plain(), "described": activity[layer]})
        write_card(folder)


def described_tokens(reader: Reader) -> int:
    """On how many tokens features are described on the reader's device."""
    return DESCRIBED_TOKENS["cuda" if reader.device.type == "cuda" else "cpu"]


def never_active(features: Sequence[Feature]) -> float:
    """The share of features that no token of the text they are described on makes active."""
    return sum(feature.rate == 0 for feature in features) / len(features)


def _some(material: Material, n_tokens: int) -> Contexts:
    """Contexts from all over the text, held out or not."""
    return few(join([material.held_out, material.train]), n_tokens)


def _few(contexts: Contexts | None, n_tokens: int) -> Contexts | None:
    return None if contexts is None else few(contexts, n_tokens)


def few(both: Contexts, n_tokens: int) -> Contexts:
    """Contexts from all over some text, at most so many tokens, always the same."""
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(len(both), generator=generator)
    enough = max(1, min(len(both), n_tokens * len(both) // max(both.n_tokens, 1)))
    return both.take(order[:enough])
