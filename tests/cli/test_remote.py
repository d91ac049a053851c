"""`sonde sweep --url`: the model of a server instead of one's own."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result

import sonde as package
from sonde import Sweep
from sonde.client import Server
from sonde.engine.tables import sweep_table
from sonde.results.pen import Pen
from sonde.results.terminal import render
from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.schema import Estimate
from sonde.schema.table import SweepRequest, TableSummary
from sonde.server.parts import Gateway, Network, Parts
from sonde.server.serving import assemble, running_server
from sonde.server.sweeps import RunningSweep
from tests.cli.shell import refusal, sonde
from tests.cli.test_sweep import CORRUPT, PROMPTS, same
from tests.client.canned import Asked, Canned, Reply, canned_server, said, sse
from tests.scripted import Scripted

SECRET = "open-sesame"


@pytest.fixture(scope="module")
def url(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    backend = package.load(str(tiny), device="cpu").backend
    with running_server(assemble(backend, tmp_path_factory.mktemp("history"))) as address:
        yield address


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SONDE_API_KEY", raising=False)


def sweep(url: str, *arguments: object) -> Result:
    return sonde("sweep", "--url", url, *PROMPTS, *arguments)


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
def test_the_numbers_are_those_of_the_model_loaded_here(url: str, suffix: str, tiny: Path) -> None:
    options = (
        "--hooks",
        "mlp_out,post_block",
        "--metric",
        "recovered",
        "--pairing",
        "mean",
        "--json",
    )
    there = sweep(url + suffix, *options)
    assert there.exit_code == 0, there.output
    here = sonde("sweep", "--model", tiny, "--device", "cpu", *PROMPTS, *options)
    one, other = Sweep.from_json(there.stdout), Sweep.from_json(here.stdout)
    assert same(one, other)
    assert one.provenance.model == str(tiny)
    assert one.provenance.weights == other.provenance.weights


def test_the_heatmap_is_drawn_and_saved(url: str, tiny: Path) -> None:
    result = sweep(url, "--save", "out.json", "--save", "out.html")
    assert result.exit_code == 0
    saved = Sweep.from_json(Path("out.json"))
    assert result.stdout == render(saved, width=80, pen=Pen(False)) + "\n"
    assert Path("out.html").read_text().startswith("<!doctype html>")
    assert result.stderr.splitlines() == [
        f"asking {tiny} at {url} (float32, cpu)",
        "saved out.json",
        "saved out.html",
    ]


def test_an_estimate_is_the_servers(url: str) -> None:
    assert "12 cells" in sweep(url, "--estimate").stdout.splitlines()[0]
    cost = Estimate.model_validate_json(sweep(url, "--estimate", "--json").stdout)
    assert cost.cells == 12


def test_a_model_may_be_named_that_the_server_has(url: str, tiny: Path) -> None:
    assert sweep(url, "--model", tiny, "--layers", "0").exit_code == 0
    line = refusal(sweep(url, "--model", "smollm2"))
    assert line == f"the model 'smollm2' does not exist here; {str(tiny)!r} is loaded"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--layers", "9"], "layer 9 is out of range [0, 2)"),
        (["--positions", "span:Louvre"], "span 'Louvre' not found"),
        (["--mask", "99"], "mask index 99 is out of range"),
        (["--device", "cpu"], "--device is about loading a model here"),
        (["--dtype", "float32"], "--dtype is about loading a model here"),
        (["--memory-budget", "1GiB"], "--memory-budget is about loading a model here"),
        (["--compile"], "--compile is about loading a model here"),
        (["--fixed-rows"], "--fixed-rows is about loading a model here"),
        (["--save", "out.pdf"], "suffix '.pdf' is none of"),
    ],
)
def test_what_cannot_be_done_is_refused_in_the_words_of_the_command(
    url: str, arguments: list[str], expected: str
) -> None:
    result = sweep(url, *arguments)
    *before, line = result.stderr.splitlines()
    assert (result.exit_code, result.stdout) == (2, "")
    assert all(said.startswith("asking ") for said in before)
    assert expected in line


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:1", "nobody answers at http://127.0.0.1:1 ("),
        ("127.0.0.1:8091", "--url '127.0.0.1:8091': not the address of a server, such as http"),
        ("http://127.0.0.1:port", "--url 'http://127.0.0.1:port': "),
    ],
)
def test_an_address_without_a_server_is_refused_in_one_line(url: str, expected: str) -> None:
    assert expected in refusal(sweep(url))


def test_a_key_without_a_server_is_refused() -> None:
    result = sonde("sweep", *PROMPTS, "--api-key", SECRET)
    assert "give --url too" in refusal(result)
    assert SECRET not in result.output


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    parts = assemble(Scripted(), tmp_path_factory.mktemp("locked"), network=Network(api_key=SECRET))
    with running_server(parts) as address:
        yield address


def test_a_key_is_sent_and_its_absence_explained(
    locked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for wrong in ([], ["--api-key", "sesame"]):
        line = refusal(sweep(locked, *wrong))
        assert line.endswith("wants a key, or another one: give --api-key, or set SONDE_API_KEY")
    assert "visible ASCII" in refusal(sweep(locked, "--api-key", "open sesame"))
    assert sweep(locked, "--api-key", SECRET).exit_code == 0
    monkeypatch.setenv("SONDE_API_KEY", SECRET)
    result = sweep(locked)
    assert result.exit_code == 0
    assert SECRET not in result.output


@pytest.fixture
def canned(locked: str) -> Iterator[Canned]:
    """A server that is Sonde's as far as its capabilities go."""
    able = asyncio.run(Server(f"{locked}/v1", SECRET).capabilities()).model_dump(mode="json")
    with canned_server() as server:
        server.answers["/v1/capabilities"] = lambda _: said(able)
        server.answers["/tokenize"] = _tokens
        yield server


