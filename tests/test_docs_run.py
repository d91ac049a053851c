"""What the documents show is run, in the order in which it is shown.

Each document is a session with a directory of its own; those that follow a training run share one.
`sonde` runs in this process and shares one loaded model, so that a page of commands takes seconds.
What serves or watches runs until it has said something; what trains runs as a program of its own.
"""

import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

import sonde
from sonde.cli.main import main
from tests.documents import MANUAL, README, ROOT, Block, blocks, name_of
from tests.local import LOCAL
from tests.programs import PATIENCE, started

ADDRESS = "http://127.0.0.1:8091"
HOW_TO = ROOT / "docs" / "how-to"
TOGETHER = tuple(HOW_TO / name for name in ("train.md", "runs.md", "watch.md"))
"""The first makes the run that the others look at."""
SESSIONS = [TOGETHER, *((page,) for page in MANUAL if page not in TOGETHER)]
APART = ("trl", "sonde.server")
"""Programs that import these leave things behind, and get a process of their own."""

NEVER_ENDING = re.compile(r"sonde (serve|watch(?!.*--once))")
SPOKEN_SECONDS = 120


@pytest.fixture(scope="module")
def service(
    smollm2: sonde.Model, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], str]]:
    """Makes a text that names the server at its usual address name one that runs."""
    from sonde.runs.hub import Hub
    from sonde.runs.layout import RunLayout
    from sonde.server.serving import assemble, running_server
    from tests.runs.trainer import Trainer

    folder = tmp_path_factory.mktemp("served")
    Trainer(folder / "run").write(3)
    runs = Hub(RunLayout(folder / "run"))
    with running_server(assemble(smollm2.backend, folder / "history", runs=runs)) as url:
        yield lambda text: text.replace(ADDRESS, url)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, smollm2: sonde.Model) -> Path:
    """A reader's directory: the examples, a home of its own, and the model loaded once for all."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("AEGIR_")]:
        monkeypatch.delenv(name)
    surroundings = {
        "XDG_DATA_HOME": str(tmp_path / ".data"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "AEGIR_GATEWAY_PORT": "0",
        "COLUMNS": "80",
        "NO_COLOR": "1",
    }
    for name, value in surroundings.items():
        monkeypatch.setenv(name, value)
    load = sonde.load

    def loaded(name: str = "smollm2", **options: Any) -> sonde.Model:
        asked = {key for key, value in options.items() if value} - {"progress"}
        return smollm2 if name == "smollm2" and not asked else load(name, **options)

    monkeypatch.setattr(sonde, "load", loaded)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("pages", SESSIONS, ids=lambda pages: name_of(pages[0]))
def test_every_block_of_a_document_runs(
    pages: tuple[Path, ...], here: Path, request: pytest.FixtureRequest
) -> None:
    shown = [block for page in pages for block in blocks(page, "sh", "console", "python")]
    for block in shown:
        if block.reason is None:
            if ADDRESS in block.text:
                text = request.getfixturevalue("service")(block.text)
                block = block._replace(text=text)
            run(block, here)


def run(block: Block, here: Path) -> None:
    if block.language == "python":
        run_program(block.text, here)
    elif block.language == "console":
        line, *shown = block.text.splitlines()
        printed = [each.rstrip() for each in ended_well(line.removeprefix("$ ")).splitlines()]
        assert printed[: len(shown)] == shown  # what comes after is times, which differ
    else:
        for line in block.lines:
            said = run_line(line)
            if " -N " in line and "patch_sweep" in line:
                assert said.endswith("data: [DONE]\n\n")


def run_program(text: str, here: Path) -> None:
    path = here / "program.py"
    path.write_text(text)
    if any(f"from {package}" in text for package in APART):
        done = subprocess.run([sys.executable, "-W", "error", path], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    else:
        runpy.run_path(str(path))


def run_line(line: str) -> str:
    """A command, in the way that suits it; what it printed."""
    if NEVER_ENDING.match(line):
        return spoken(line)
    if line.startswith("sonde ") and not line.startswith("sonde train "):
        return ended_well(line)
    failing = line.replace("curl ", "curl --silent --show-error --fail-with-body ")
    done = subprocess.run(["bash", "-c", failing], capture_output=True, text=True)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def ended_well(line: str) -> str:
    """A `sonde` command in this process."""
    result = CliRunner().invoke(main, shlex.split(line, comments=True)[1:])
    assert result.exit_code == 0, f"{line}\n{result.output}{result.exception!r}"
    return result.stdout


@cache  # a server that several pages start is started once
def spoken(line: str) -> str:
    """The first line of a command that goes on until it is told to end."""
    program = shlex.split(line, comments=True)
    extra = ["--port", "0"] if program[1] == "serve" else []
    with started([*program, *extra], stdout=subprocess.PIPE, text=True) as running:
        said = first_words(running)
        if found := re.search(r"http://\S+", said):
            httpx.get(f"{found[0].rstrip(',')}/health", timeout=60, **LOCAL)
        running.send_signal(signal.SIGTERM if program[1] == "serve" else signal.SIGINT)
        running.communicate(timeout=PATIENCE)
    assert running.returncode in (0, 130), line
    return said


def first_words(running: "subprocess.Popen[str]") -> str:
    assert running.stdout is not None
    until = time.monotonic() + SPOKEN_SECONDS
    while time.monotonic() < until:
        said = running.stdout.readline()
        assert said or running.poll() is None, f"it ended with {running.returncode}"
        if said.strip():
            return said
    raise AssertionError("it said nothing")


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_a_script_among_the_examples_runs(path: Path, tmp_path: Path) -> None:
    program = [sys.executable, "-W", "error", str(path)]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_reason_not_to_run_is_given_only_where_something_could_be_run() -> None:
    for page in MANUAL:
        marks = page.read_text().count("<!-- not run:")
        marked = [block for block in blocks(page, "sh", "console", "python") if block.reason]
        assert marks == len(marked), f"{page.name}: the mark belongs on the line before the fence"


def test_the_readme_s_programs_are_all_run() -> None:
    assert [block for block in blocks(README, "python") if block.reason] == []
