"""Have a language model label a feature, and measure how far the label is true. Imports no torch.

1. **Explain**  from the snippets of its description, strongest token marked: what do they share?
2. **Detect**   on held-out snippets, active and not, one at a time: is it what the label says?

The score is the balanced accuracy of these answers. An answer that is neither yes nor no counts for
nothing, and where too few are left there is no score and so no label. The explainer never sees
the snippets that its label is measured on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from sonde.sae.labelling.imported import balanced
from sonde.schema.feature import Feature, Label, Snippet

SHOWN: Final = 12
"""Snippets that an explanation is asked from."""
FEWEST: Final = 5
"""Answers of either kind, below which there is no score."""
LONGEST: Final = 200
"""Characters of a label."""

EXPLAIN: Final = (
    "You study one unit inside a language model. You are shown pieces of text on which it is "
    "active; the token on which it is most active stands between « and ». Say what these have in "
    "common, in one short phrase of at most ten words, and nothing else."
)
DETECT: Final = (
    "You are given a description and a piece of text. Answer 1 if the text contains what is "
    "described, and 0 if it does not. Answer with that digit alone."
)


class Model(Protocol):
    """The model that is asked."""

    @property
    def name(self) -> str:
        """Who it is, for a label."""

    def answer(self, system: str, user: str, most_tokens: int) -> str:
        """What it says."""


class Snippets(Protocol):
    """A held-out snippet: its text, and whether the feature is active in it."""

    @property
    def text(self) -> str: ...

    @property
    def active(self) -> bool: ...


@dataclass(frozen=True)
class Written:
    """A label, or why there is none."""

    label: Label | None
    reason: str | None = None


def write_label(
    feature: Feature, trials: Sequence[Snippets], explainer: Model, scorer: Model
) -> Written:
    """Explain a feature and score what was said."""
    if not feature.snippets:
        return Written(None, "it has no snippets: it is dead")
    if (short := _too_few([trial.active for trial in trials])) is not None:
        return Written(None, f"the held-out text has {short}")
    text = explain(feature, explainer)
    if not text:
        return Written(None, f"{explainer.name} said nothing")
    return score(text, explainer.name, trials, scorer)


def explain(feature: Feature, explainer: Model) -> str:
    """What the explainer says of its snippets, one line."""
    some = [snippet for snippet in feature.snippets if snippet.part != "low"][:SHOWN]
    shown = "\n".join(f"{n + 1}. {marked(snippet)}" for n, snippet in enumerate(some))
    said = explainer.answer(EXPLAIN, shown, 40).strip()
    return said.splitlines()[0].strip(" \"'*.")[:LONGEST] if said else ""


def score(text: str, source: str, trials: Sequence[Snippets], scorer: Model) -> Written:
    """A label with its score, or why it has none."""
    judged = []
    for trial in trials:
        said = answered(
            scorer.answer(DETECT, f"Description: {text}\n\nText: {trial.text.strip()}", 4)
        )
        if said is not None:
            judged.append((trial.active, said))
    if (short := _too_few([so for so, _ in judged])) is not None:
        return Written(None, f"{scorer.name} answered with neither 0 nor 1: {short} are left")
    return Written(
        Label(
            text=text,
            source=source[:200],
            score=balanced(judged),
            measure="detection",
            scorer=scorer.name[:200],
            examples=len(judged),
        )
    )


def answered(said: str) -> bool | None:
    """Yes, no, or neither."""
    word = said.strip().lower().strip("\"'`*.,:;!()[] \n")
    if word[:1] in ("0", "1") and not word[1:2].isdecimal():
        return word[0] == "1"
    first = word.split()[0].strip(".,:;!") if word else ""
    return {"yes": True, "no": False}.get(first)


def marked(snippet: Snippet) -> str:
    """Its text, the strongest token between « and »."""
    peak = snippet.heat.find("9")
    return "".join(
        f"«{token}»" if n == peak else token for n, token in enumerate(snippet.tokens)
    ).strip()


def _too_few(active: Sequence[bool]) -> str | None:
    yes, no = sum(active), len(active) - sum(active)
    if yes >= FEWEST and no >= FEWEST:
        return None
    return f"{yes} snippets where it is active and {no} where it is not, of {FEWEST} needed"