def _tokens(asked: Asked) -> Reply:
    """A token for every word."""
    assert asked.body["add_special_tokens"] is False
    words = asked.body["prompt"].split()
    return said({"count": len(words), "max_model_len": 9, "tokens": list(range(len(words)))})


GENERAL = [
    ["--positions", "together"],
    ["--metric", "kl_clean"],
    ["--answer", " Lyon"],
    ["--answer-token-id", "3"],
    ["--foil", " Rome", "--metric", "recovered"],
    ["--foil", " the Louvre"],
]


@pytest.mark.parametrize("options", GENERAL, ids=lambda options: options[0])
def test_what_the_classic_route_cannot_ask_goes_to_the_general_one(
    canned: Canned, options: list[str]
) -> None:
    arguments = list(PROMPTS)
    if "--answer-token-id" in options:
        arguments = [*PROMPTS[:4], "--answer-token-id", "2"]
    *events, summary = sweep_table(
        Scripted(), SweepRequest(corrupt="The Colosseum", clean="The Tower", answer=" Paris")
    )
    frames = [event.model_dump(mode="json") for event in (*events, summary)]
    canned.answers["/v1/sweeps"] = lambda _: sse(*frames, "data: [DONE]\n\n")
    canned.answers["/v1/sweeps/estimate"] = lambda _: said(ESTIMATE)
    result = sonde("sweep", "--url", canned.url, *arguments, *options, "--json")
    assert result.exit_code == 0, result.output
    [body] = canned.bodies("/v1/sweeps")
    assert (body["corrupt"], body["stream"]) == (CORRUPT, True)
    assert canned.bodies("/v1/patch_sweep") == []
    printed = Sweep.from_json(result.stdout)
    assert isinstance(summary, TableSummary)
    assert printed.table.tables == summary.tables
    assert printed.provenance.request["corrupt"] == CORRUPT
    asked = sonde("sweep", "--url", canned.url, *arguments, *options, "--estimate")
    assert asked.stdout.startswith("cells   7 cells")


