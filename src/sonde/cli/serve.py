"""`sonde serve`: run directories, and with `--model` a model, behind HTTP, until it is stopped.

Without a model it is a gateway: it starts at once and needs no torch. Nothing is loaded that was
not asked for, so that a gateway beside a training run never takes memory from it.

Everything that can be wrong with the command line, the port and the data directory is found before
the model is loaded. Ctrl-C and SIGTERM let work finish for two seconds, then end it, and the
process is gone within five; a second one ends it at once. What was cut off is `interrupted` in the
history, and its clients hear so. The exit status is 130 after Ctrl-C and 0 after SIGTERM.

Flags that patching servers elsewhere have: `--patch-source-cache-bytes` is `--source-budget` here,
`--enable-patching` is always on, and there is no `--max-patch-slots`.
"""

import asyncio
import logging
import os
import re
import resource
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sonde.cli import parse
from sonde.cli.backend_options import backend_arguments, choosing
from sonde.cli.finding import placed
from sonde.cli.loading import compiling, load_model, placing
from sonde.cli.options import number
from sonde.cli.progress import progress
from sonde.cli.serve_models import check_offered, offered, offering
from sonde.cli.signals import ignore_signals, leave_on_signals
from sonde.errors import BadRequest

if TYPE_CHECKING:
    from sonde.schema import ModelDescription
    from sonde.server.parts import Network

KEY = "SONDE_API_KEY"

EXAMPLES = f"""\b
Examples:
  sonde serve --output-dir out/run
  sonde serve --model smollm2
  sonde serve --model Qwen/Qwen3-0.6B --port 0
  sonde serve --model smollm2 --model-root checkpoints --model-memory 8GiB
  sonde serve --backend vllm --model Qwen/Qwen3-32B --tensor-parallel-size 4
  {KEY}=$(openssl rand -hex 16) sonde serve --host 0.0.0.0 --allow-host lab.example
"""

_KEY = re.compile(r"[!-~]{1,512}")

DIGITS = 640
"""The longest integer of a request. Reading one takes time that grows with the square of its
length, and holds everybody up: JSON is parsed in one go, in whichever thread."""

CLOSE_SECONDS = 1.0
"""For a backend that has processes of its own; they notice by themselves that this one is gone."""

OPTIONS = {"compile_layers": "--compile"}
"""What options are called that have another name in code."""


