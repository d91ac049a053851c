"""Options that several commands have, said in one way: a number, a seed, JSON instead of a drawing.

What an option is without a value is a part of its help ("Default: 256."), and nowhere else:
a default that is said twice is sooner or later said wrongly.
"""

from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def number(name: str, help: str, *, least: int | None = 1, default: int | None = None) -> Decorator:
    """An option that takes a whole number, from `least` on; its default is added to the help."""
    return click.option(
        name,
        type=int if least is None else click.IntRange(least),
        default=default,
        metavar="NUMBER",
        help=help if default is None else f"{help} Default: {default:,}.",
    )


seeded = number("--seed", "From which everything random follows.", least=None, default=0)
"""The option that makes a run repeatable."""

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
"""The option for programs that read what a command says."""
