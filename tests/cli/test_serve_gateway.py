"""`sonde serve` without a model: run directories, where the settings say."""

import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from sonde.cli import serve as module
from sonde.server.parts import Network
from tests.cli.shell import refusal, sonde
from tests.cli.test_serve import free_port, surroundings, while_serving
from tests.runs.trainer import Trainer

__all__ = ["surroundings"]


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """None of this machine's own."""
    for name in [name for name in os.environ if name.startswith("AEGIR_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_it_serves_runs_and_no_model(tmp_path: Path) -> None:
    Trainer(tmp_path / "run").write(3)
    found: dict[str, Any] = {}

    def ask(http: httpx.Client) -> None:
        found["stream"] = http.get("/api/p5/sae/stream?follow=0").text
        found["models"] = http.get("/v1/models").status_code

    port = free_port()
    result = while_serving(port, ask, "--output-dir", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert found["stream"].count('"token_index"') == 3
    assert found["models"] == 404
    assert result.stdout.startswith(f"Sonde listens on http://127.0.0.1:{port}, without a model\n")
    assert "/api/p5/sae/stream\n" in result.stdout
    assert "none; sonde serve --model smollm2 loads one\n" in result.stdout


@pytest.mark.parametrize(
    ("option", "arguments"),
    [
        ("--device", ["--device", "cpu"]),
        ("--compile", ["--compile"]),
        ("--fixed-rows", ["--fixed-rows"]),
        ("--memory-budget", ["--memory-budget", "1GiB"]),
    ],
)
def test_what_is_about_a_model_is_refused_where_there_is_none(
    option: str, arguments: list[str]
) -> None:
    line = refusal(sonde("serve", "--port", 0, *arguments))
    assert f"{option} is about a model" in line
    assert "--model NAME" in line


def test_directory_and_port_come_from_the_environment_and_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    (tmp_path / "aegir.conf").write_text(f"aegir {{ gateway.port = {port}, p5.output_dir = /no }}")
    monkeypatch.setenv("AEGIR_P5_OUTPUT_DIR", str(tmp_path / "run"))
    Trainer(tmp_path / "run").snapshot(50, 2)
    found: dict[str, Any] = {}

    def ask(http: httpx.Client) -> None:
        found.update(http.get("/api/p5/runs").json())

    result = while_serving(port, ask, given_port=False)
    assert result.exit_code == 0, result.output
    assert found["count"] == 1


def test_a_bad_setting_is_one_line_with_its_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEGIR_GATEWAY_PORT", "many")
    line = refusal(sonde("serve"))
    assert "aegir.gateway.port = 'many' (from the variable AEGIR_GATEWAY_PORT)" in line
    assert "gone.conf" in refusal(sonde("serve", "--config", "gone.conf"))


def test_the_reference_s_open_address_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEGIR_GATEWAY_HOST", "0.0.0.0")
    assert "--api-key" in refusal(sonde("serve", "--port", 0))


def test_the_greeting_shows_how_to_listen() -> None:
    text = module.gateway_greeting("http://127.0.0.1:1", Network(api_key="secret"), Path("/r"))
    assert "curl -N" in text
    assert "$SONDE_API_KEY" in text
    assert "secret" not in text
