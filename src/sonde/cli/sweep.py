"""`sonde sweep`: patch every site of a grid and draw what came out.

On a model that is loaded here, or on a server's: the same request, the same drawing. Everything
that can be wrong with the options is said before a model is loaded for them.
"""

import shutil
from collections.abc import Mapping
from typing import Any, get_args

import click

from sonde.cli import parse
from sonde.cli.loading import compiling, load_model, placing
from sonde.cli.progress import progress
from sonde.cli.question import METRICS, question
from sonde.cli.remote import KEY, remote_model
from sonde.cli.terminal import terminal_pen
from sonde.errors import BadRequest
from sonde.prompts import PAIRS
from sonde.results import Sweep, files, numbers
from sonde.schema import HOOKS, Estimate, Pairing

DEFAULT_MODEL = "smollm2"

EXAMPLES = """\b
Examples:
  sonde sweep --pair eiffel
  sonde sweep --clean "The Eiffel Tower is in the city of" \\
      --corrupt "The Colosseum is in the city of" --answer " Paris" \\
      --hooks post_block,mlp_out --layers 0:30:2 --positions span:Colosseum
  sonde sweep --pair ioi --hooks all --metric recovered --save ioi.html
  sonde sweep --pair eiffel --url http://127.0.0.1:8091
"""


@click.command(
    "sweep", epilog=EXAMPLES, short_help="Find which sites of a model carry a behaviour."
)
@click.option("--pair", metavar="NAME", help=f"A demo pair of prompts: {', '.join(PAIRS)}.")
@click.option("--clean", metavar="TEXT", help="The prompt whose activations are patched in.")
@click.option("--corrupt", metavar="TEXT", help="The prompt that is patched.")
@click.option("--answer", metavar="TEXT", help="The token that is graded: --answer ' Paris'.")
@click.option("--answer-token-id", type=int, metavar="ID", help="The same by its id.")
@click.option("--foil", metavar="TEXT", help="The answer's rival, for the metric logit_diff.")
@click.option("--foil-token-id", type=int, metavar="ID", help="The same by its id.")
@click.option(
    "--hooks",
    multiple=True,
    default=["post_block"],
    metavar="HOOKS",
    help=f"Where in a layer: {', '.join(HOOKS)}; several with commas, or all. Without it, "
    "post_block.",
)
@click.option(
    "--layers",
    default="all",
    metavar="LAYERS",
    help="0:30:2, as in Python, or 0,5,7. Without it, all.",
)
@click.option(
    "--positions",
    multiple=True,
    default=["all"],
    metavar="POSITIONS",
    help="Tokens of the corrupt prompt: 0,3,5 or span:TEXT (span:TEXT#1 is its second "
    "occurrence), or both with commas, or all. Repeat it for spans with commas inside. "
    "Without it, all.",
)
@click.option(
    "--metric",
    multiple=True,
    default=["logprob"],
    metavar="METRIC",
    help=f"{', '.join(METRICS)}. Repeat it for more: the first is drawn, --json and --save "
    "have all. Without it, logprob.",
)
@click.option(
    "--alpha",
    default="1",
    metavar="NUMBER",
    help="How much of the source is taken: 0 is none; 1, without it, is all.",
)
@click.option("--mask", metavar="DIMENSIONS", help="Patch these dimensions only: 0,1,2 or 0:64.")
@click.option(
    "--ablate",
    type=click.Choice(["zeros"]),
    help="Patch zeros in, instead of --clean's activations.",
)
@click.option(
    "--pairing",
    type=click.Choice(get_args(Pairing)),
    help="Which clean token goes to which corrupt one where the prompts differ in length.",
)
@click.option(
    "--source-positions",
    multiple=True,
    metavar="POSITIONS",
    help="The clean tokens one by one, in the order of --positions; written like those.",
)
@click.option(
    "--model",
    metavar="NAME",
    help="An alias, a Hugging Face id, a directory or a .gguf file (see `sonde models`). "
    f"Without it, {DEFAULT_MODEL}.",
)
@placing
@click.option("--memory-budget", metavar="SIZE", help="For the sweep's own work: 512MiB, 2GiB.")
@compiling
@click.option(
    "--url",
    metavar="URL",
    help="Sweep the model of a server, such as http://127.0.0.1:8091, instead of loading one.",
)
@click.option("--api-key", metavar="KEY", help=f"The server's key; better as ${KEY}.")
@click.option("--estimate", is_flag=True, help="Say what it would cost, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the heatmap.")
@click.option(
    "--save",
    multiple=True,
    metavar="FILE",
    help="Also write a .png, .svg, .html, .json, .csv or .parquet. Repeat it for more.",
)
def command(
    *,
    model: str | None,
    dtype: str | None,
    device: str | None,
    memory_budget: str | None,
    compile_layers: bool,
    fixed_rows: bool,
    url: str | None,
    api_key: str | None,
    estimate: bool,
    as_json: bool,
    save: tuple[str, ...],
    **asked: Any,
) -> None:
    """Patch one prompt's activations into another, site by site, and draw what each does.

    Every cell of the heatmap is one run of the corrupt prompt in which one activation, at one layer
    and one token, was replaced by the clean prompt's. Where the answer comes back, that site
    carries it.
    """
    wanted = question(asked)
    budget = None if memory_budget is None else parse.size("--memory-budget", memory_budget)
    placed = {
        "dtype": dtype,
        "device": device,
        "memory_budget": budget,
        "compile_layers": compile_layers,
        "fixed_rows": fixed_rows,
    }
    refuse_elsewhere(url, api_key, placed)
    if estimate and save:
        raise BadRequest("--estimate runs no sweep, so there is nothing to --save: leave one out")
    targets = [files.check(path) for path in save]
    with progress(f"loading {model or DEFAULT_MODEL}" if url is None else f"asking {url}") as shown:
        swept = (
            load_model(model or DEFAULT_MODEL, shown, **placed)
            if url is None
            else remote_model(url, shown, api_key=api_key, model=model)
        )
        request = wanted.request(swept.describe())
        shown.now("running the prompts")
        result = swept.estimate(request) if estimate else swept.run(request, on_event=shown.event)
    if isinstance(result, Estimate):
        click.echo(result.model_dump_json(indent=1) if as_json else estimate_text(result))
        return
    show(result, as_json=as_json)
    for target in targets:
        click.echo(f"saved {result.save(target)}", err=True)


