"""All that is asked of a dictionary before it is believed, as the field asks it.

- How much it keeps, by kind of text: `evaluate`.
- How often its features are active, and how alike they are: `density`, neighbours.
- What it makes of concepts that are known: first letters and sparse probing, in `probing`.
- What its labels are worth: their scores, as they were measured when they were written.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final

from torch import Tensor

from sonde.backends.torch.reading import Reader
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.corpus import Contexts
from sonde.sae.evaluate import WHOLE, Evaluation, evaluate_kinds
from sonde.sae.features import neighbours
from sonde.sae.label_file import read_labels
from sonde.sae.probing.concepts import ConceptAccuracy, probe_concepts
from sonde.sae.probing.letters import Letters, first_letters

TWINS: Final = 0.7
"""Cosine from which two features point nearly the same way."""
GOOD: Final = 0.7
"""Detection score from which a label is worth reading."""


@dataclass(frozen=True)
class Alike:
    """How near features are to their nearest neighbour, by the cosine of decoder rows."""

    median: float
    twins: float
    """Share of features that have a neighbour at TWINS or nearer."""

    @classmethod
    def of(cls, W_dec: Tensor) -> "Alike | None":
        """None where there is one feature only."""
        if len(W_dec) < 2:
            return None
        nearest = neighbours(W_dec)[1][:, 0]
        return cls(float(nearest.median()), float((nearest >= TWINS).float().mean()))


@dataclass(frozen=True)
class Labelled:
    """What the labels beside a dictionary are worth."""

    labels: int
    scored: int
    """How many have a detection score."""
    median: float | None
    """Of these scores."""
    good: float | None
    """Share of them at GOOD or more."""

    @classmethod
    def beside(cls, folder: str | None) -> "Labelled | None":
        """None where there are no labels."""
        labels = read_labels(Path(folder)) if folder else {}
        if not labels:
            return None
        scores = [
            each.score
            for each in labels.values()
            if each.measure == "detection" and each.score is not None
        ]
        if not scores:
            return cls(len(labels), 0, None, None)
        return cls(
            len(labels), len(scores), median(scores), fmean(score >= GOOD for score in scores)
        )


@dataclass(frozen=True)
class Judgement:
    """One dictionary."""

    layer: int
    features: int
    k: int | None
    kinds: dict[str, Evaluation]
    """By kind of text, of the whole under WHOLE."""
    alike: Alike | None
    labelled: Labelled | None
    letters: Letters | None = None
    """None where nobody asked, or of a transcoder."""
    concepts: dict[str, ConceptAccuracy] | None = None
    """By concept; None where nobody asked."""

    @property
    def whole(self) -> Evaluation:
        """On all of the text."""
        return self.kinds[WHOLE]

    def plain(self) -> dict[str, Any]:
        """For JSON, kinds of text left out."""
        density, alike, labelled = self.whole.density, self.alike, self.labelled
        return {
            **self.whole.plain(),
            "features": self.features,
            "k": self.k,
            "density": None if density is None else density.plain(),
            "neighbours": None if alike is None else rounded(vars(alike)),
            "labels": None if labelled is None else rounded(vars(labelled)),
            "first_letters": None if self.letters is None else self.letters.plain(),
            "concepts": self.concepts
            and {name: told.plain() for name, told in self.concepts.items()},
        }


def rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    """With four decimals, which is more than anybody compares."""
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in values.items()}


def judge(
    reader: Reader,
    autoencoders: Sequence[tuple[int, Autoencoder]],
    kinds: Mapping[str, Contexts],
    *,
    concepts: bool,
    report: Callable[[str], None] = lambda _doing: None,
) -> list[Judgement]:
    """Each dictionary, with its layer, on the same text and the same words."""
    evaluated = evaluate_kinds(reader, autoencoders, kinds, report)
    letters: Sequence[Letters | None] = [None] * len(autoencoders)
    told: Sequence[dict[str, ConceptAccuracy] | None] = [None] * len(autoencoders)
    if concepts:
        report("probing for first letters")
        letters = first_letters(reader, autoencoders)
        report("probing for concepts")
        told = probe_concepts(reader, autoencoders)
    return [
        Judgement(
            layer=layer,
            features=each.d_sae,
            k=each.k,
            kinds=found,
            alike=Alike.of(each.W_dec),
            labelled=Labelled.beside(each.origin.folder),
            letters=by_letter,
            concepts=by_concept,
        )
        for (layer, each), found, by_letter, by_concept in zip(
            autoencoders, evaluated, letters, told, strict=True
        )
    ]
