"""`sonde sweep`: patch every site of a grid and draw what came out.

On a model that is loaded here, or on a server's: the same request, the same drawing. Everything
that can be wrong with the options is said before a model is loaded for them.
"""

import shutil
from collections.abc import Mapping
from typing import Any, get_args

import click

from sonde.cli import parse
from sonde.cli.estimate import costs, costs_text, elsewhere, estimate_json, estimate_text
from sonde.cli.finding import find, hub_of
from sonde.cli.loading import compiling, load_model, placing
from sonde.cli.options import number, seeded
from sonde.cli.progress import progress
from sonde.cli.question import METRICS, Question, question
from sonde.cli.remote import KEY, RemoteModel, remote_model
from sonde.cli.terminal import terminal_pen
from sonde.course import Checkpoints
from sonde.errors import BadRequest
from sonde.model import Model
from sonde.prompts import PAIRS
from sonde.request import Request
from sonde.results import Sweep, files
from sonde.schema import HOOKS, Estimate, Pairing
from sonde.schema.checkpoint import CheckpointAxis
from sonde.schema.table import Frozen, SweepRequest

DEFAULT_MODEL = "smollm2"

EXAMPLES = """\b
Examples:
  sonde sweep --pair eiffel
  sonde sweep --clean "The Eiffel Tower is in the city of" \\
      --corrupt "The Colosseum is in the city of" --answer " Paris" \\
      --hooks post_block,mlp_out --layers 0:30:2 --positions span:Colosseum
  sonde sweep --pair ioi --hooks all --metric recovered --save ioi.html
  sonde sweep --pair eiffel --positions together --metric kl_clean
  sonde sweep --pair ioi --hooks z,q,k,v,pattern --metric logit_diff
  sonde sweep --pairs agreement:200 --hooks z --metric recovered --save agreement.html
  sonde sweep --pair eiffel --features 15 --top 12 --save features.html
  sonde sweep --pair ioi --senders z:9,mlp_out:8 --receivers logits,total --metric logit_diff
  sonde sweep --pair eiffel --run runs/one --checkpoints all
  sonde sweep --pair eiffel --url http://127.0.0.1:8091
"""


