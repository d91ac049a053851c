"""A worker is killed, in the middle of a sweep or idle: the server says so, and ends."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest

from tests.backends.vllm.engines import saved
from tests.tiny_model import tiny_llama

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

PATIENCE = 480.0
"""Seconds after which something hangs, on any machine."""

SWEEP = {
    "prompt": "The Rome Tower is in the city of",
    "clean_prompt": "The Eiffel Tower is in the city of",
    "source_run": "clean",
    "layers": [0, 1] * 4000,
    "positions": "all_prompt",
    "answer_token": " Paris",
    "stream": True,
}
"""Far more cells than can be done before the worker dies."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`sonde serve`, with the engine and its worker in processes of their own."""
    directory = saved(tiny_llama(width=128), tmp_path / "tiny")
    command = [
        *(sys.executable, "-m", "sonde", "serve", "--backend", "vllm", "--model", str(directory)),
        *("--port", "0", "--data-dir", str(tmp_path / "data"), "--output-dir", str(tmp_path)),
        *("--engine-option", "in_process=false", "--engine-option", "max_model_len=64"),
    ]
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1"}
    with (
        (tmp_path / "stderr").open("wb") as said,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=said,
            env=environment,
            cwd=tmp_path,
            start_new_session=True,
        ) as process,
    ):
        last = threading.Timer(PATIENCE, end_all, [process.pid])
        last.start()
        try:
            yield process
        finally:
            last.cancel()
            end_all(process.pid)


def end_all(group: int) -> None:
    """A server and whatever it has started, also what outlived it."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def workers(pid: int) -> list[psutil.Process]:
    """Processes without children below the server: those that compute."""
    below = psutil.Process(pid).children(recursive=True)
    return [p for p in below if not p.children() and "tracker" not in " ".join(p.cmdline())]


def url_of(server: subprocess.Popen[bytes]) -> str:
    assert server.stdout is not None
    for line in server.stdout:
        if line.startswith(b"Sonde listens on "):
            # vLLM writes out all it was doing when a worker dies, and waits until it is read.
            threading.Thread(target=server.stdout.read, daemon=True).start()
            return line.split()[-1].decode()
    raise AssertionError("the server never listened")


def test_a_worker_killed_in_mid_sweep_fails_the_sweep_and_ends_the_server(
    server: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    with httpx.Client(base_url=url_of(server), timeout=PATIENCE, trust_env=False) as http:
        assert http.get("/health").status_code == 200
        computing = workers(server.pid)
        assert computing
        killed, events = False, list[dict[str, object]]()
        with http.stream("POST", "/v1/patch_sweep", json=SWEEP) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    events.append(json.loads(line.removeprefix("data: ")))
                if not killed and any(event["type"] == "cell" for event in events):
                    computing[-1].send_signal(signal.SIGKILL)
                    killed = True
        assert killed
        assert events[-1]["type"] == "error"
        assert "the engine is lost" in str(events[-1]["error"])
        health = http.get("/health")
        assert health.status_code == 503
        assert "the engine is lost" in health.json()["error"]["message"]
        refused = http.post("/v1/completions", json={"prompt": "The", "max_tokens": 1})
        assert refused.status_code == 503
    ends_with_a_word(server, tmp_path)


def test_a_worker_killed_while_nobody_asks_anything_ends_the_server_too(
    server: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    with httpx.Client(base_url=url_of(server), timeout=PATIENCE, trust_env=False) as http:
        assert http.get("/health").status_code == 200
        workers(server.pid)[-1].send_signal(signal.SIGKILL)
        while http.get("/health").status_code == 200:  # which asks nothing of the engine
            time.sleep(0.2)
        assert "the engine is lost" in http.get("/health").json()["error"]["message"]
    ends_with_a_word(server, tmp_path)


def ends_with_a_word(server: subprocess.Popen[bytes], tmp_path: Path) -> None:
    """With status 1, one line that says what to do, and nothing left behind."""
    left = psutil.Process(server.pid).children(recursive=True)
    server.wait(timeout=PATIENCE)
    said = (tmp_path / "stderr").read_text()
    assert server.returncode == 1, said
    last = [line for line in said.splitlines() if line.startswith("error: ")]
    assert len(last) == 1, said
    assert "the engine is lost" in last[0]
    assert "Start the server again" in last[0]
    gone, alive = psutil.wait_procs(left, timeout=30)
    assert not alive, f"processes left behind: {alive}"
    assert len(gone) == len(left)
