"""`sonde demo`: a tour of a few minutes on the real default model, with pictures to keep.

1. **Load**    the model, saying what takes how long.
2. **Sweep**   a prompt pair at three hooks, and say in words what the heatmap shows.
3. **Trust**   the controls and the noise floor, in plain words.
4. **Heads**   of the same behaviour over many pairs, with intervals: which of them move the fact.
5. **Watch**   a short GRPO run: what a gateway streams of its features while it trains.
6. **Read**    what the run left: rewards, loss against reward, the vocabulary.
7. **Join**    the two: features chosen by attribution, removed on the run's checkpoint, a verdict.
8. **Keep**    pictures and pages in a directory, and say what was found and what to try next.

Everything said about a result is read from that result: on another model the tour tells another
story, or none.
"""

from collections.abc import Iterator
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import Any, Final

import click

from sonde.cli import ablate, demo_heads, demo_run, runs
from sonde.cli import demo_index as index
from sonde.cli.demo_index import Entry
from sonde.cli.loading import load_model
from sonde.cli.options import number
from sonde.cli.progress import progress
from sonde.cli.sweep import show
from sonde.cli.terminal import terminal_pen
from sonde.errors import BadRequest
from sonde.model import Model
from sonde.prompts import DemoPair, demo_pair
from sonde.results import Sweep

HOOKS: Final = ("post_block", "mlp_out", "post_attn")
WIDTH: Final = 100
"""The most columns a sentence may have."""

STEPS: Final = 8
DRAWS: Final = 39
"""Random directions beside each feature: p can be as small as one in 40."""

NEXT: Final = (
    (
        'sonde sweep --clean "My sister lost" --corrupt "My brother lost" --answer " her"',
        "a sweep over your own prompts",
    ),
    ("sonde serve --model smollm2", "the same in a browser: http://127.0.0.1:8091"),
    (
        "sonde train --output-dir runs/one",
        "a longer run, to be watched with `sonde watch runs/one`",
    ),
    ("sonde runs story runs/one --save story.html", "what that run learned, told on one page"),
)


@click.command("demo", short_help="A tour of a few minutes on the real default model.")
@click.option(
    "--out",
    default="out",
    metavar="DIRECTORY",
    help="Where the pictures and pages go. Default: out.",
)
@click.option(
    "--model",
    "name",
    default="smollm2",
    metavar="NAME",
    help="A model as in `sonde sweep`. Default: smollm2.",
)
@number("--steps", "How long to train; 0 leaves training out.", least=0, default=STEPS)
def command(out: str, name: str, steps: int) -> None:
    """Sweep a fact, train and watch, test a feature on the checkpoint, and keep the pictures."""
    folder = _folder(out)
    _title(f"1. Load {name}")
    model = _load(name)
    _title("2. Which sites carry a fact?")
    pages = _one_fact(model, folder)
    del model  # the trainer needs the memory
    if steps:
        pages += _training(folder, steps)
    _title("What was found")
    for page in pages:
        if page.page != "run.html":  # a run is no finding
            _say(page.text)
    _title("Yours to keep")
    _say("Open this page in a browser; it and what it leads to need no network:")
    click.echo(f"  {index.write(folder, pages)}")
    _say("Try next:")
    for line, what in NEXT:
        click.echo(f"  {line}\n      {what}")