@click.command(
    "sweep", epilog=EXAMPLES, short_help="Find which sites of a model carry a behaviour."
)
@click.option("--pair", metavar="NAME", help=f"A demo pair of prompts: {', '.join(PAIRS)}.")
@click.option(
    "--pairs",
    metavar="PAIRS",
    help="Many pairs: agreement:200 of a task (see `sonde tasks`), or a FILE.jsonl. Positions are "
    "then roles, subject_last,end or roles for all; every cell has an interval and a p.",
)
@click.option(
    "--direction",
    type=click.Choice(["denoise", "noise", "both"]),
    help="Of pairs: write the clean prompt's activations into the corrupt one, or the other way "
    "round. Default: denoise.",
)
@click.option("--keep-wrong", is_flag=True, help="Keep pairs that the model gets wrong.")
@click.option("--clean", metavar="TEXT", help="The prompt whose activations are patched in.")
@click.option("--corrupt", metavar="TEXT", help="The prompt that is patched.")
@click.option(
    "--answer",
    multiple=True,
    metavar="TEXT",
    help="What is graded: --answer ' Paris'. Of several tokens each is graded after those before "
    "it. Repeat it for more: their probabilities are added.",
)
@click.option(
    "--answer-token-id", multiple=True, type=int, metavar="ID", help="The same by a token's id."
)
@click.option(
    "--foil",
    multiple=True,
    metavar="TEXT",
    help="The answer's rival, for logit_diff; with it, recovered is of the logit difference.",
)
@click.option(
    "--foil-token-id", multiple=True, type=int, metavar="ID", help="The same by a token's id."
)
@click.option(
    "--hooks",
    multiple=True,
    default=["post_block"],
    metavar="HOOKS",
    help=f"Where in a layer: {', '.join(HOOKS)}; several with commas, or all. Default: post_block.",
)
@click.option(
    "--layers",
    default="all",
    metavar="LAYERS",
    help="0:30:2, as in Python, or 0,5,7; windows:5 writes five layers in one run, those at either "
    "end fewer. Default: all.",
)
@click.option(
    "--heads",
    metavar="HEADS",
    help="At hooks of heads: 0,3,5, with 1+2 for two in one run, all, or together for all of a "
    "layer in one run. Default: all.",
)
@click.option(
    "--kv",
    type=click.Choice(["group", "reader"]),
    help="At k and v: the key that a group of query heads shares, or what one of them sees of it. "
    "Default: group.",
)
@click.option(
    "--senders",
    multiple=True,
    metavar="NODES",
    help="Sweep over edges instead of sites, from these: embed, z:9.6 (layer.head), z:9, "
    "mlp_out:3, all; several with commas, those with + between them at once.",
)
@click.option(
    "--receivers",
    multiple=True,
    metavar="NODES",
    help="With --senders, to these: q:12.4, k:12.1, v:12.1, mlp:20, logits (the direct effect), "
    "total (an ordinary patch), all.",
)
@click.option(
    "--frozen",
    type=click.Choice(get_args(Frozen)),
    help="What the way between leaves as it is: edge, all but this one receiver's input; path, the "
    "same for several receivers with +; path+mlps, attention alone. Default: edge.",
)
@click.option(
    "--features",
    metavar="LAYER[:NUMBERS]",
    help="Sweep over features of a dictionary instead of sites: 15, or 15:748,3844. Without "
    "numbers, those with the largest effect to first order.",
)
@click.option(
    "--how",
    metavar="HOW",
    help="Of features: patch from --clean, remove, or clamp=4.5. Default: patch where there is "
    "a clean prompt, and remove where there is none.",
)
@number("--top", "How many features, where none is named. Default: 8.", least=1)
@click.option(
    "--by",
    type=click.Choice(["attribution", "activation"]),
    help="What puts features first. Default: attribution.",
)
@number("--alike", "So many other features beside each, whose change is as long.", least=0)
@number("--draws", "So many random directions beside each. Default: 19.", least=0)
@click.option(
    "--sae", metavar="PATH", help="The dictionary, instead of the shipped one; its name with --url."
)
@click.option(
    "--positions",
    multiple=True,
    metavar="POSITIONS",
    help="Tokens of the corrupt prompt: 0,3,5 or span:TEXT (span:TEXT#1 is its second "
    "occurrence), or both with commas, or all; together writes at all of them in one run, so that "
    "the result is one of layers. Repeat it for spans with commas inside. Default: all; and "
    "together where every hook has heads.",
)
@click.option(
    "--metric",
    multiple=True,
    default=["logprob"],
    metavar="METRIC",
    help=f"{', '.join(METRICS)}. Repeat it for more: the first is drawn, --json and --save "
    "have all. Default: logprob.",
)
@click.option(
    "--alpha",
    default="1",
    metavar="NUMBER",
    help="How much of the source is taken, from 0, none, to 1, all. Default: 1.",
)
@click.option("--mask", metavar="DIMENSIONS", help="Patch these dimensions only: 0,1,2 or 0:64.")
@click.option(
    "--ablate",
    type=click.Choice(["zeros"]),
    help="Patch zeros in, instead of --clean's activations.",
)
@click.option(
    "--source",
    type=click.Choice(["clean", "zero", "mean", "resample"]),
    help="What is written: --clean's activations, zeros, the mean over the --reference prompts, or "
    "one of them, drawn for every cell. Default: clean.",
)
@click.option(
    "--reference", metavar="FILE", help="Prompts for --source: one a line, or a JSON list of texts."
)
@click.option(
    "--mean-over",
    type=click.Choice(["position", "tokens"]),
    help="A mean for each position, or one over all tokens. Default: position.",
)
@seeded
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
    f"Default: {DEFAULT_MODEL}.",
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
@click.option(
    "--run", metavar="RUN", help="Sweep the checkpoints of a run, its directory or its name."
)
@click.option(
    "--checkpoints",
    metavar="STEPS",
    help="Of --run: all, or steps such as 10,20. Default: all; the picture is step by layer, "
    "head or feature.",
)
@number(
    "--sources-from",
    "Of --run: write the clean prompt's activations in this checkpoint into every one.",
    least=0,
)
@click.option("--estimate", is_flag=True, help="Say what it would cost, and stop.")
@click.option(
    "--on",
    metavar="DEVICES",
    help="With --estimate: also what it would cost for larger models on other hardware, such as "
    "8xH100. Arithmetic, from rates that were measured elsewhere.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the heatmap.")