@click.command("serve", epilog=EXAMPLES, short_help="Serve runs, and a model, over HTTP.")
@offering
@placed
@click.option(
    "--host",
    metavar="ADDRESS",
    help="Where to listen. Any but this machine's own loopback address requires an API key. "
    "Default: $SONDE_GATEWAY_HOST, or 127.0.0.1.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="NUMBER",
    help="0 takes any free port and says which. Default: $SONDE_GATEWAY_PORT, or 8091.",
)
@click.option(
    "--api-key",
    envvar=KEY,
    metavar="KEY",
    help=f"What clients must send as `Authorization: Bearer KEY`; better as ${KEY}, because others "
    "on the machine can read command lines.",
)
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="A further name by which the server is addressed.",
)
@click.option(
    "--allow-origin",
    multiple=True,
    metavar="ORIGIN",
    help="Pages that may use the server beside its own: https://lab.example. Behind a proxy with "
    "TLS, the server's own pages too.",
)
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIRECTORY",
    help="Where finished sweeps are kept. Default: ~/.local/share/sonde.",
)
@click.option("--source-budget", metavar="SIZE", help="For stored source runs: 512MiB, 2GiB.")
@click.option("--memory-budget", metavar="SIZE", help="For sweeps' own work: 512MiB, 2GiB.")
@number("--max-cells", "The largest sweep.", default=1_000_000)
@number("--queue", "How many sweeps, and how many other requests, may wait.", default=256)
@choosing
@placing
@compiling
def command(
    *,
    models: tuple[str, ...],
    roots: tuple[Path, ...],
    model_memory: str | None,
    output_dir: Path | None,
    config: Path | None,
    host: str | None,
    port: int | None,
    api_key: str | None,
    allow_host: tuple[str, ...],
    allow_origin: tuple[str, ...],
    data_dir: Path | None,
    source_budget: str | None,
    memory_budget: str | None,
    max_cells: int,
    queue: int,
    backend: str,
    tensor_parallel_size: int | None,
    pipeline_parallel_size: int | None,
    engine_option: tuple[str, ...],
    **loading: Any,
) -> None:
    """Serve the runs of trainers, and models' sweeps and completions, until stopped.

    Without --model it is a gateway: it shows runs, starts at once and needs no torch. With a model,
    clients of OpenAI's API and of patching servers work against it; /docs lists the routes.
    """
    for option, text in (("source_budget", source_budget), ("memory_budget", memory_budget)):
        if text is not None:
            loading[option] = parse.size(f"--{option.replace('_', '-')}", text)
    loading = backend_arguments(
        backend, tensor_parallel_size, pipeline_parallel_size, engine_option, loading
    )
    model = models[0] if models else None
    check_model(model, loading)
    model_bytes = check_offered(models, roots, model_memory, backend)
    check_key(api_key)
    for name in allow_host:
        check_name(name)
    for origin in allow_origin:
        check_origin(origin)

    from sonde.engine import Limits
    from sonde.runs.hub import Hub
    from sonde.server.network import is_loopback
    from sonde.server.parts import Gateway, Network
    from sonde.server.past import History
    from sonde.server.serving import Server, assemble, bind, listen, url_of
    from sonde.settings import load_settings
    from sonde.store.past import PastSweeps
    from sonde.store.sweeps import SweepStore
    from sonde.training.worktree import find_worktree, guard_serving

    given = {"gateway.host": host, "gateway.port": port, "p5.output_dir": output_dir}
    flags = {f"aegir.{key}": value for key, value in given.items()}
    settings = load_settings(config, flags=flags)
    guard_serving(find_worktree(Path.cwd()), settings.gateway.port, os.environ)
    host = settings.gateway.host
    leave_on_signals()
    with bind(host, settings.gateway.port) as held:
        address, bound_port = held.getsockname()[:2]
        if api_key is None and not is_loopback(address):
            raise BadRequest(exposed(host))
        network = Network(address, bound_port, api_key, (*allow_host, host), allow_origin)
        hub = Hub(settings.p5.layout())
        if model is None:
            log_to_stderr()
            allow_many_connections()
            past = History(PastSweeps(data_dir or default_directory()))
            server = Server(Gateway(hub, network, sweeps=past))
            listen(held)
            click.echo(gateway_greeting(url_of(held), network, settings.p5.output_dir))
            server.run([held])
            finish(server.stopped_by)
            return
        directory = data_dir or default_directory()
        store = SweepStore(directory)
        with progress(f"loading {model}") as shown:
            loaded = load_model(model, shown, **loading)
            others = offered(loaded, models, roots, model_bytes, hub, loading, shown)
        log_to_stderr()
        allow_many_connections()
        sys.set_int_max_str_digits(DIGITS)
        limits = Limits(cells=max_cells)
        parts = assemble(
            loaded.backend, store, network=network, limits=limits, waiting=queue, runs=hub, **others
        )
        server = Server(parts)
        server.app.openapi()  # a third of a second: now, while nobody waits
        listen(held)
        click.echo(greeting(url_of(held), loaded.describe(), network, directory))
        server.run([held])
    if server.lost is not None:
        raise server.lost  # one line, and a status that makes a supervisor start it again
    finish(server.stopped_by, loaded.backend)


def finish(stopped_by: int | None, backend: object = None) -> None:
    """End with the status that fits the signal; a backend that can be closed has a moment."""
    from sonde.server.serving import exit_status

    ignore_signals()
    close = getattr(backend, "close", None)
    if close is not None:
        closing = threading.Thread(target=close, name="sonde-close", daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)
    end_process(exit_status(stopped_by))