def refuse_elsewhere(url: str | None, api_key: str | None, placed: Mapping[str, Any]) -> None:
    """Options that make no sense with a server, or not without one."""
    if url is None:
        if api_key is not None:
            raise BadRequest("--api-key is a server's: give --url too, or leave it out")
        return
    for name, value in placed.items():
        if value:
            option = "--" + name.removesuffix("_layers").replace("_", "-")
            raise BadRequest(
                f"{option} is about loading a model here, and with --url the server has done that: "
                "leave one out"
            )


def show(sweep: Sweep, *, as_json: bool) -> None:
    """The result on stdout."""
    if as_json:
        click.echo(sweep.to_json(), nl=False)
        return
    from sonde.results.terminal import render

    pen = terminal_pen()
    text = render(sweep, pen=pen, width=shutil.get_terminal_size().columns)
    click.echo(text, color=pen.color)


def estimate_text(cost: Estimate) -> str:
    """What a sweep would cost, for people."""
    known = cost.cells - cost.computed_cells
    cells = numbers.count(cost.cells, "cell")
    memory = f"{numbers.size(cost.working_bytes)} beside the weights"
    if cost.source_bytes:
        memory += f", and {numbers.size(cost.source_bytes)} for the clean prompt's activations"
    return "\n".join(
        [
            f"cells   {cells}" + (f"; {known:,} cannot differ from the baseline" if known else ""),
            f"time    about {numbers.duration(cost.seconds)}",
            f"memory  {memory}",
        ]
    )
