"""`sonde serve` on an engine that dies: it ends by itself, with one line and a status."""

import threading
from pathlib import Path

import httpx
import pytest

import sonde as package
from sonde.cli import serve
from sonde.errors import EngineLost
from sonde.server import serving
from tests.cli.shell import sonde
from tests.cli.test_serve import free_port, surroundings
from tests.scripted import Scripted

__all__ = ["surroundings"]

SWEEP = {
    "prompt": "The Colosseum is in the city of",
    "source_module": "zeros",
    "layers": [0],
    "answer_token": " Paris",
}


def test_a_lost_engine_ends_it_with_status_1_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = package.Model(Scripted(failing={"score": EngineLost("a worker ended")}))
    monkeypatch.setattr(serve, "load_model", lambda *_, **__: dying)
    monkeypatch.setattr(serve, "offered", lambda *_: {})  # it stands in no directory
    monkeypatch.setattr(serve, "log_to_stderr", lambda: None)
    monkeypatch.setattr(serving, "UNHEALTHY_SECONDS", 0.3)
    port, statuses = free_port(), list[int]()

    def ask() -> None:
        transport = httpx.HTTPTransport(verify=False, retries=10)
        with httpx.Client(transport=transport, timeout=60) as http:
            url = f"http://127.0.0.1:{port}"
            statuses.append(http.post(f"{url}/v1/patch_sweep", json=SWEEP).status_code)
            statuses.append(http.get(f"{url}/health").status_code)

    asking = threading.Thread(target=ask)
    asking.start()
    given = ("--model", "any", "--port", port, "--data-dir", tmp_path, "--output-dir", tmp_path)
    result = sonde("serve", *given)
    asking.join()
    assert statuses == [503, 503]
    assert result.exit_code == 1
    (line,) = [each for each in result.stderr.splitlines() if each.startswith("error: ")]
    assert "the engine is lost: a worker ended" in line
    assert "Start the server again" in line
