"""The first letter of a word: is it one feature, several, or swallowed by features of single words.

A model knows how words begin, and everyone can check it, so it is the field's test for two faults
of dictionaries (Chanin et al., 2024, “A is for Absorption”):

- **Splitting**   a concept is spread over several features. Features are added, the one that tells
  most first, until the next betters F1 by less than STEP: those are the letter's *main* features.
- **Absorption**  none of them is active on a word of that letter, although a probe on the
  activations sees the letter; what points that way is there is from another feature, as a rule
  that of the word. Counted where the strongest such feature has a cosine of at least ALIGNED with
  the probe and makes up at least HALF of what the activation has along it.

Words are the tokens that are letters alone, after a space, in one short sentence. A third of them
is held out: everything is counted on those. Letters with few words, or that the probe itself does
not see, are left out. Position, cosine and shares are the choices of this implementation: figures
compare between dictionaries judged here, not with those of other programs.
"""

import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from sonde.backends.torch.reading import Reader
from sonde.sae.active import Active
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.norms import normalise
from sonde.sae.probing import linear
from sonde.sae.probing.read import at_the_end, in_sentences

SENTENCE: Final = "The first letter of the word"
WORDS: Final = 3000
SHORTEST: Final = 3
"""Letters; what is shorter is seldom a word."""
FEWEST: Final = 12
"""Held-out words that a letter needs."""
SEEN: Final = 0.6
"""F1 that a probe on activations needs for a letter to count."""
MOST: Final = 5
"""Features that a letter may be split over."""
STEP: Final = 0.03
ALIGNED: Final = 0.1
HALF: Final = 0.4


@dataclass(frozen=True)
class Letters:
    """What one dictionary makes of first letters, means over those that count."""

    letters: int
    """How many counted."""
    words: int
    """Held-out words that began with one of these."""
    probe_f1: float | None
    """Of a probe on the activations: how well the letter can be seen at all."""
    feature_f1: float | None
    """Of the single best feature."""
    split: float | None
    """Over how many features a letter is spread."""
    absorbed: float | None
    """Share of words whose letter the probe sees and whose main features are silent, because
    another took over."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {name: round(v, 4) if isinstance(v, float) else v for name, v in vars(self).items()}


def first_letters(
    reader: Reader, autoencoders: Sequence[tuple[int, Autoencoder]], n_words: int = WORDS
) -> list[Letters | None]:
    """Each dictionary on the same words; None of a transcoder, which writes elsewhere."""
    words = alphabetic(reader, n_words)
    begins = torch.tensor([string.ascii_lowercase.index(w.strip().lower()[0]) for w in words])
    yes = begins[:, None] == torch.arange(26)
    held = torch.arange(len(words)) % 3 == 2
    read = at_the_end(reader, in_sentences(reader, words, [SENTENCE]), autoencoders)
    probes: dict[int, linear.Probe] = {}
    found: list[Letters | None] = []
    for (_, each), x in zip(autoencoders, read, strict=True):
        if each.is_transcoder:
            found.append(None)
            continue
        answers = yes.to(x.device)
        probe = probes.setdefault(id(x), linear.fit(x[~held], answers[~held]))
        found.append(judge_letters(each, x, answers, held.to(x.device), probe))
    return found


def alphabetic(reader: Reader, most: int) -> list[str]:
    """Tokens that are a space and letters, spread over the vocabulary, each with its space."""
    pieces = reader.pieces(range(len(reader.tokenizer)))
    letters = set(string.ascii_letters)
    words = [
        piece
        for piece in pieces
        if piece[:1] == " " and len(piece) > SHORTEST and set(piece[1:]) <= letters
    ]
    return words[:: max(1, len(words) // most)][:most]


def judge_letters(
    autoencoder: Autoencoder, x: Tensor, yes: Tensor, held: Tensor, probe: linear.Probe
) -> Letters:
    """What a dictionary makes of words whose activations [words, width] begin as `yes` says."""
    active = autoencoder.encode(x)
    seen = probe(x[held]) > 0
    scores = linear.f1(seen, yes[held])
    enough = (yes[held].sum(0) >= FEWEST) & (scores >= SEEN)
    dense = active.dense(autoencoder.d_sae)
    _, scale, _ = normalise(x, autoencoder.norm_in)
    split, best, absorbed, words = [], [], [], 0
    for letter in enough.nonzero()[:, 0].tolist():
        main, single = main_features(dense, yes[:, letter], held)
        split.append(len(main))
        best.append(single)
        chosen = held & yes[:, letter] & (probe(x)[:, letter] > 0)
        words += int((held & yes[:, letter]).sum())
        away = chosen & (dense[:, main] == 0).all(1)
        taken = _taken_over(
            autoencoder, active, x, scale, probe.weights[:, letter], away.nonzero()[:, 0]
        )
        absorbed.append(taken / max(int(chosen.sum()), 1))
    if not split:
        return Letters(0, 0, None, None, None, None)
    n = len(split)
    return Letters(
        letters=n,
        words=words,
        probe_f1=float(scores[enough].mean()),
        feature_f1=sum(best) / n,
        split=sum(split) / n,
        absorbed=sum(absorbed) / n,
    )


def main_features(dense: Tensor, yes: Tensor, held: Tensor) -> tuple[list[int], float]:
    """Features that together tell a letter, and the held-out F1 of the first alone."""
    order = telling(dense[~held], yes[~held], MOST)
    scores = []
    for k in range(1, len(order) + 1):
        rows = dense[:, order[:k]]
        probe = linear.fit(rows[~held], yes[~held, None])
        scores.append(float(linear.f1(probe(rows[held]) > 0, yes[held, None])))
    enough = (k for k in range(1, len(order)) if scores[k] - scores[k - 1] < STEP)
    k = next(enough, len(order))
    return order[:k], scores[0]


def telling(dense: Tensor, yes: Tensor, most: int) -> list[int]:
    """The features that are most active where it is so, against where it is not."""
    found: list[int] = apart(dense, yes).topk(min(most, dense.shape[1])).indices.tolist()
    return found


def apart(dense: Tensor, yes: Tensor) -> Tensor:
    """How much higher each feature's mean is at yes than at no, in standard deviations."""
    between: Tensor = dense[yes].mean(0) - dense[~yes].mean(0)
    return between / dense.std(0).clamp_min(1e-6)


def _taken_over(
    autoencoder: Autoencoder,
    active: Active,
    x: Tensor,
    scale: Tensor | None,
    direction: Tensor,
    rows: Tensor,
) -> int:
    """On how many rows one feature makes up most of what points along the probe's direction."""
    unit = (direction / direction.norm()).float()
    along = autoencoder.W_dec @ unit
    cosines = along / autoencoder.W_dec.norm(dim=1).clamp_min(1e-8)
    centre = x.mean(0)
    found = 0
    offsets = active.offsets.tolist()
    for row in rows.tolist():
        part = slice(offsets[row], offsets[row + 1])
        indices, values = active.indices[part], active.values[part]
        if not len(indices):
            continue
        by = values * along[indices] * (1.0 if scale is None else float(scale[row]))
        strongest = int(by.argmax())
        whole = float((x[row] - centre) @ unit)
        enough = float(by[strongest]) >= HALF * whole > 0
        found += enough and float(cosines[indices[strongest]]) >= ALIGNED
    return found
