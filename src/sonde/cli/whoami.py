"""`sonde whoami`: which worktree this is, and what it shares with others."""

import os
from pathlib import Path

import click

from sonde.cli.finding import configured
from sonde.runs.lock import holder
from sonde.settings import load_settings
from sonde.training.worktree import ALLOW_VARIABLE, allowed, find_worktree


@click.command("whoami", short_help="This worktree's role, and what it shares.")
@configured
def command(config: Path | None) -> None:
    """Say which worktree this is, and which directory and port it would use.

    Two checkouts of one repository share both. The secondary one, whose .git is a file, starts
    neither a training run nor a server unless it is told that this is taken care of.
    """
    here, settings = find_worktree(Path.cwd()), load_settings(config)
    output_dir = settings.checkpoint.output_dir
    writer = holder(output_dir)
    rows = {
        "role": here.role,
        "toplevel": here.toplevel or "no repository",
        "common git dir": here.common_dir or "no repository",
        "branch": here.branch or "none",
        "output_dir": f"{output_dir} ({f'written by {writer}' if writer else 'nobody writes'})",
        "gateway port": settings.gateway.port,
    }
    for name, value in rows.items():
        click.echo(f"{name:<16}{value}")
    for place, worktree in enumerate(here.worktrees):
        marked = " (this one)" if worktree == here.toplevel else ""
        click.echo(f"{'worktrees' if place == 0 else '':<16}{worktree}{marked}")
    if here.role == "secondary" and not allowed(os.environ):
        click.echo(
            "train and serve are refused here: set SONDE_OUTPUT_DIR or SONDE_GATEWAY_PORT to "
            f"something of your own, and {ALLOW_VARIABLE}=1"
        )
