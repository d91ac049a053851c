"""Removed features as one HTML page: features down, tokens across, every number in its cell.

It asks nothing of any network and runs no script; its content security policy says so.
"""

from collections.abc import Iterator, Mapping
from html import escape

from sonde.results.ablation import answer_in_words, in_words
from sonde.results.colors import css, diverging, text_on
from sonde.results.numbers import number, signed
from sonde.results.tokens import token_label
from sonde.schema.ablation import Ablation, FeatureEffect
from sonde.schema.feature import Feature

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 76rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.3rem } h2 { font-size: 1rem; margin: 1.6rem 0 .3rem }
.tokens { font-family: ui-monospace, monospace; line-height: 2 }
.tokens span { display: inline-block; padding: 0 .1rem; border-radius: .2rem; white-space: pre }
.dim { opacity: .7 }
"""


def ablation_page(found: Ablation, cards: Mapping[int, Feature], title: str) -> str:
    """The whole page."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    body = "\n".join(_body(found, cards, title))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>
<style>{_STYLE}</style></head><body>
{body}
</body></html>
"""


def _body(found: Ablation, cards: Mapping[int, Feature], title: str) -> Iterator[str]:
    yield f"<h1>{escape(title)}</h1>"
    tokens = "".join(f"<span>{escape(token_label(token))}</span>" for token in found.tokens)
    yield f'<p class="tokens">{tokens} → <b>{escape(token_label(found.answer))}</b></p>'
    yield (
        f"<p>The answer is {escape(answer_in_words(found))}. Writing back what was read at every "
        f"position changes that by {number(found.control)}. Below, each feature is removed, at "
        "single tokens (coloured by how the difference of logits changes) and at all of its tokens "
        "at once.</p>"
    )
    reach = max((abs(each.everywhere) for each in found.features), default=0.0)
    for each in found.features:
        yield from _feature(found, each, cards.get(each.feature), reach)
    if found.silent:
        silent = ", ".join(map(str, found.silent))
        yield f'<p class="dim">Not active here: {silent}. There was nothing to remove.</p>'
    yield f"<h2>How to read it</h2><p>{_reading(found)}</p>"
    yield (
        f'<p class="dim">{escape(found.model)} · {found.hook}, layer {found.layer} · weights '
        f"{escape(found.weights)} · dictionary {escape(found.dictionary[:16])}</p>"
    )


def _reading(found: Ablation) -> str:
    """What the numbers mean, for somebody who does not believe them yet."""
    draws = max((len(each.random) for each in found.features), default=0)
    least = number(1 / (1 + draws))
    return (
        "Effects are changes of the logit difference between the answer and its strongest rival: "
        "negative means that the feature helped the answer. A large change does something wherever "
        f"it points, so beside each feature stand {draws} directions drawn at random, each exactly "
        "as long as what was removed. p is the share of these, the feature among them, that move "
        f"the answer at least as much: {least}, the least there is, means that no random one did. "
        "A feature whose effect lies among the random ones is not what makes the answer, however "
        "active it is. Writing back what was read is the control: smaller effects than its are "
        "rounding."
    )


def _feature(
    found: Ablation, each: FeatureEffect, card: Feature | None, reach: float
) -> Iterator[str]:
    yield f"<h2>{found.layer}:{each.feature} · {escape(in_words(each))}</h2>"
    if card is not None:
        promoted = ", ".join(escape(token_label(token)) for token in card.promoted)
        yield f'<p class="dim">promotes {promoted}</p>'
    cells = zip(found.tokens, each.effects, strict=True)
    marked = "".join(_token(token, effect, reach) for token, effect in cells)
    yield f'<p class="tokens">{marked}</p>'


def _token(token: str, effect: float | None, reach: float) -> str:
    label = escape(token_label(token))
    if effect is None:
        return f"<span>{label}</span>"
    color = diverging(effect / reach if reach else 0.0, "light")
    style = f"background:{css(color)};color:{css(text_on(color))}"
    return f'<span style="{style}" title="{signed(effect, 4)}">{label} {signed(effect, 2)}</span>'
