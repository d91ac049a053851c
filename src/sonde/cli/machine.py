"""What `sonde doctor` looks at next: where things are kept, and the port, on this machine.

Looks only: no folder is made, nothing is written, and a port is held for less than a moment.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from sonde.backends.torch.loading.model_cache import VARIABLE
from sonde.cli.installation import Finding
from sonde.results.numbers import size
from sonde.settings import Settings

ANSWER_SECONDS: Final = 2.0
"""How long to wait for the process that has the port."""
ROOM: Final = 2**30
"""Converting the default model takes half of this, and a short run a tenth."""


def run_directory(settings: Settings) -> Iterator[Finding]:
    """Whether a trainer could write where the settings say, and who does now."""
    from sonde.runs.lock import holder

    directory = settings.p5.output_dir
    remedy = "name another with --output-dir or SONDE_OUTPUT_DIR"
    if why := unwritable(directory):
        yield Finding("run directory", "broken", f"{directory} cannot be used: {why}", remedy)
        return
    writer = holder(directory)
    made = "" if directory.is_dir() else ", made by the first run"
    yield Finding(
        "run directory", "ok", f"{directory}{f', written by {writer}' if writer else made}"
    )


def data_directory(directory: Path) -> Iterator[Finding]:
    """Whether a server could keep finished sweeps."""
    if why := unwritable(directory):
        remedy = "give `sonde serve` another with --data-dir"
        yield Finding("data directory", "broken", f"{directory} cannot be used: {why}", remedy)
    else:
        made = "" if directory.is_dir() else ", made by the first server"
        yield Finding("data directory", "ok", f"{directory}{made}")


def disk(places: Mapping[str, Path]) -> Iterator[Finding]:
    """Whether there is room where things are kept; one line for each disk."""
    disks: dict[int, list[str]] = {}
    for use, path in places.items():
        disks.setdefault(nearest(path).stat().st_dev, []).append(use)
    for uses in disks.values():
        there = nearest(places[uses[0]])
        free = shutil.disk_usage(there).free
        said = f"{size(free)} free for {', '.join(uses)}"
        if free >= ROOM:
            yield Finding("disk", "ok", said)
        else:
            remedy = f"free some, or point {VARIABLE}, --data-dir or --output-dir to another disk"
            yield Finding("disk", "broken", f"only {said}; expected {size(ROOM)}", remedy)


def nearest(path: Path) -> Path:
    """The path itself, or the first folder above it that there is."""
    path = path.absolute()
    return path if path.exists() else nearest(path.parent)


def unwritable(directory: Path) -> str | None:
    """Why nothing can be written into a directory, made or to be made; None if it can."""
    try:
        there = nearest(directory)
    except OSError as error:
        return str(error.strerror)
    if not there.is_dir():
        return f"{there} is a file"
    if not os.access(there, os.W_OK | os.X_OK):
        return f"{there} is not writable for this user"
    return None


def port(settings: Settings) -> Iterator[Finding]:
    """Whether the gateway's port is free, or who answers there."""
    from sonde.errors import BadRequest
    from sonde.server.serving import bind, listen

    host, number = settings.gateway.host, settings.gateway.port
    where = f"{number} on {host}"
    try:
        with bind(host, number) as held:
            listen(held)
    except BadRequest as error:
        known = who_answers(host, number)
        if known is None:
            remedy = "stop what has it, or choose another: `sonde serve --port 0` takes a free one"
            yield Finding("port", "broken", str(error).partition(";")[0], remedy)
        else:
            yield Finding("port", "ok", f"{where} is in use by {known}")
    else:
        yield Finding("port", "ok", f"{where} is free")


def who_answers(host: str, number: int) -> str | None:
    """A Sonde server at this address, in words; None if it is anything else."""
    import httpx

    host = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    url = f"http://[{host}]:{number}" if ":" in host else f"http://{host}:{number}"
    try:
        page = httpx.get(f"{url}/openapi.json", timeout=ANSWER_SECONDS, trust_env=False)
        info = page.json()["info"] if page.status_code == 200 else {}
        title, version = info.get("title"), info.get("version")
    except (httpx.HTTPError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return f"Sonde {version}: {url}" if title == "Sonde" else None
