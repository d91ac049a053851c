"""`sonde attribute`: score all nodes from one gradient, and say how far that can be trusted.

A sweep by another method: it takes the options of `sonde sweep`, and what they mean is the same.
"""

from dataclasses import replace
from typing import Any

import click

from sonde.cli import sweep
from sonde.cli.options import number
from sonde.cli.question import question
from sonde.errors import BadRequest

EXAMPLES = """\b
Examples:
  sonde attribute --pair ioi
  sonde attribute --pair ioi --gradient eap-ig --hooks z,q,k,v --verify 50 --sample 50
  sonde attribute --pairs agreement:50 --save attribution.html
  sonde attribute --pair ioi --targets edges --gradient eap-ig --save edges.csv
  sonde attribute --pair eiffel --adaptive --hooks post_block --positions all --verify 10
"""
NODES = "z,mlp_out"
OWN = {"--hooks": [NODES], "--metric": ["logit_diff"], "--positions": ["together"]}
"""What is meant here where `sonde sweep` means something else."""


def _shared() -> list[click.Parameter]:
    """The options of `sonde sweep`, with what is meant here if nothing is said."""
    out = []
    for parameter in sweep.command.params:
        name = parameter.opts[0]
        if isinstance(parameter, click.Option) and name in OWN:
            text = (parameter.help or "").partition(" Without it")[0]
            said = " and ".join(OWN[name])
            parameter = click.Option(
                parameter.opts, multiple=True, default=OWN[name], metavar=parameter.metavar,
                help=f"{text} Default: {said}.",
            )  # fmt: skip
        out.append(parameter)
    return out


@click.command(
    "attribute",
    epilog=EXAMPLES,
    params=_shared(),
    short_help="Score every node from one gradient, and verify it.",
)
@click.option(
    "--targets",
    type=click.Choice(["nodes", "edges"]),
    default="nodes",
    help="nodes: what stands at --hooks; edges: from each sender to each receiver after it, all of "
    "them unless --senders and --receivers name some. Default: nodes.",
)
@click.option(
    "--gradient",
    type=click.Choice(["atp", "eap-ig"]),
    default="atp",
    help="Where it is taken: atp, at the corrupt prompt; eap-ig, the mean over points on the way "
    "to the clean one. Default: atp.",
)
@number("--steps", "How many such points.", default=5)
@number("--verify", "How many of the strongest are run too. Default: 200.", least=0)
@number("--sample", "How many of the others, at random, are run too.", least=0, default=200)
@click.option(
    "--adaptive",
    is_flag=True,
    help="Find the strongest exactly, --verify of them or 10, and run no more than that takes.",
)
def command(
    *,
    targets: str,
    gradient: str,
    steps: int,
    verify: int | None,
    sample: int,
    adaptive: bool,
    **asked: Any,
) -> None:
    """Score every head and MLP to first order, and run some of them to verify it.

    One backward pass says of every node how far patching it would move the metric, to first order.
    Scores can be wrong: so the strongest, and a random sample of the others, are run exactly, and
    the foot of the output says what that showed.
    """
    options = {
        "method": "adaptive" if adaptive else "attribution",
        "gradient": gradient,
        "steps": steps,
        "verify": verify,
        "sample": sample,
    }
    if targets == "edges":
        asked = of_edges(asked)
    wanted = question(asked)
    sweep.carry_out(replace(wanted, options={**wanted.options, **options}), asked)


def of_edges(asked: dict[str, Any]) -> dict[str, Any]:
    """The options of edges: all of them, where none are named, and no hooks."""
    if tuple(asked["hooks"]) != tuple(OWN["--hooks"]):
        raise BadRequest("--hooks are not of edges: give --senders and --receivers instead")
    every = {name: asked[name] or ("all",) for name in ("senders", "receivers")}
    return {**asked, **every, "hooks": ("post_block",)}