def end_process(status: int) -> None:
    """Now. Python would put its things away first: with a model, that takes it seconds."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def check_model(model: str | None, loading: dict[str, Any]) -> None:
    """Refuse options that are about a model where there is none."""
    given = [name for name, value in loading.items() if value not in (None, False)]
    if model is None and given:
        option = OPTIONS.get(given[0], f"--{given[0].replace('_', '-')}")
        raise BadRequest(
            f"{option} is about a model, and without --model none is loaded: give --model NAME "
            f"too, or leave {option} out"
        )


def check_key(key: str | None) -> None:
    """Refuse a key that cannot be sent in a header."""
    if key is not None and not _KEY.fullmatch(key):
        raise BadRequest(
            f"--api-key (or ${KEY}) is empty, too long or has blanks or letters outside ASCII; "
            "make one with: openssl rand -hex 16"
        )


def check_name(name: str) -> None:
    """Refuse what is not a host's name."""
    from sonde.server.network import name_of

    if name_of(name) != name.lower():
        raise BadRequest(
            f"--allow-host {parse.shown(name)} is not a name; write it without scheme, port or "
            "path, such as lab.example"
        )


def check_origin(origin: str) -> None:
    """Refuse what is not the origin of a page."""
    from sonde.server.network import origin_of

    if origin_of(origin) is None:
        raise BadRequest(
            f"--allow-origin {parse.shown(origin)} is not an origin; write scheme, name and, if it "
            "is not the usual one, port, such as https://lab.example or http://127.0.0.1:5173"
        )


def exposed(host: str) -> str:
    """Why the server does not start, and both ways out."""
    return (
        f"--host {host} lets other machines in, and there is no key to keep them out: give one "
        f"with --api-key or ${KEY}, or leave --host out to listen on this machine only"
    )


def default_directory() -> Path:
    """Where this platform keeps a user's data."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "sonde"


def greeting(url: str, model: "ModelDescription", network: "Network", directory: Path) -> str:
    """What to know and what to try."""
    from sonde.results.tokens import visible

    key = f'-H "Authorization: Bearer ${KEY}" ' if network.api_key else ""
    body = '{"prompt": "The Eiffel Tower is in the city of", "max_tokens": 1, "temperature": 0}'
    json = "-H 'Content-Type: application/json'"
    lines = [
        f"Sonde listens on {url}",
        f"  model    {visible(model.name)}: {model.n_layers} layers, {model.dtype} on "
        f"{model.device}",
        f"  history  {visible(str(directory))}",
        f"  page     {url}",
        f"  docs     {url}/docs",
        f"  try      curl {key}{json} -d '{body}' {url}/v1/completions",
        "Ctrl-C stops it.",
    ]
    return "\n".join(lines)


def gateway_greeting(url: str, network: "Network", directory: Path) -> str:
    """The same for a gateway without a model."""
    from sonde.results.tokens import visible

    key = f' -H "Authorization: Bearer ${KEY}"' if network.api_key else ""
    lines = [
        f"Sonde listens on {url}, without a model",
        f"  runs     {visible(str(directory))}",
        f"  page     {url}",
        f"  docs     {url}/docs",
        f"  try      curl -N{key} {url}/api/p5/sae/stream",
        "  model    none; sonde serve --model smollm2 loads one",
        "Ctrl-C stops it.",
    ]
    return "\n".join(lines)


def log_to_stderr() -> None:
    """One line of JSON for each request, and for whatever goes wrong."""
    from sonde.server.request_log import JsonLines

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(lambda record: not was_cut_off(record))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("sonde").setLevel(logging.INFO)


def was_cut_off(record: logging.LogRecord) -> bool:
    """Whether a record is uvicorn's traceback of an answer that took too long to stop."""
    _, error, _ = record.exc_info or (None, None, None)
    return isinstance(error, asyncio.CancelledError)


def allow_many_connections() -> None:
    """Each takes a file descriptor, and shells give out few by default."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
