"""`sonde ablate`: take features out of a prompt, and see what becomes of the answer or the reward.

The join of the two flows: a feature that was seen in a run becomes a test on that run's checkpoint.
It is a sweep over a feature axis, like one that a server is sent.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from sonde.cli import parse, reward
from sonde.cli.backend_options import backend_arguments, choosing
from sonde.cli.finding import find, hub_of, placed
from sonde.cli.loading import load_model, unload
from sonde.cli.moments import choose
from sonde.cli.options import as_json, number, seeded
from sonde.cli.progress import Progress, progress
from sonde.cli.terminal import terminal_pen
from sonde.errors import BadRequest
from sonde.results import PairSweep, files
from sonde.sae import shipped
from sonde.sae.feature_file import FEATURES, read_some

if TYPE_CHECKING:
    from sonde.model import Model
    from sonde.results import Sweep
    from sonde.runs.layout import RunLayout
    from sonde.schema.feature import Feature
    from sonde.schema.table import FeatureAxis, SweepRequest

SAVED = (".html", ".json")
PICTURES = (".png", ".svg", ".csv")
"""Of a test of the reward, also these."""

Load = Callable[[str], "Model"]
How = tuple[Literal["remove", "clamp"], float | None]

EXAMPLES = """\b
Examples:
  sonde ablate --prompt "The Eiffel Tower is in the city of" --answer " Paris" --layer 15
  sonde ablate my-run
  sonde ablate my-run --generation 19-3 --layer 15 --features 748,3844 --save why.html
  sonde ablate my-run --generations 12
  sonde ablate my-run --reward --layer 15 --features 748,3844
"""


@dataclass(frozen=True)
class Question:
    """A prompt, and the token that is graded after it."""

    tokens: tuple[int, ...]
    answer: int


@dataclass(frozen=True, eq=False)
class Experiment:
    """What is removed from what."""

    model: Model
    dictionary: Path
    questions: tuple[Question, ...]
    """One, or several over which effects are tested."""
    axis: FeatureAxis
    title: str
    why: str | None = None
    """Which checkpoint it is asked on, and why that one; None where somebody named a model."""


@click.command("ablate", epilog=EXAMPLES, short_help="Remove features, and see what they did.")
@click.argument("run", required=False)
@placed
@click.option(
    "--generation", metavar="ID", help="Which one. Default: a passed one with a high reward."
)
@number("--generations", "Test over so many of them at once, each of another prompt.", least=2)
@number(
    "--token",
    "A recorded token of it; -1 is the prompt's last. Default: the one that hung most in the "
    "balance.",
    least=-1,
)
@click.option("--prompt", metavar="TEXT", help="A prompt of your own, instead of a run.")
@click.option("--answer", metavar="TEXT", help="The token that is graded: --answer ' Paris'.")
@reward.rewarding
@number("--layer", "Whose features. Default: the last layer that was watched.", least=0)
@click.option(
    "--features",
    metavar="NUMBERS",
    help="748,3844. Default: those with the largest effect to first order.",
)
@click.option(
    "--by",
    type=click.Choice(["attribution", "activation"]),
    help="What puts features first, where none is named: the largest effect to first order, or "
    "the brightest at the last token. Default: attribution.",
)
@click.option("--how", metavar="HOW", help="remove, or clamp=4.5. Default: remove.")
@number("--draws", "Random directions beside each. Default: 19; with --reward 4.", least=0)
@number("--alike", "So many other features beside each, whose change is as long.", least=0)
@seeded
@click.option(
    "--sae", metavar="PATH", help="An autoencoder, instead of the run's or a shipped one."
)
@click.option(
    "--model",
    "name",
    metavar="NAME",
    help="A model as in `sonde sweep`. Default: the run's checkpoint, or smollm2.",
)
@click.option("--save", metavar="FILE", help="Write a page (.html) or everything (.json).")
@choosing
@as_json
def command(**asked: Any) -> Sweep:
    """Remove single features from the residual stream, and grade the answer without each.

    RUN is a run directory or its name. A token of one of its passed generations is looked at on the
    checkpoint that is nearest to the weights that said it: everything before the token is the
    prompt, the token said next is the answer. With --prompt and --answer, any prompt.

    With --reward it is not an answer that is graded: completions are sampled from the checkpoint
    with each feature changed at every position, and what the reward loses is told.

    Beside each feature stand random directions of the same length. What they do, any change of that
    size does.
    """
    _check(asked)
    how, numbers = _how(asked["how"]), _numbers(asked["features"])
    # vLLM logs to stdout unless told otherwise, and stdout is the answer's.
    os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")
    loading = backend_arguments(
        asked["backend"], asked["tensor_parallel_size"], asked["pipeline_parallel_size"],
        asked["engine_option"], {},
    )  # fmt: skip
    layout = None if asked["prompt"] is not None else find(_hub(asked), asked["run"])
    load = partial(load_model, **loading)
    if asked["reward"] is not None:
        assert layout is not None
        with progress("reading the run") as shown:
            told = reward.test_reward(layout, _test(asked, how, numbers), shown, load)
        reward.show(told, asked["save"], as_json=asked["as_json"])
        return told
    with progress("loading" if layout is None else "reading the run") as shown:
        experiment = _experiment(layout, asked, how, numbers, shown, partial(load, progress=shown))
        shown.say(f"changing features of layer {experiment.axis.layer}")
        found, cards = remove(experiment, shown)
        unload(experiment.model)
    if experiment.why is not None:
        click.echo(f"on {experiment.why}", err=True)
    if asked["save"] is not None:
        _save(asked["save"], found, cards, experiment.title)
    if asked["as_json"]:
        click.echo(found.to_json(), nl=False)
    else:
        click.echo(drawn(found, cards, experiment.title))
    return found


def verdict_of(found: Sweep) -> str:
    """Of a test of features what it comes to, in one sentence."""
    from sonde.results.ablation import done_in_words
    from sonde.results.feature_table import feature_effects
    from sonde.results.feature_verdict import verdict

    return verdict(feature_effects(found.table), done_in_words(found.table))


def remove(asked: Experiment, shown: Progress) -> tuple[Sweep, dict[int, Feature]]:
    """What was found, and what the features mean as far as that is described."""
    from sonde.sae.feature_axis import feature_cells
    from sonde.sae.load import load_autoencoder

    cells_of = feature_cells(load_autoencoder(asked.dictionary), name=asked.dictionary.name)
    result = asked.model.run(_request(asked), on_event=shown.event, cells_of=cells_of)
    notes = {"model": result.provenance.model, "weights": result.provenance.weights}
    if len(asked.questions) == 1:
        [question] = asked.questions
        notes["answer"] = asked.model.backend.detokenize([question.answer])
        notes["answer_id"] = str(question.answer)
    from dataclasses import replace

    table = result.table.model_copy(update={"notes": notes | result.table.notes})
    described = asked.dictionary / FEATURES
    numbers = [value for value in table.tables[0].axes[0].values if isinstance(value, int)]
    cards = read_some(described, numbers) if described.is_file() else []
    return replace(result, table=table), {card.feature: card for card in cards}


def _request(asked: Experiment) -> SweepRequest:
    """One prompt and its answer; or each of several prompts against its answer's rival."""
    from sonde.schema.pair import PromptPair
    from sonde.schema.table import SweepRequest

    if len(asked.questions) == 1:
        [question] = asked.questions
        return SweepRequest(
            corrupt=list(question.tokens), answer=question.answer, features=asked.axis,
            metrics=["logprob"],
        )  # fmt: skip
    pairs = [
        PromptPair(
            clean=list(each.tokens), corrupt=list(each.tokens), answer=each.answer,
            foil=_rival(asked.model, each),
        )
        for each in asked.questions
    ]  # fmt: skip
    return SweepRequest(
        pairs=pairs, drop_wrong=False, positions=[-1], features=asked.axis, metric="logit_diff"
    )