@click.option(
    "--save",
    multiple=True,
    metavar="FILE",
    help="Also write a .png, .svg, .html, .json, .csv or .parquet. Repeat it for more.",
)
def command(**asked: Any) -> None:
    """Patch one prompt's activations into another, site by site, and draw what each does.

    Every cell of the heatmap is one run of the corrupt prompt in which one activation, at one layer
    and one token, was replaced by the clean prompt's. Where the answer comes back, that site
    carries it.
    """
    carry_out(question(asked), asked)


def carry_out(wanted: Question, asked: Mapping[str, Any]) -> None:
    """Run what is wanted on the model and with the outputs that the other options name."""
    model, url, api_key = asked["model"], asked["url"], asked["api_key"]
    estimate, save, memory = asked["estimate"], asked["save"], asked["memory_budget"]
    placed = {name: asked[name] for name in ("dtype", "device", "compile_layers", "fixed_rows")}
    placed["memory_budget"] = None if memory is None else parse.size("--memory-budget", memory)
    refuse_elsewhere(url, api_key, placed)
    if estimate and save:
        raise BadRequest("--estimate runs no sweep, so there is nothing to --save: leave one out")
    targets = [files.check(path) for path in save]
    axis = through_run(asked)
    on = elsewhere(asked)
    with progress(f"loading {model or DEFAULT_MODEL}" if url is None else f"asking {url}") as shown:
        swept: Model | RemoteModel | Checkpoints
        if url is not None:
            swept = remote_model(url, shown, api_key=api_key, model=model)
        elif axis is not None:
            swept = Checkpoints(axis.run, axis.steps, progress=shown.say, **placed)
        else:
            swept = load_model(model or DEFAULT_MODEL, shown, **placed)
        request = wanted.request(swept.describe())
        if axis is not None:
            request = of_checkpoints(request, axis)
        shown.now("running the prompts")
        result: Estimate | Sweep
        if estimate:
            assert not isinstance(swept, Checkpoints)
            result = swept.estimate(request)
        elif isinstance(swept, Checkpoints):
            assert isinstance(request, SweepRequest)
            result = swept.run(request, on_event=shown.event)
        else:
            result = swept.run(request, on_event=shown.event)
    if isinstance(result, Estimate):
        there = [] if on is None else costs(on, result, swept.describe(), request)
        click.echo(estimate_json(result, there) if asked["as_json"] else estimate_text(result))
        if on is not None and not asked["as_json"]:
            click.echo(costs_text(on, there))
        return
    show(result, as_json=asked["as_json"])
    for target in targets:
        click.echo(f"saved {result.save(target)}", err=True)


def through_run(asked: Mapping[str, Any]) -> CheckpointAxis | None:
    """Which checkpoints are meant; None where no run is."""
    run, checkpoints, url = asked["run"], asked["checkpoints"], asked["url"]
    if run is None:
        for name in ("checkpoints", "sources_from"):
            if asked[name] is not None:
                option = name.replace("_", "-")
                raise BadRequest(f"--{option} is about a run's checkpoints: give --run too")
        return None
    if asked["model"] is not None:
        raise BadRequest("--run has models of its own: leave --model out")
    if asked["estimate"] and url is None:
        raise BadRequest("--estimate is of one model: estimate one of the checkpoints as --model")
    form = "write all, or the steps of checkpoints, such as 10,20"
    steps = (
        None if checkpoints in (None, "all") else parse.numbers("--checkpoints", checkpoints, form)
    )
    where = run if url is not None else str(find(hub_of(None, None), run).directory)
    return CheckpointAxis(run=where, steps=steps or "all", sources_from=asked["sources_from"])


def of_checkpoints(request: Request, axis: CheckpointAxis) -> SweepRequest:
    """The same of many checkpoints."""
    if not isinstance(request, SweepRequest):
        raise BadRequest("--run takes what a general sweep can ask: leave --mask and such out")
    return request.model_copy(update={"checkpoints": axis})


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
