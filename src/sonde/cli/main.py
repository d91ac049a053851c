"""The command `sonde`: finds the verb, and turns errors into one line and an exit status.

2 is an error the user can fix, 1 one that we or the machine have to fix, 130 an interrupt. Bugs
keep their traceback. A verb is a module of this package with a `command` in it; all of them are
imported for `--help`, so none may import torch, rich or matplotlib outside its function.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import IO, Any

import click
from pydantic import ValidationError

from sonde import __version__
from sonde.cli.parse import did_you_mean
from sonde.errors import (
    BadRequest,
    BaselineFailed,
    CaptureFailed,
    DataDirectoryError,
    EngineError,
    MissingExtra,
    RequestError,
)
from sonde.schema import PatchSweepRequest

VERBS = (
    "demo",
    "sweep",
    "attribute",
    "circuit",
    "attention",
    "tasks",
    "study",
    "replicate",
    "serve",
    "train",
    "runs",
    "watch",
    "models",
    "sae",
    "ablate",
    "doctor",
    "whoami",
)
"""In the order people meet them."""

FIXABLE = (RequestError, BaselineFailed, CaptureFailed, DataDirectoryError, MissingExtra)
"""A prompt that is empty or too long shows itself as a baseline or a capture that failed."""

FLAGS = {
    "pairing": "--pairing",
    "`pairing`": "--pairing",
    "`source_positions`": "--source-positions",
    "source_positions": "--source-positions",
    "clean_prompt": "--clean",
    "answer_token": "--answer",
    "answer_token_id": "--answer-token-id",
    "foil_token": "--foil",
    "foil_token_id": "--foil-token-id",
    "memory_budget": "--memory-budget",
}
"""Fields of a request, and the options of `sonde sweep` that set them."""

QUOTED_OR_WORD = re.compile(r"'(?:\\.|[^'\\])*'|`\w+`|\w+")


class Complaint(click.ClickException):
    """One line on stderr about what the user can fix."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Write the line; what others typed into it cannot break it in two."""
        from sonde.results.tokens import visible

        line = " ".join(part.strip() for part in self.message.splitlines())
        click.echo(f"error: {visible(line)}", file=file, err=file is None)


class Failure(Complaint):
    """One line on stderr about what the user cannot fix."""

    exit_code = 1


class Commands(click.Group):
    """The verbs, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs there are."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one verb."""
        if cmd_name in VERBS:
            command: click.Command = import_module(f"sonde.cli.{cmd_name}").command
            return command
        if ctx.resilient_parsing or cmd_name.startswith("-"):
            return None
        raise BadRequest(f"there is no command {cmd_name!r}{did_you_mean(cmd_name, VERBS)}")

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Parse `sonde`'s own options."""
        with one_line_errors():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Show errors the user can fix as one line; let bugs keep their traceback."""
        with one_line_errors():
            return super().invoke(ctx)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Errors raised on purpose become a `Complaint`; an interrupt becomes a quiet exit."""
    try:
        yield
    except click.UsageError as error:
        raise Complaint(error.format_message()) from error
    except FIXABLE as error:
        raise Complaint(with_flags(str(error))) from error
    except EngineError as error:
        raise Failure(str(error)) from error
    except ValidationError as error:
        if error.title != PatchSweepRequest.__name__:
            raise
        raise Complaint(describe(error)) from error
    except KeyboardInterrupt as error:
        raise click.exceptions.Exit(130) from error


def with_flags(message: str) -> str:
    """The message in words that can be typed here; what it quotes stays as it is."""
    return QUOTED_OR_WORD.sub(lambda found: FLAGS.get(found[0], found[0]), message)


def describe(error: ValidationError) -> str:
    """The first thing wrong with a request: the field, its value, and what would work."""
    first = error.errors(include_url=False)[0]
    field = str(first["loc"][0]) if first["loc"] else "the request"
    if first["type"] == "extra_forbidden":
        return f"unknown field {field!r}{did_you_mean(field, PatchSweepRequest.model_fields)}"
    return f"{field}: {first['msg']}; it was {first['input']!r}"


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Show what a language model computes, and prove it by intervention.

    Begin with `sonde demo`, or with `sonde sweep --pair eiffel`: it patches the activations of one
    prompt into another, site by site, and draws which sites carry the answer.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
