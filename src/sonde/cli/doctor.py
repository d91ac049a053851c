"""`sonde doctor`: whether Sonde can work here, line by line, and what to do where it cannot.

The exit status is 1 when something needed is broken. What is merely not installed is no fault: a
gateway needs no torch, and a sweep needs no trainer.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Final

import click

from sonde.cli.finding import configured
from sonde.cli.options import as_json

if TYPE_CHECKING:
    from sonde.cli.installation import Finding

MARKS: Final = {"ok": "✓", "optional": "–", "broken": "✗"}
NAME: Final = 16
WIDTH: Final = 100


@click.command("doctor", short_help="Check this machine, and say what to do.")
@configured
@click.option(
    "--exactness",
    is_flag=True,
    help="Only this: for every kind of product, whether bits depend on the rows beside them.",
)
@as_json
def command(config: Path | None, exactness: bool, as_json: bool) -> None:
    """Check versions, model, CPU, autoencoders, directories, disk and port. Changes nothing.

    ✓ is fine, – is an optional part that is not here, ✗ is broken. The line below says what to do.
    """
    from sonde import __version__

    if exactness:
        from sonde.cli.exactness import show

        sys.exit(show(as_json=as_json))
    found = list(findings(config))
    broken = [each for each in found if each.state == "broken"]
    if as_json:
        listed = [asdict(each) for each in found]
        report = {"sonde": __version__, "ok": not broken, "findings": listed}
        click.echo(json.dumps(report, indent=1))
    else:
        click.echo(f"Sonde {__version__}")
        for each in found:
            for line in in_words(each):
                click.echo(line)
        click.echo(verdict(len(broken)))
    sys.exit(1 if broken else 0)


def findings(config: Path | None) -> Iterator["Finding"]:
    """Every check in turn. Those that need a package come after the check of packages."""
    from sonde.cli import installation

    yield from installation.python()
    packages = list(installation.packages())
    yield from packages
    if any(each.state == "broken" and each.name == "packages" for each in packages):
        return
    yield from products()
    yield from installation.model()
    yield from installation.autoencoders()
    yield from surroundings(config)


def products() -> Iterator["Finding"]:
    """The CPU, what computes on it, and whether bits hold."""
    from sonde.cli.exactness import findings

    yield from findings()


def surroundings(config: Path | None) -> Iterator["Finding"]:
    """What depends on the settings and on the rest of this machine."""
    from sonde.backends.torch.loading.model_cache import cache_dir
    from sonde.cli import machine
    from sonde.cli.installation import Finding, interface
    from sonde.cli.serve import default_directory
    from sonde.errors import BadSetting
    from sonde.server.routes.ui import BUILT
    from sonde.settings import load_settings

    yield from interface(BUILT)
    yield from machine.data_directory(default_directory())
    kept = {"models": cache_dir(), "finished sweeps": default_directory()}
    try:
        settings = load_settings(config)
    except BadSetting as error:
        yield Finding("settings", "broken", str(error), "mend it there; the next lines need it")
    else:
        yield from machine.run_directory(settings)
        yield from machine.port(settings)
        kept["runs"] = settings.p5.output_dir
    yield from machine.disk(kept)


def in_words(finding: "Finding") -> Iterator[str]:
    """The finding on a line, and what to do about it below."""
    from sonde.results.tokens import visible

    indent = " " * (NAME + 5)
    said = wrap(visible(finding.said), WIDTH - len(indent), break_on_hyphens=False)
    yield f"  {MARKS[finding.state]}  {finding.name:<{NAME}}{said[0]}"
    yield from (f"{indent}{line}" for line in said[1:])
    if finding.remedy is not None:
        remedy = wrap(visible(finding.remedy), WIDTH - len(indent) - 2, break_on_hyphens=False)
        yield f"{indent}→ {remedy[0]}"
        yield from (f"{indent}  {line}" for line in remedy[1:])


def verdict(broken: int) -> str:
    """The last line."""
    from sonde.results.numbers import count

    return f"{count(broken, 'problem')}; see → above" if broken else "Everything needed is here."
