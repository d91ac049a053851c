"""A run's story as one HTML page: four questions, four answers, then what they were measured on.

It asks nothing of any network and runs no script; its content security policy says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from sonde.results.document import document, scrolling
from sonde.results.layer_moves import whole
from sonde.results.numbers import fixed, number, signed, span
from sonde.results.reward import RewardSweep
from sonde.results.reward_page import body as reward_body
from sonde.results.story import QUESTIONS, answers, meaning, name_of, nulls, put_back, rewarding
from sonde.results.tokens import quoted, visible
from sonde.schema.changed import LayerMove
from sonde.schema.story import Followed, Story

PLACES, FEATURES = 6, 12
_STYLE = """
h2 { font-size: 1.15rem; margin-top: 2.4rem } .lead { font-size: 1.1rem }
table { border-collapse: collapse } th { text-align: left; font-weight: 600 }
th, td { padding: .15rem 1rem .15rem 0; vertical-align: top; white-space: nowrap }
code { font-family: ui-monospace, monospace; white-space: pre-wrap }
svg { width: 100%; max-width: 40rem; height: auto } .sure { font-weight: 600 }
"""


def story_page(story: Story, reward: RewardSweep | None = None) -> str:
    """The whole page; `reward` has the completions behind what the reward owes."""
    return document(f"What the run {story.run} learned", "\n".join(_body(story, reward)), _STYLE)


def _body(story: Story, reward: RewardSweep | None) -> Iterator[str]:
    found = answers(story)
    yield f"<h1>What the run “{escape(story.run)}” learned</h1>"
    items = zip(QUESTIONS, found, strict=True)
    yield "<dl>"
    for question, answer in items:
        yield f'<dt class="sure">{question}</dt><dd class="lead">{escape(answer)}</dd>'
    yield f"</dl><h2>{QUESTIONS[0]}</h2>"
    yield chart(story.steps, story.rewards, "mean reward at each step")
    yield from _tokens(story)
    yield f"<h2>{QUESTIONS[1]}</h2>"
    yield from _layers(story)
    yield (
        "<p>Each feature is set back to what it was in the model the run began as, at every "
        "position that decides a token of these completions, and everything after it is "
        "recomputed. What of the gain goes is what its change does. Random directions, as long at "
        "every position, stand beside it.</p>"
    )
    yield _moves(story)
    yield f"<h2>{QUESTIONS[2]}</h2>"
    yield from _courses(story)
    yield f"<h2>{QUESTIONS[3]}</h2>"
    if reward is None:
        yield f"<p>{escape(found[3])}</p>"
    else:
        yield from reward_body(reward, heading="h3", alone=False)
    yield "<h2>What was not found</h2><ul>"
    yield "".join(f"<li>{escape(text)}</li>" for text in nulls(story)) + "</ul>"
    yield (
        "<h2>How to read it</h2><p>Features are those of sparse autoencoders, which describe a "
        "layer and leave something over; what they do not carry, weights or other layers do. The "
        "gain is of completions that the run itself made and rewarded, so it says what the policy "
        "came to prefer, not that this is good. p of features put back is corrected over all that "
        "were, p at a checkpoint over those that were followed there, and none over checkpoints. A "
        "feature that takes gain away need not matter to the reward, and one that the reward hangs "
        "on need not have changed: it may have been there, to be used. That is why both are asked, "
        "the reward on prompts the run was not trained on.</p>"
    )
    weights = " and ".join(story.changed.weights)
    yield f'<p class="dim">{escape(story.run)}, weights {escape(weights)}</p>'


def _tokens(story: Story) -> Iterator[str]:
    """Which tokens became likelier, and where the most."""
    changed = story.changed
    rows = "".join(
        f"<tr><td><code>{escape(quoted(each.token))}</code></td><td>{signed(each.gain, 2)}</td>"
        f"<td>{each.count}</td></tr>"
        for each in changed.gained[:PLACES]
    )
    head = "<tr><th>token</th><th>nats gained</th><th>places</th></tr>"
    yield f"<table>{head}{rows}</table>"
    places = "".join(
        f"<tr><td><code>{escape(visible(each.context))}</code></td>"
        f"<td><code>{escape(quoted(each.token))}</code></td>"
        f"<td>{fixed(each.before, 2)} → {fixed(each.after, 2)}</td></tr>"
        for each in changed.places[:PLACES]
    )
    head = "<tr><th>after</th><th>token</th><th>log-probability</th></tr>"
    yield scrolling(f"<table>{head}{places}</table>", "the places that gained the most")


def _layers(story: Story) -> Iterator[str]:
    """Every layer put back whole, over what random directions do."""
    layers = list(whole(story.changed).values())
    if not layers:
        return
    yield (
        "<p>First whole layers: what the residual stream holds behind a layer is set back to what "
        "it was in the model the run began as, at every position that decides a token of these "
        "completions. Where that takes nothing away, what was learned comes later; behind the last "
        "layer it takes all.</p>"
    )
    yield layers_chart(layers)


def layers_chart(layers: Sequence[LayerMove]) -> str:
    """A bar a layer, up or down from 0, over a grey one from the least random direction's to the
    most's.
    """
    values = [0.0, *(each.undone for each in layers), *(r for each in layers for r in each.random)]
    low, high = min(values), max(values)
    wide = 560 / len(layers)

    def y(value: float) -> float:
        return 10 + 130 * (high - value) / ((high - low) or 1.0)

    def box(n: int, of: Sequence[float], inset: float, look: str) -> str:
        top, bottom = y(max(of)), y(min(of))
        return (
            f'<rect x="{30 + n * wide + inset:.1f}" width="{max(wide - 2 * inset, 1):.1f}" '
            f'y="{top:.1f}" height="{max(bottom - top, 0.5):.1f}" {look}'
        )

    bars = "".join(
        box(n, each.random, 1, 'fill="currentColor" opacity=".18"/>')
        + box(n, (0.0, each.undone), 4, 'fill="#2f7fd1">')
        + f"<title>layer {each.layer}: {signed(each.undone, 2)}</title></rect>"
        for n, each in enumerate(layers)
    )
    names = "".join(
        f'<text x="{30 + (n + 0.5) * wide:.1f}" y="156" font-size="10" text-anchor="middle" '
        f'fill="currentColor">{each.layer}</text>'
        for n, each in enumerate(layers)
        if n % max(len(layers) // 15, 1) == 0
    )
    told = "nats that each layer takes away when it is put back whole"
    return (
        f'<figure><svg viewBox="0 0 600 162" role="img" aria-label="{told}">{bars}'
        f'<line x1="30" x2="590" y1="{y(0):.1f}" y2="{y(0):.1f}" stroke="currentColor" '
        f'opacity=".4"/>{names}'
        f'<text x="0" y="18" font-size="11" fill="currentColor">{number(high)}</text></svg>'
        f'<figcaption class="dim">{told}; grey, what random directions as long take'
        "</figcaption></figure>"
    )


def _moves(story: Story) -> str:
    rows = []
    for each in story.changed.features[:FEATURES]:
        if each.undone is None:
            continue
        rows.append(
            f"<tr><td>{each.layer}:{each.feature}</td><td>{signed(each.undone, 2)}</td>"
            f"<td>{span(each.random, 2)}</td><td>{number(each.p_family)}</td></tr>"
        )
    head = "<th>feature</th><th>takes away, nats</th><th>random</th><th>corrected p</th>"
    return scrolling(f"<table><tr>{head}</tr>{''.join(rows)}</table>", "features put back")


def _courses(story: Story) -> Iterator[str]:
    for each in story.followed:
        yield f"<h3>{_titled(each)}</h3>"
        name = f"mean activation of {name_of(each)} at each step"
        yield chart(story.steps, each.activity, name)
        rows = "".join(
            f"<tr><td>checkpoint-{at.step}</td><td>{escape(put_back(at))}</td>"
            f"<td>{escape(rewarding(at))}</td></tr>"
            for at in each.course
        )
        head = (
            "<tr><th>at</th><th>put back, takes away (nats)</th><th>removed, R moves by</th></tr>"
        )
        yield scrolling(f"<table>{head}{rows}</table>", f"{name_of(each)} by checkpoint")
    gains = ", ".join(f"{signed(gain, 1)} at {step}" for step, gain in story.gains)
    yield (
        f'<p class="dim">The whole gain by checkpoint: {gains}. Activity is what the records say; '
        "only what was put back or removed is a test.</p>"
    )


def _titled(each: Followed) -> str:
    return escape(" · ".join([name_of(each), *meaning(each)]))


def chart(steps: Sequence[int], values: Sequence[float | None], name: str) -> str:
    """Bars, one a step, from 0; a step without a number has none."""
    known = [value for value in values if value is not None]
    if not known:
        return f'<p class="dim">No {escape(name)} was recorded.</p>'
    top = max([*known, 0.0]) or 1.0
    wide = 560 / len(values)
    bars = "".join(
        f'<rect x="{30 + n * wide:.1f}" width="{max(wide - 2, 1):.1f}" '
        f'y="{10 + 90 * (1 - max(value, 0.0) / top):.1f}" '
        f'height="{90 * max(value, 0.0) / top:.1f}" fill="#2f7fd1">'
        f"<title>step {step}: {number(value)}</title></rect>"
        for n, (step, value) in enumerate(zip(steps, values, strict=True))
        if value is not None
    )
    axis = (
        '<line x1="30" x2="590" y1="100" y2="100" stroke="currentColor" opacity=".4"/>'
        f'<text x="30" y="116" font-size="11" fill="currentColor">{steps[0]}</text>'
        '<text x="590" y="116" font-size="11" text-anchor="end" fill="currentColor">'
        f"{steps[-1]}</text>"
        f'<text x="0" y="18" font-size="11" fill="currentColor">{number(top)}</text>'
    )
    told = f'role="img" aria-label="{escape(name)}"'
    return (
        f'<figure><svg viewBox="0 0 600 120" {told}>{bars}{axis}</svg>'
        f'<figcaption class="dim">{escape(name)}</figcaption></figure>'
    )