def test_a_server_without_general_sweeps_is_told_apart(canned: Canned) -> None:
    result = sweep(canned.url, "--metric", "rank")
    assert (result.exit_code, result.stdout) == (2, "")
    line = result.stderr.splitlines()[-1]
    assert f"the server at {canned.url} has no general sweeps" in line
    assert "the metrics logprob, logit_diff, recovered, or update it" in line


ESTIMATE = {
    "cells": 7, "computed_cells": 7, "token_layers": 1, "working_bytes": 1, "source_bytes": 0,
    "seconds": 1.0, "chunks": 1,
}  # fmt: skip


START = {
    "type": "start", "layers": [0], "positions": [0], "hook": "post_block", "metric": "logprob",
    "auto_captured": True, "captured_source_run": "r", "cells": 1, "tokens": {"prompt": ["a"]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (said({"error": "the model is on fire"}, 500), "error: the model is on fire"),
        (sse(START, {"type": "error", "error": "source dropped"}), "on the server: source dropped"),
        (sse(START, cut=True), "the connection broke before the summary came"),
        (sse(START, {"type": "summary"}), "does not answer as this version of sonde expects"),
    ],
)
def test_what_the_user_cannot_mend_is_one_line_and_another_exit_status(
    canned: Canned, reply: Reply, expected: str
) -> None:
    canned.answers["/v1/patch_sweep"] = lambda _: reply
    result = sweep(canned.url)
    assert (result.exit_code, result.stdout) == (1, "")
    assert expected in result.stderr.splitlines()[-1]


def test_another_kind_of_server_is_told_apart(canned: Canned) -> None:
    del canned.answers["/v1/capabilities"]
    assert f"what answers at {canned.url} is no Sonde server" in refusal(sweep(canned.url))
    canned.answers["/v1/capabilities"] = lambda _: said({"status": "ok"})
    assert "fields of its Capabilities are wrong" in sweep(canned.url).stderr


def test_a_gateway_says_that_it_has_no_model(tmp_path: Path) -> None:
    with running_server(Gateway(Hub(RunLayout(tmp_path)))) as gateway:
        line = refusal(sweep(gateway))
    assert f"{gateway}: this server has no model" in line
    assert "sonde serve --model smollm2" in line


COMMAND = "from sonde.cli.main import main; main()"
NO_TORCH = f"import sys; sys.modules['torch'] = sys.modules['transformers'] = None; {COMMAND}"


def test_neither_torch_nor_transformers_is_needed(url: str) -> None:
    program = [sys.executable, "-c", NO_TORCH, "sweep", "--url", url, *PROMPTS, "--json"]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"]["layers"] == [0, 1]


def test_an_interrupt_stops_the_sweep_on_the_server(tmp_path: Path) -> None:
    go_on = threading.Event()
    parts = assemble(Scripted(before_chunk=lambda _: _wait(go_on)), tmp_path)
    with running_server(parts) as url:
        program = [sys.executable, "-c", COMMAND, "sweep", "--url", url, *PROMPTS]
        process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            running = asyncio.run(under_way(parts, f"{url}/v1"))
            os.kill(process.pid, signal.SIGINT)
            output, errors = process.communicate(timeout=60)
            assert (process.returncode, output) == (130, b"")
            assert b"Traceback" not in errors
            while not running.job.cancelled:
                assert running.state == "running"
                time.sleep(0.01)
        finally:
            go_on.set()
            process.kill()
    assert running.state == "cancelled"


def _wait(go_on: threading.Event) -> None:
    assert go_on.wait(60)


async def under_way(parts: Parts, base_url: str) -> RunningSweep:
    """The one sweep, as soon as it runs."""
    async with asyncio.timeout(60):
        while True:
            for entry in (await Server(base_url).history()).sweeps:
                running = parts.sweeps.under_way(entry.id)
                if running is not None and running.state == "running":
                    return running
            await asyncio.sleep(0.01)
