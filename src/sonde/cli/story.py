"""`sonde runs story`: a run told from what it learned to what its reward owes to features.

It measures nothing in a way of its own: checkpoints are compared as `sonde runs changed` does it,
the reward is tested as `sonde ablate --reward` does, here on the same features, and both are kept
with the run as if each had been asked by itself.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sonde.cli import reward
from sonde.cli.changed import Effort, compare, steps_of
from sonde.cli.finding import analysed, find, hub_of, placed, read_all
from sonde.cli.loading import load_model
from sonde.cli.options import as_json, number, seeded
from sonde.cli.progress import Progress, progress
from sonde.errors import BadRequest
from sonde.results import files

if TYPE_CHECKING:
    from sonde.results import RewardSweep
    from sonde.runs.layout import RunLayout
    from sonde.sae.gained import Feature
    from sonde.schema.changed import Changed
    from sonde.schema.feature import Feature as Card
    from sonde.schema.story import AtCheckpoint, Chosen, Followed, Story

SAVED = (".html", ".json")
LEVEL = 0.05


@click.command("story")
@click.argument("run", required=False)
@placed
@number("--follow", "How many features to follow.", default=3)
@number("--probes", "Texts to choose, where the run has none yet.", default=16)
@number("--features", "Of each layer, features to put back.", least=1, default=12)
@number("--draws", "Random directions beside each that is put back.", least=0, default=19)
@number("--completions", "How many prompts the reward is tested on.", least=2, default=64)
@number("--reward-draws", "Random directions beside each in a test of the reward.", default=4)
@seeded
@click.option(
    "--save", multiple=True, metavar="FILE", help="Write a page (.html) or everything (.json)."
)
@as_json
def story(run: str | None, output_dir: Path | None, config: Path | None, **asked: Any) -> None:
    """What the run learned, which features carry it, since when, and what reward they bring.

    The last checkpoint is compared with the model the run began as. Features that moved are put
    back beside random directions. Those that do more than these are followed; where none does,
    those that the reward is most sensitive to: through the records step by step, and at every
    checkpoint that is kept, put back and taken out of completions of prompts the run was not
    trained on. Where nothing is beyond chance, that is the story.
    """
    from sonde.results.story import story_lines
    from sonde.results.story_page import story_page

    targets = [_checked(path) for path in asked["save"]]
    layout = find(hub_of(output_dir, config), run)
    steps_of(layout, None, None)
    with progress("reading the run") as shown:
        told, tested = tell(layout, asked, shown)
    for target in targets:
        html = target.suffix.lower() == ".html"
        text = story_page(told, tested) if html else told.model_dump_json(indent=1)
        click.echo(f"saved {files.write(target, text.encode())}", err=True)
    if asked["as_json"]:
        click.echo(told.model_dump_json())
        return
    for line in story_lines(told, shutil.get_terminal_size().columns):
        click.echo(line)


def _checked(save: str) -> Path:
    if Path(save).suffix.lower() not in SAVED:
        raise BadRequest(f"cannot save to {save!r}: the suffix is none of {', '.join(SAVED)}")
    return files.check(save)


def tell(
    layout: RunLayout, asked: dict[str, Any], shown: Progress
) -> tuple[Story, RewardSweep | None]:
    """The whole story, and the reward test of the last checkpoint."""
    from sonde.runs.analytics.activity import activity
    from sonde.runs.listing import checkpoints
    from sonde.runs.probes import keep_changed
    from sonde.schema.story import Story

    *earlier, last = checkpoints(layout)
    effort = Effort(asked["probes"], asked["features"], asked["draws"], asked["seed"])
    changed = compare(layout, 0, last, effort, shown)
    keep_changed(layout, changed)
    features, sure = chosen_of(changed, asked["follow"])
    rewards = _rewards(layout, [*earlier, last], features if sure else None, asked, shown)
    tested = rewards.found.get(last)
    chosen: Chosen = "put back" if sure else "most"
    if not sure and tested is not None:
        features, chosen = rewards.features, "reward"
    put_back = {step: compare(layout, 0, step, effort, shown, only=features) for step in earlier}
    put_back[last] = (
        changed if chosen != "reward" else compare(layout, 0, last, effort, shown, only=features)
    )
    shown.now("what the records say of these features")
    with analysed(layout) as (analysis, connection):
        known = read_all(analysis, shown)
        at = [line.iteration for line in known.metrics]
        active = activity(known, connection, features, at)
    means = [line.rewards_mean for line in known.metrics]
    described, undescribed = _described(layout, features)
    return Story(
        made=time.time(),
        run=layout.directory.name,
        steps=at,
        rewards=means,
        gates=[line.r_a_pass_rate for line in known.metrics],
        trend=_trend(at, means),
        changed=changed,
        gains=[(step, each.gain) for step, each in put_back.items()],
        held_out=[(step, each.reward.reward) for step, each in rewards.found.items()],
        followed=[
            followed(feature, active[feature], put_back, rewards.found, card)
            for feature, card in zip(features, described, strict=True)
        ],
        chosen=chosen,
        reward=None if tested is None else tested.reward,
        reasons=[*changed.reasons, *rewards.reasons, *undescribed],
    ), tested


def chosen_of(changed: Changed, n: int) -> tuple[list[Feature], bool]:
    """The features to follow, and whether they undo more than random directions.

    All of one layer, that of the feature that undoes the most: the reward is tested with one
    dictionary at a time. Where none is beyond chance, they are those that undo the most.
    """
    helping = [each for each in changed.features if each.undone is not None and each.undone > 0]
    beyond = [each for each in helping if each.p_family is not None and each.p_family <= LEVEL]
    among = beyond or helping
    if not among:
        return [], False
    ranked = sorted(among, key=lambda each: -(each.undone or 0.0))
    same = [each for each in ranked if each.layer == ranked[0].layer]
    return [(each.layer, each.feature) for each in same[:n]], bool(beyond)


def followed(
    feature: Feature,
    activity: list[float | None],
    put_back: dict[int, Changed],
    rewards: Mapping[int, RewardSweep],
    card: Card | None,
) -> Followed:
    """One feature through the checkpoints."""
    from sonde.reward.found import matters
    from sonde.schema.story import Followed

    course = [
        at_checkpoint(step, each, rewards.get(step), feature) for step, each in put_back.items()
    ]
    return Followed(
        layer=feature[0],
        feature=feature[1],
        promotes=[] if card is None else card.promoted,
        bright_on=[] if card is None else bright_on(card),
        activity=activity,
        course=course,
        moved_since=lasting(course, moved),
        needed_since=lasting(course, lambda at: at.reward is not None and matters(at.reward)),
    )


def at_checkpoint(
    step: int, changed: Changed, rewards: RewardSweep | None, feature: Feature
) -> AtCheckpoint:
    """What is known of it there."""
    from sonde.schema.story import AtCheckpoint

    moves = (each for each in changed.features if (each.layer, each.feature) == feature)
    move = next(moves, None)
    effects = [] if rewards is None else rewards.effects
    return AtCheckpoint(
        step=step,
        undone=None if move is None else move.undone,
        random=[] if move is None else move.random,
        p_family=None if move is None else move.p_family,
        reward=next((each for each in effects if each.feature == feature[1]), None),
    )


def moved(at: AtCheckpoint) -> bool:
    """Whether putting it back takes gain away, beyond random directions."""
    helps = at.undone is not None and at.undone > 0
    return helps and at.p_family is not None and at.p_family <= LEVEL


def lasting(course: Sequence[AtCheckpoint], true: Callable[[AtCheckpoint], bool]) -> int | None:
    """The first checkpoint from which on something is so at all; None where not at the last."""
    found = None
    for at in reversed(course):
        if not true(at):
            break
        found = at.step
    return found


@dataclass(frozen=True)
class _Rewards:
    """Tests of the reward, by checkpoint, and why there are none."""

    found: dict[int, RewardSweep]
    features: list[Feature]
    reasons: list[str]


def _rewards(
    layout: RunLayout,
    steps: list[int],
    features: list[Feature] | None,
    asked: dict[str, Any],
    shown: Progress,
) -> _Rewards:
    """The same features tested at every checkpoint; where none are named, the last chooses."""
    found: dict[int, RewardSweep] = {}
    wanted = reward.RewardOptions(
        reward=reward.OWN, prompts=None, completions=asked["completions"], step=None, layer=None,
        features=None, how="remove", value=None, draws=asked["reward_draws"], seed=asked["seed"],
        sae=None, top=asked["follow"],
    )  # fmt: skip
    try:
        for step in reversed(steps):
            if features is not None:
                named = [feature for _, feature in features]
                wanted = replace(wanted, layer=features[0][0], features=named, top=None)
            shown.say(f"the reward at checkpoint-{step}")
            found[step] = reward.test_reward(layout, replace(wanted, step=step), shown, load_model)
            if features is None:
                features = _tested(found[step])
    except BadRequest as error:
        return _Rewards({}, [], [f"the reward was not tested: {error}"])
    return _Rewards(dict(sorted(found.items())), features or [], [])


def _tested(found: RewardSweep) -> list[Feature]:
    """The features of a test, the largest effect first."""
    parts = (each.label.partition(":") for each in found.effects)
    return [(int(layer), int(number)) for layer, _, number in parts]


def _trend(steps: list[int], rewards: list[float | None]) -> Any:
    """How the reward goes with the step, by rank; None where that cannot be said."""
    import numpy as np

    from sonde.statistics.correlation import correlation

    known = [(s, r) for s, r in zip(steps, rewards, strict=True) if r is not None]
    x, y = np.array(known, dtype=np.float64).reshape(-1, 2).T
    return correlation("all", x, y).spearman


def bright_on(card: Card) -> list[str]:
    """The brightest token of each of its most active snippets, the most frequent first."""
    tokens = (
        snippet.tokens[snippet.heat.index(max(snippet.heat))]
        for snippet in card.snippets
        if snippet.part == "top"
    )
    return [token for token, _ in Counter(tokens).most_common(4)]


def _described(
    layout: RunLayout, features: list[Feature]
) -> tuple[list[Card] | list[None], list[str]]:
    """What the dictionary says of each, as far as it is described; and why it is not.

    What was measured is not lost because a description cannot be read.
    """
    from sonde.sae.feature_file import FEATURES, read_some
    from sonde.sae.of_run import dictionary_of

    if not features:
        return [], []
    folder, why = dictionary_of(layout, features[0][0])
    try:
        if folder is not None and (folder / FEATURES).is_file():
            return read_some(folder / FEATURES, [feature for _, feature in features]), []
    except BadRequest as error:
        why = str(error)
    return [None for _ in features], [f"what features mean is not known: {why}"]
