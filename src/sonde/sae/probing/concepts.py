"""Sparse probing: how much of a known concept one feature tells, or five (Gurnee et al., 2023).

Each concept is two lists of words in a few sentences, read at the word's last token. Half of the
words is held out, so that a feature of one word is of no use. Features are those whose means differ
most between the lists; a probe on the whole activation says how much there is to be told.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

from sonde.backends.torch.reading import Reader
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.probing import linear
from sonde.sae.probing.letters import apart
from sonde.sae.probing.read import at_the_end, in_sentences
from sonde.sae.probing.words import CONCEPTS, SENTENCES

FEW: Final = 5


@dataclass(frozen=True)
class ConceptAccuracy:
    """One concept: balanced accuracies on held-out words, where 0.5 is chance."""

    one: float
    """By the best feature."""
    few: float
    """By the FEW best."""
    all: float
    """By the whole activation."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {name: round(value, 4) for name, value in vars(self).items()}


def probe_concepts(
    reader: Reader, autoencoders: Sequence[tuple[int, Autoencoder]]
) -> list[dict[str, ConceptAccuracy]]:
    """Each dictionary on every concept."""
    found: list[dict[str, ConceptAccuracy]] = [{} for _ in autoencoders]
    for concept, (these, those) in CONCEPTS.items():
        words = [f" {word}" for word in (*these, *those)]
        prompts = in_sentences(reader, words, SENTENCES)
        number = torch.arange(len(words))[prompts.which]
        held = number % 2 == 1
        read = at_the_end(reader, prompts, autoencoders)
        for told, (_, each), x in zip(found, autoencoders, read, strict=True):
            yes, unseen = (number < len(these)).to(x.device), held.to(x.device)
            dense = each.encode(x).dense(each.d_sae)
            differs = apart(dense[~unseen], yes[~unseen]).abs()
            order = differs.topk(min(FEW, each.d_sae)).indices
            told[concept] = ConceptAccuracy(
                *(_told(rows, yes, unseen) for rows in (dense[:, order[:1]], dense[:, order], x))
            )
    return found


def _told(rows: torch.Tensor, yes: torch.Tensor, held: torch.Tensor) -> float:
    probe = linear.fit(rows[~held], yes[~held, None])
    return float(linear.accuracy(probe(rows[held]) > 0, yes[held, None]))