def _rival(model: Model, question: Question) -> int:
    """The likeliest other token."""
    from sonde.backends.base import GenerateRequest

    asked = GenerateRequest(question.tokens, max_tokens=1, top_logprobs=2)
    told = next(iter(model.backend.generate(asked))).logprobs
    others = {token: value for token, value in told.items() if token != question.answer}
    return max(others, key=lambda token: others[token])


def drawn(found: Sweep, cards: dict[int, Feature], title: str) -> str:
    """The answer for this terminal."""
    from sonde.results.ablation import render_ablation
    from sonde.results.ablations import render_ablations

    width = shutil.get_terminal_size().columns
    if isinstance(found, PairSweep):
        return render_ablations(found, cards, pen=terminal_pen(), width=width, title=title)
    return render_ablation(found.table, cards, pen=terminal_pen(), width=width, title=title)


def _check(asked: dict[str, Any]) -> None:
    prompt, save = asked["prompt"], asked["save"]
    if (prompt is None) != (asked["answer"] is None):
        raise BadRequest("--prompt and --answer go together; without both, name a run")
    of_run = ("run", "generation", "generations", "reward")
    if prompt is not None and any(asked[name] is not None for name in of_run):
        raise BadRequest("either a run or --prompt, not both")
    if asked["generation"] is not None and asked["generations"] is not None:
        raise BadRequest("--generation names one, --generations is how many: leave one out")
    _check_reward(asked)
    if save is not None:
        allowed = (*SAVED, *PICTURES) if asked["reward"] is not None else SAVED
        if Path(save).suffix.lower() not in allowed:
            raise BadRequest(f"cannot save to {save!r}: the suffix is none of {', '.join(allowed)}")
        files.check(save)


def _check_reward(asked: dict[str, Any]) -> None:
    """Options of the one test beside the other."""
    if asked["reward"] is None:
        given = [n for n in ("prompts", "completions", "step") if asked[n] is not None]
        if given:
            raise BadRequest(f"--{given[0]} is about the reward: give --reward too")
        return
    others = ("generation", "generations", "token", "by", "alike", "name")
    for name in others:
        if asked[name] is not None:
            option = {"name": "model"}.get(name, name)
            raise BadRequest(f"--{option} does not go with --reward: leave one out")


