"""`sonde attention`: what heads attend to in one prompt, and which of them look for what.

On a model that is loaded here, or on a server's: the same request, the same drawing.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import click

from sonde.cli import parse
from sonde.cli.loading import load_model, placing
from sonde.cli.options import as_json, number, seeded
from sonde.cli.progress import progress
from sonde.cli.remote import KEY, remote_model
from sonde.cli.sweep import DEFAULT_MODEL, refuse_elsewhere
from sonde.cli.terminal import terminal_pen
from sonde.errors import BadRequest
from sonde.request import attention_request

if TYPE_CHECKING:
    from sonde.results import Attention

EXAMPLES = """\b
Examples:
  sonde attention --prompt "When Mary and John went out, John gave a drink to" --layer 23 --head 3
  sonde attention --prompt "..." --layer 23 --head 3 --save head.html
  sonde attention --repeated 25 --scores
"""
_FORM = "write numbers such as 9 or 0,3,5, or a range such as 0:4"


@click.command(
    "attention", epilog=EXAMPLES, short_help="Show what heads attend to, and which look for what."
)
@click.option("--prompt", metavar="TEXT", help="The prompt that is run.")
@number("--repeated", "Run so many random tokens, and then the same once more.", least=2)
@seeded
@click.option("--layer", metavar="LAYERS", help="9, or 0,3,5, or 0:4. Default: all.")
@click.option("--head", metavar="HEADS", help="Query heads, as layers are named. Default: all.")
@click.option(
    "--scores",
    is_flag=True,
    help="Say of each head how far it attends to the token before, to an earlier occurrence of the "
    "same token, and to what followed that.",
)
@click.option(
    "--model",
    metavar="NAME",
    help="An alias, a Hugging Face id, a directory or a .gguf file (see `sonde models`). "
    f"Default: {DEFAULT_MODEL}.",
)
@placing
@click.option(
    "--url",
    metavar="URL",
    help="Ask the model of a server, such as http://127.0.0.1:8091, instead of loading one.",
)
@click.option("--api-key", metavar="KEY", help=f"The server's key; better as ${KEY}.")
@as_json
@click.option(
    "--save",
    multiple=True,
    metavar="FILE",
    help="Also write a .png, .svg, .html, .json or .csv. Repeat it for more.",
)
def command(
    *,
    prompt: str | None,
    repeated: int | None,
    seed: int,
    layer: str | None,
    head: str | None,
    scores: bool,
    model: str | None,
    dtype: str | None,
    device: str | None,
    url: str | None,
    api_key: str | None,
    as_json: bool,
    save: tuple[str, ...],
) -> None:
    """Show what attention heads look at.

    Each row is a position of the prompt, and its squares are the earlier tokens it takes from.
    """
    from sonde.results.attention import check_suffix

    if (prompt is None) == (repeated is None):
        raise BadRequest("give --prompt, or --repeated for random tokens: one of the two")
    layers = None if layer is None else parse.numbers("--layer", layer, _FORM)
    heads = None if head is None else parse.numbers("--head", head, _FORM)
    one = layers is not None and heads is not None
    if not (scores or one or as_json or save):
        raise BadRequest("which head? name --layer and --head, or give --scores to look for one")
    request = attention_request(
        prompt if prompt is None else parse.text("--prompt", prompt),
        layers=layers, heads=heads, repeated=repeated, seed=seed, scores=scores,
    )  # fmt: skip
    placed = {"dtype": dtype, "device": device}
    refuse_elsewhere(url, api_key, placed)
    for path in save:
        check_suffix(path)
    with progress(f"loading {model or DEFAULT_MODEL}" if url is None else f"asking {url}") as shown:
        asked = (
            load_model(model or DEFAULT_MODEL, shown, **placed)
            if url is None
            else remote_model(url, shown, api_key=api_key, model=model)
        )
        shown.now("running the prompt")
        found = asked.attend(request)
    if as_json:
        click.echo(found.to_json(), nl=False)
    elif scores or one:
        show(found)
    for path in save:
        click.echo(f"saved {found.save(path)}", err=True)


def show(found: Attention) -> None:
    """The matrices, or the scores, on stdout."""
    from sonde.results.attention_text import render

    pen = terminal_pen()
    text = render(found, pen=pen, width=shutil.get_terminal_size().columns)
    click.echo(text, color=pen.color)