def _folder(out: str) -> Path:
    """The directory, made now: a tour that cannot keep its pictures does not begin."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadRequest(
            f"--out {out!r} cannot be a directory: {error.strerror}; name another"
        ) from error
    return folder


def _load(name: str) -> Model:
    with progress(f"loading {name}") as shown:
        return load_model(name, shown)


def _one_fact(model: Model, folder: Path) -> list[Entry]:
    pair = _introduced("eiffel")
    _say(
        "Sonde takes an activation from the first prompt, puts it into the second, and asks how "
        f"much of “{pair.answer.strip()}” comes back: 0 is nothing, 1 is all. One cell is one "
        "such patch."
    )
    hooks = [hook for hook in HOOKS if hook in model.describe().hooks]
    result = _swept(model, pair, hooks=hooks)
    told = list(story(result))
    for line in told:
        _say(line)
    _title("3. Why believe it?")
    for line in trust(result):
        _say(line)
    for suffix in ("png", "html"):
        result.save(folder / f"eiffel.{suffix}")
    return [
        Entry("A fact", " ".join(told), "eiffel.html", "eiffel.png"),
        _heads(model, result, folder),
    ]


def _heads(model: Model, fact: Sweep, folder: Path) -> Entry:
    """One pair is an anecdote: the heads of many landmarks, with intervals."""
    _title("4. Which heads move it?")
    _say(
        "One pair of prompts is an anecdote. So heads are patched in many landmarks, one head at a "
        "time: the mean of what comes back, its 95 % interval, and a p that is corrected for all "
        "heads that were tried.\n"
    )
    with progress("patching heads") as shown:
        entry, told = demo_heads.heads(model, fact, folder, shown)
    for line in told:
        click.echo(f"  {line}")
    _say(entry.text)
    return entry


def _training(folder: Path, steps: int) -> list[Entry]:
    """A run watched while it trains, what it left, and its features put to the test."""
    run = folder.resolve() / "run"
    _title("5. Watch it train")
    _say(
        f"{steps} steps of GRPO on a small task with a verifier. A gateway beside the trainer "
        "reads its files and streams which features of two dictionaries fire for each token. A "
        "line here is what was heard of one step:\n"
    )
    demo_run.watch(run, steps)
    _title("6. What the run left")
    context = click.get_current_context()
    named = {"run": str(run), "output_dir": None, "config": None}
    context.invoke(runs.show, **named, layer=None, last=None, as_json=False)
    context.invoke(runs.export, **named, target=folder / "run.html", form="html", force=True)
    run_entry = Entry("A run", f"{steps} steps, token by token, with rewards.", "run.html")
    return [_feature(named, folder), run_entry]


def _feature(named: dict[str, Any], folder: Path) -> Entry:
    """Features chosen by one gradient, removed on the run's checkpoint beside random directions."""
    _title("7. Does a feature matter? Remove it, on that checkpoint")
    _say(
        "Of the completions that passed, the token that hung most in the balance. The brightest "
        "features there are usually not those that matter, so one gradient chooses: those with "
        "the largest effect to first order are removed, one at a time, and the answer is graded "
        "without each. Random directions of the same length stand beside them. The first line "
        "says whether one of the features matters, or that none of those tested does.\n"
    )
    asked = {"generation": None, "token": None, "prompt": None, "answer": None, "layer": None}
    engine = {"backend": "torch", "tensor_parallel_size": None, "pipeline_parallel_size": None}
    title = "A feature, removed on the run's checkpoint"
    try:
        found = click.get_current_context().invoke(
            ablate.command, **named, **asked, **engine, engine_option=(), features=None, sae=None,
            name=None, draws=DRAWS, save=str(folder / "feature.html"), as_json=False,
        )  # fmt: skip
    except BadRequest as error:
        _say(f"Not tested: {error}")
        return Entry(title, f"Not tested: {error}")
    return Entry(title, ablate.verdict_of(found), "feature.html")


def _introduced(name: str) -> DemoPair:
    """A prompt pair, shown."""
    pair = demo_pair(name)
    click.echo(f"  clean    {pair.clean} …{pair.answer}")
    click.echo(f"  corrupt  {pair.corrupt} …{pair.foil}")
    return pair


def _swept(model: Model, pair: DemoPair, **options: Any) -> Sweep:
    """The sweep of a pair, run and drawn."""
    with progress("running the prompts") as shown:
        result: Sweep = model.sweep(
            clean=pair.clean, corrupt=pair.corrupt, answer=pair.answer, metric="recovered",
            on_event=shown.event, **options,
        )  # fmt: skip
    click.echo()
    show(result, as_json=False)
    return result


def story(result: Sweep) -> Iterator[str]:
    """Where the answer is read from, and from which layer on at the last token."""
    from sonde.results.tokens import quoted

    found, cell = result.argmax, result.largest
    if found is None or found.position is None:
        return
    share = f"{found.value:.0%} of the gap between the prompts"
    yield f"The strongest single patch wins back {share}: {cell}."
    grid = result.grids["post_block"]
    columns = (grid[:, result.positions.index(found.position)], grid[:, -1])
    here, there = (
        [layer for layer, value in zip(result.layers, column, strict=True) if value > 0.5]
        for column in columns
    )
    if here and there and here[0] < there[0]:
        yield (
            f"Read post_block from the bottom up: until layer {here[-1]} the answer hangs on "
            f"{quoted(found.token)}; from layer {there[0]} on it is at the last token, "
            f"{quoted(result.tokens[-1])}. Attention has moved it."
        )


def trust(result: Sweep) -> Iterator[str]:
    """The controls and the noise floor, for someone who has never heard of them."""
    from sonde.results import wording

    yield (
        "Controls: patches that must change nothing, because they write nothing (alpha 0) or "
        "what is already there (a self-patch). They are computed like every other cell. "
        f"Here {wording.controls(result)}."
    )
    floor = result.noise_floor
    meaning = (
        "Every difference on the map comes from a patch, none from rounding."
        if floor == 0
        else "Differences within it mean nothing, and are marked."
    )
    yield (
        "Noise floor: the unpatched prompt, run once more among the patched ones, against itself. "
        f"Here {wording.noise(result)}. {meaning}"
    )


def _title(text: str) -> None:
    pen = terminal_pen()
    click.echo(f"\n{pen.bold(text)}\n{pen.dim('─' * len(text))}", color=pen.color)


def _say(text: str) -> None:
    """A paragraph, with a blank line before it."""
    click.echo("\n" + fill(text, min(get_terminal_size().columns, WIDTH)))
