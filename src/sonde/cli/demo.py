"""`sonde demo`: a tour of a minute on the real default model, with pictures to keep.

1. **Load**    the model, saying what takes how long.
2. **Sweep**   a prompt pair at three hooks, and say in words what the heatmap shows.
3. **Trust**   the controls and the noise floor, in plain words.
4. **Pair**    prompts of different length, and say which token took its activation from which.
5. **Keep**    pictures and pages in a directory, and say what to try next.

Everything said about a result is read from that result: on another model the tour tells another
story, or none.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import Any, Final

import click

from sonde.cli.loading import load_model
from sonde.cli.progress import progress
from sonde.cli.sweep import show
from sonde.errors import BadRequest
from sonde.model import Model
from sonde.prompts import PromptPair, prompt_pair
from sonde.results import Sweep

HOOKS: Final = ("post_block", "mlp_out", "post_attn")
WIDTH: Final = 100
"""The most columns a sentence may have."""

NEXT: Final = (
    ("sonde sweep --pair ioi --hooks pre_attn,post_attn", "another pair, other hooks"),
    (
        'sonde sweep --clean "My sister lost" --corrupt "My brother lost" --answer " her"',
        "your own prompts",
    ),
    ("sonde models", "which models there are, and what they support"),
)


@click.command("demo", short_help="A tour of a minute on the real default model.")
@click.option(
    "--out",
    default="out",
    metavar="DIRECTORY",
    help="Where the pictures and pages go. Without it, out.",
)
@click.option(
    "--model",
    "name",
    default="smollm2",
    metavar="NAME",
    help="A model as in `sonde sweep`. Without it, smollm2.",
)
def command(out: str, name: str) -> None:
    """Sweep two pairs of prompts, say in plain words what came out, and keep the pictures."""
    folder = _folder(out)
    _title(f"1. Load {name}")
    model = _load(name)
    _title("2. Which sites carry a fact?")
    eiffel = _one_fact(model)
    _title("3. Why believe it?")
    for line in trust(eiffel):
        _say(line)
    _title("4. Prompts of different length")
    britain = _unequal_lengths(model)
    _title("5. Yours to keep")
    _keep(folder, {"eiffel": eiffel, "britain": britain})
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


def _one_fact(model: Model) -> Sweep:
    pair = _introduced("eiffel")
    _say(
        "Sonde takes an activation from the first prompt, puts it into the second, and asks how "
        f"much of “{pair.answer.strip()}” comes back: 0 is nothing, 1 is all. One cell is one "
        "such patch."
    )
    hooks = [hook for hook in HOOKS if hook in model.describe().hooks]
    result = _swept(model, pair, hooks=hooks)
    for line in story(result):
        _say(line)
    return result


def _unequal_lengths(model: Model) -> Sweep:
    pair = _introduced("britain")
    _say(
        "One name has more tokens than the other, so some tokens have no counterpart. Sonde does "
        "not guess: unless told how to pair them, it leaves them out. Here pairing='last' counts "
        "them from the end."
    )
    result = _swept(model, pair, pairing="last")
    for line in pairs(result):
        _say(line)
    return result


def _introduced(name: str) -> PromptPair:
    """A prompt pair, shown."""
    pair = prompt_pair(name)
    click.echo(f"  clean    {pair.clean} …{pair.answer}")
    click.echo(f"  corrupt  {pair.corrupt} …{pair.foil}")
    return pair


def _swept(model: Model, pair: PromptPair, **options: Any) -> Sweep:
    """The sweep of a pair, run and drawn."""
    with progress("running the prompts") as shown:
        result = model.sweep(
            clean=pair.clean, corrupt=pair.corrupt, answer=pair.answer, metric="recovered",
            on_event=shown.event, **options,
        )  # fmt: skip
    click.echo()
    show(result, as_json=False)
    return result


def story(result: Sweep) -> Iterator[str]:
    """Where the answer is read from, and from which layer on at the last token."""
    from sonde.results import wording
    from sonde.results.tokens import quoted

    found = result.argmax
    if found is None:
        return
    share = f"{found.value:.0%} of the gap between the prompts"
    yield f"The strongest single patch wins back {share}: {wording.site(found)}."
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


def pairs(result: Sweep) -> Iterator[str]:
    """Which token took its activation from which."""
    from sonde.results.tokens import quoted

    alignment, tokens = result.summary.alignment, result.summary.tokens
    if alignment is None or tokens.clean is None:
        return
    clean = tokens.clean
    for position, sources in alignment.paired:
        taken = " and ".join(quoted(clean[source]) for source in sources)
        yield f"Paired: {quoted(tokens.prompt[position])} takes its activation from {taken}."
    if alignment.unaligned_positions:
        alone = ", ".join(quoted(tokens.prompt[p]) for p in alignment.unaligned_positions)
        yield f"Left out, and said so: {alone}."


def _keep(folder: Path, results: dict[str, Sweep]) -> None:
    _say("Look at the pages in a browser: every cell has its number, and they need no network.")
    for name, result in results.items():
        for suffix in ("png", "html"):
            click.echo(f"  {result.save(folder / f'{name}.{suffix}')}")


def _title(text: str) -> None:
    from sonde.results.pen import Pen, wants_color

    pen = Pen(color := wants_color(sys.stdout))
    click.echo(f"\n{pen.bold(text)}\n{pen.dim('─' * len(text))}", color=color)


def _say(text: str) -> None:
    """A paragraph, with a blank line before it."""
    click.echo("\n" + fill(text, min(get_terminal_size().columns, WIDTH)))
