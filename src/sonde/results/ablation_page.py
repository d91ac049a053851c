"""Changed features as one HTML page: features down, tokens across, every number in its cell.

It asks nothing of any network and runs no script; its content security policy says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from sonde.results.ablation import answer_in_words, control_of, done_in_words, in_words, reach_of
from sonde.results.colors import css, diverging, text_on
from sonde.results.document import document
from sonde.results.feature import how_sure
from sonde.results.feature_table import FeatureEffect, feature_effects
from sonde.results.feature_verdict import corrected, verdict
from sonde.results.numbers import number, signed
from sonde.results.tokens import token_label, visible
from sonde.schema.feature import Feature
from sonde.schema.table import SweepTable

_STYLE = """
.tokens { font-family: ui-monospace, monospace; line-height: 2 }
.tokens span { display: inline-block; padding: 0 .1rem; border-radius: .2rem; white-space: pre }
"""


def ablation_page(found: SweepTable, cards: Mapping[int, Feature], title: str) -> str:
    """The whole page."""
    return document(title, "\n".join(_body(found, cards, title)), _STYLE)


def _body(found: SweepTable, cards: Mapping[int, Feature], title: str) -> Iterator[str]:
    effects = feature_effects(found)
    answer = token_label(found.notes.get("answer", "the answer"))
    family = corrected(effects)
    yield f"<h1>{escape(verdict(effects, done_in_words(found)))}</h1>"
    yield f'<p class="dim">{escape(title)}</p>'
    tokens = "".join(f"<span>{escape(token_label(token))}</span>" for token in found.tokens.prompt)
    yield f'<p class="tokens">{tokens} → <b>{escape(answer)}</b></p>'
    yield (
        f"<p>The answer is {escape(answer_in_words(found))}. Writing back what was read at every "
        f"position changes that by {number(control_of(found))}. Below, each feature is "
        f"{done_in_words(found)}, at "
        "single tokens (coloured by how the difference of logits changes) and at all of its tokens "
        "at once.</p>"
    )
    for each in effects:
        card = None if each.feature is None else cards.get(each.feature)
        words = in_words(each, family.get(each.label))
        yield from _feature(found.tokens.prompt, each, card, reach_of(effects), words)
    chosen = found.notes.get("chosen")
    if chosen is not None:
        yield f'<p class="dim">Chosen: {escape(chosen)}.</p>'
    silent = found.notes.get("silent")
    if silent is not None:
        yield (
            f'<p class="dim">Not active here: {escape(silent)}. There was nothing to remove.</p>'
        )
    yield f"<h2>How to read it</h2><p>{_reading(effects)}</p>"
    yield f'<p class="dim">{escape(" · ".join(_origins(found)))}</p>'


def _origins(found: SweepTable) -> Iterator[str]:
    """What was asked, as far as the notes say."""
    notes = found.notes
    if "model" in notes:
        yield notes["model"]
    yield f"{found.tables[0].hook}, layer {notes.get('layer', 'unknown')}"
    if "weights" in notes:
        yield f"weights {notes['weights']}"
    yield f"dictionary {notes.get('dictionary_sha256', notes.get('dictionary', 'unknown'))[:16]}"


def _reading(effects: Sequence[FeatureEffect]) -> str:
    """What the numbers mean, for somebody who does not believe them yet."""
    draws = max((len(each.random) for each in effects), default=0)
    least = number(1 / (1 + draws))
    return (
        "Effects are changes of the logit difference between the answer and its strongest rival: "
        "negative means that the feature helped the answer. A large change does something wherever "
        f"it points, so beside each feature stand {draws} directions drawn at random, each exactly "
        "as long as what was removed. p is the share of these, the feature among them, that move "
        f"the answer at least as much: {least}, the least there is, means that no random one did. "
        "Corrected, a feature is held against the largest of every draw over all features tested, "
        "so that testing many does not make one of them come out. "
        "A feature whose effect lies among the random ones is not what makes the answer, however "
        "active it is. Writing back what was read is the control: smaller effects than its are "
        "rounding."
    )


def _feature(
    tokens: Sequence[str], each: FeatureEffect, card: Feature | None, reach: float, words: str
) -> Iterator[str]:
    yield f"<h2>{escape(each.label)} · {escape(words)}</h2>"
    if card is not None and card.label is not None:
        sure = escape(visible(how_sure(card.label)))
        yield f'<p>{escape(visible(card.label.text))} <span class="dim">{sure}</span></p>'
    if card is not None and card.promoted:
        promoted = ", ".join(escape(token_label(token)) for token in card.promoted)
        yield f'<p class="dim">promotes {promoted}</p>'
    marked = "".join(
        _token(token, each.effects.get(position), reach) for position, token in enumerate(tokens)
    )
    yield f'<p class="tokens">{marked}</p>'


def _token(token: str, effect: float | None, reach: float) -> str:
    label = escape(token_label(token))
    if effect is None:
        return f"<span>{label}</span>"
    color = diverging(effect / reach if reach else 0.0, "light")
    style = f"background:{css(color)};color:{css(text_on(color))}"
    return f'<span style="{style}" title="{signed(effect, 4)}">{label} {signed(effect, 2)}</span>'
