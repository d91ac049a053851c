"""A run's story in words: four answers, each with its null. Pure text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from sonde.results.layer_moves import nulls as not_in_layers
from sonde.results.layer_moves import where
from sonde.results.numbers import all_of, count, fixed, number, signed, span
from sonde.results.tokens import fit, pad, quoted, token_label
from sonde.schema.story import AtCheckpoint, Followed, Story

SHARE = 5
"""Beginning and end of a run are one step in so many."""
LEVEL = 0.05
TOKENS = 3

QUESTIONS = (
    "What did it learn?",
    "Which features carry it?",
    "Since which step?",
    "What does the reward lose without them?",
)


def answers(story: Story) -> list[str]:
    """One for each of `QUESTIONS`."""
    return [learned(story), carried(story), since(story), lost(story)]


def learned(story: Story) -> str:
    """How the reward went, and which tokens became likelier."""
    return f"{rewarded(story)} {_gained(story)}"


def rewarded(story: Story) -> str:
    """The reward of the first steps beside that of the last, and whether it went with the step."""
    n = max(1, len(story.steps) // SHARE)
    began, ended = (_mean(story.rewards[part]) for part in (slice(n), slice(-n, None)))
    if began is None or ended is None:
        return "The run has no rewards, so whether it learned anything is not known."
    gates = [_mean(story.gates[part]) for part in (slice(n), slice(-n, None))]
    passed = "" if None in gates else f", the gate was passed by {gates[0]:.0%} and {gates[1]:.0%}"
    trend = story.trend
    if trend is None or trend.low is None or trend.high is None:
        told = "it cannot be told whether it went with the step"
    else:
        ends = f"rank correlation with the step {fixed(trend.r, 2)}, {_ends(trend.low, trend.high)}"
        rose, fell = trend.low > 0, trend.high < 0
        told = f"it {'rose' if rose else 'fell'}: {ends}" if rose or fell else f"no trend: {ends}"
    first, last = _steps(story.steps[:n]), _steps(story.steps[-n:])
    return f"Mean reward {fixed(began, 2)} in {first}, {fixed(ended, 2)} in {last}{passed}; {told}."


def _gained(story: Story) -> str:
    changed = story.changed
    tokens = ", ".join(
        f"{quoted(each.token)} ({signed(each.gain, 1)})" for each in changed.gained[:TOKENS]
    )
    most = f", the most of them {tokens}" if tokens else ""
    return (
        f"Read by the last checkpoint, {count(changed.tokens, 'token')} of "
        f"{count(changed.probes, 'completion')} gained {signed(changed.gain, 1)} nats together"
        f"{most}."
    )


def carried(story: Story) -> str:
    """From which layer on, how many features do more than chance, how much that is, and which."""
    return " ".join(part for part in (where(story.changed), _features(story)) if part)


def _features(story: Story) -> str:
    tried = [each for each in story.changed.features if each.undone is not None]
    if not tried:
        return "No feature was put back, so none is known to carry anything."
    names = ", ".join(map(name_of, story.followed))
    if story.chosen == "put back":
        beyond = [each for each in tried if each.p_family is not None and each.p_family <= LEVEL]
        shares = ", ".join(
            f"{name_of(each)}, which takes {_share(story, each)} of the gain away"
            for each in story.followed
        )
        return (
            f"Of {count(len(tried), 'feature')} put back to what they were, {len(beyond)} "
            f"{'does' if len(beyond) == 1 else 'do'} more than random directions as long "
            f"(corrected p ≤ {LEVEL:g}). Followed: {shares}. What is left is carried by something "
            "else."
        )
    none = (
        f"None of those that changed, as far as is known: of {len(tried)} features put back to "
        "what they were, none takes more of the gain away than random directions as long do."
    )
    if story.chosen == "reward":
        return f"{none} Followed are those that one gradient says move the reward most: {names}."
    return f"{none} Followed are those that take the most: {names}." if names else none


def since(story: Story) -> str:
    """From which checkpoint on each did more than random directions, and the reward hung on it."""
    if not story.followed:
        return "There is no feature to ask that of."
    known = ", ".join(str(step) for step, _ in story.gains)
    alike: dict[str, list[str]] = {}
    for each in story.followed:
        alike.setdefault(_since(story, each), []).append(name_of(each))
    told = "; ".join(f"{all_of(names)} {text}" for text, names in alike.items())
    return f"Of the checkpoints {known}: {told}."


def _since(story: Story, each: Followed) -> str:
    first = story.gains[0][0]

    def at(step: int | None) -> str:
        if step is None:
            return "at none that lasts"
        return f"since checkpoint-{step}" + (", the first there is" if step == first else "")

    tested = any(point.reward is not None for point in each.course)
    needed = f"; beyond chance to the reward {at(each.needed_since)}" if tested else ""
    return f"changed beyond chance {at(each.moved_since)}{needed}"


def lost(story: Story) -> str:
    """The verdict of the test of the reward, and what completions are worth as they are."""
    if story.reward is None:
        return "Not measured: " + ("; ".join(story.reasons) or "no feature was followed") + "."
    means = ", ".join(f"{fixed(mean, 2)} at {step}" for step, mean in story.held_out)
    return (
        f"{story.reward.verdict} As it is, on prompts it was not trained on, R is {means}."
    )  # fmt: skip


def nulls(story: Story) -> Iterator[str]:
    """What was looked for and not found."""
    tried = [each for each in story.changed.features if each.undone is not None]
    none = [each for each in tried if each.p_family is None or each.p_family > LEVEL]
    if none:
        yield (
            f"{len(none)} of {len(tried)} features that were put back do no more than random "
            "directions as long."
        )
    yield from not_in_layers(story.changed)
    for each in story.followed:
        if each.moved_since is None:
            yield f"{name_of(each)}: putting it back takes no gain away beyond random directions."
    for effect in [] if story.reward is None else story.reward.effects:
        unsure = effect.p is None or effect.p > LEVEL
        near = effect.p_random is None or effect.p_random > LEVEL
        if unsure or near:
            why = "chance" if unsure else "random directions as long"
            yield (
                f"Without {effect.label} the reward moves by {signed(effect.effect, 3)}, which is "
                f"not told from {why}."
            )
    yield from story.reasons


def name_of(each: Followed) -> str:
    """`15:748`."""
    return f"{each.layer}:{each.feature}"


def meaning(each: Followed) -> list[str]:
    """What it is brightest on and what it promotes, as far as its dictionary says."""
    bright = ", ".join(map(quoted, each.bright_on[:4]))
    promoted = ", ".join(token_label(token) for token in each.promotes[:6])
    known = {"brightest on": bright, "promotes": promoted}
    return [f"{what} {tokens}" for what, tokens in known.items() if tokens]


def put_back(each: AtCheckpoint) -> str:
    """+1.21 (random −0.20 to +0.31, p 0.025)."""
    if each.undone is None:
        return "has not moved"
    beside = f"random {span(each.random, 2)}, " if each.random else ""
    return f"{signed(each.undone, 2)} ({beside}p {number(each.p_family)})"


def rewarding(each: AtCheckpoint) -> str:
    """−0.33 (random −0.02 to +0.01, p 0.0003, beyond them 0.002)."""
    found = each.reward
    if found is None:
        return "not tested"
    beside = f"random {span(found.random, 2)}, " if found.random else ""
    further = f", beyond them {number(found.p_random)}" if found.random else ""
    return f"{signed(found.effect, 2)} ({beside}p {number(found.p)}{further})"


def story_lines(story: Story, width: int) -> Iterator[str]:
    """The story for a terminal: the answers, then the followed features, then what is not found."""
    for question, answer in zip(QUESTIONS, answers(story), strict=True):
        yield fit(question, width)
        yield from wrap(answer, width, initial_indent="  ", subsequent_indent="  ")
        yield ""
    for each in story.followed:
        yield fit(f"{pad(name_of(each), 10)} {' · '.join(meaning(each))}", width)
        for at in each.course:
            said = f"checkpoint-{at.step}: put back {put_back(at)}; removed, R {rewarding(at)}"
            yield from wrap(said, width, initial_indent=" " * 4, subsequent_indent=" " * 8)
    yield ""
    yield "What was not found"
    for text in nulls(story):
        yield from wrap(text, width, initial_indent="  ", subsequent_indent="  ")


def _share(story: Story, each: Followed) -> str:
    move = next(
        m for m in story.changed.features if (m.layer, m.feature) == (each.layer, each.feature)
    )
    if move.undone is None or story.changed.gain == 0:
        return "not known"
    return f"{move.undone / story.changed.gain:.1%}"


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _ends(low: float, high: float) -> str:
    return f"[{fixed(low, 2)}, {fixed(high, 2)}]"


def _steps(steps: Sequence[int]) -> str:
    return f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"