def _how(how: str | None) -> How:
    done, _, value = (how or "remove").partition("=")
    if done == "remove" and not value:
        return "remove", None
    if done != "clamp":
        raise BadRequest(f"--how {parse.shown(how or '')}: write remove or clamp=4.5")
    try:
        return "clamp", float(value)
    except ValueError:
        raise BadRequest("--how clamp needs the activation it sets: clamp=4.5") from None


def _numbers(features: str | None) -> list[int] | None:
    if features is None:
        return None
    form = "write numbers with commas between, such as 748,3844"
    return list(dict.fromkeys(parse.numbers("--features", features, form)))


def _hub(asked: dict[str, Any]) -> Any:
    return hub_of(asked["output_dir"], asked["config"])


def _test(asked: dict[str, Any], how: How, numbers: list[int] | None) -> reward.RewardOptions:
    return reward.RewardOptions(
        reward=asked["reward"], prompts=asked["prompts"], completions=asked["completions"] or 64,
        step=asked["step"], layer=asked["layer"], features=numbers, how=how[0], value=how[1],
        draws=asked["draws"], seed=asked["seed"], sae=asked["sae"],
    )  # fmt: skip


def _axis(asked: dict[str, Any], layer: int, how: How, numbers: list[int] | None) -> FeatureAxis:
    from sonde.schema.table import FeatureAxis

    return FeatureAxis(
        layer=layer, numbers=numbers, by=asked["by"], alike=asked["alike"] or 0, how=how[0],
        value=how[1], draws=asked["draws"], seed=asked["seed"],
    )  # fmt: skip


def _experiment(
    layout: RunLayout | None, asked: dict[str, Any], how: How, numbers: list[int] | None,
    shown: Progress, load: Load,
) -> Experiment:  # fmt: skip
    if layout is None:
        return _about_prompt(asked, how, numbers, load)
    return _about_run(layout, asked, how, numbers, shown, load)


def _about_prompt(
    asked: dict[str, Any], how: How, numbers: list[int] | None, load: Load
) -> Experiment:
    layer, answer = asked["layer"], asked["answer"]
    if layer is None:
        raise BadRequest(f"which layer? --layer, one of {list(shipped.layers())} is shipped")
    sae = asked["sae"]
    dictionary = shipped.find(sae if sae is not None else str(layer))
    model = load(asked["name"] or shipped.MODEL)
    graded = model.backend.tokenize(answer, special=False)
    if len(graded) != 1:
        raise BadRequest(f"--answer {answer!r} is {len(graded)} tokens; it has to be one")
    question = Question(tuple(model.backend.tokenize(asked["prompt"])), graded[0])
    done = "clamped in" if how[0] == "clamp" else "removed from"
    title = f"features of layer {layer}, {done} {model.describe().name}"
    return Experiment(model, dictionary, (question,), _axis(asked, layer, how, numbers), title)


def _about_run(
    layout: RunLayout, asked: dict[str, Any], how: How, numbers: list[int] | None,
    shown: Progress, load: Load,
) -> Experiment:  # fmt: skip
    from sonde.runs.listing import checkpoints
    from sonde.runs.moment import checkpoint_near, why_near
    from sonde.sae.of_run import dictionary_of

    name, several = asked["name"], asked["generations"] or 1
    steps = checkpoints(layout)
    if not steps and name is None:
        checkpoint_near(steps, 0)
    newest = load(name or str(layout.directory / f"checkpoint-{steps[-1]}"))
    moments = choose(
        layout, newest, generation=asked["generation"], layer=asked["layer"], token=asked["token"],
        shown=shown, several=several,
    )  # fmt: skip
    moment = moments[0]
    one = len(moments) == 1
    near = None if name is not None else checkpoint_near(steps, moment.step) if one else steps[-1]
    model = newest
    if near is not None and near != steps[-1]:
        unload(newest)
        model = load(str(layout.directory / f"checkpoint-{near}"))
    if asked["sae"] is not None:
        dictionary = shipped.find(asked["sae"])
    else:
        found, reason = dictionary_of(layout, moment.layer)
        if found is None:
            raise BadRequest(f"{reason}; name the dictionary with --sae")
        dictionary = found
    by = f"checkpoint-{near}" if near is not None else model.describe().name
    which = (
        f"generation {moment.generation_id}, token {moment.token}"
        if one
        else f"{len(moments)} generations, one token of each"
    )
    done = "clamped" if how[0] == "clamp" else "removed"
    why = why_near(steps, moment.step, near) if one and near is not None else None
    return Experiment(
        model,
        dictionary,
        tuple(Question(each.tokens, each.answer) for each in moments),
        _axis(asked, moment.layer, how, numbers),
        f"{which}: features of layer {moment.layer}, {done} on {by}",
        why,
    )


def _save(path: str, found: Sweep, cards: dict[int, Feature], title: str) -> None:
    from sonde.results.ablation_page import ablation_page

    html = Path(path).suffix.lower() == ".html"
    text = found.to_json()
    if html:
        several = isinstance(found, PairSweep)
        text = found.to_html() if several else ablation_page(found.table, cards, title)
    click.echo(f"saved {files.write(path, text.encode())}", err=True)
