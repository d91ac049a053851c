"""The Hugging Face Hub here is a server of a few lines on this machine."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import constants

from sonde.backends.torch.loading.load import load_model
from sonde.backends.torch.loading.locate import from_hub
from sonde.errors import UnknownModel
from tests.tiny_model import save_tiny_model, tiny_tokenizer

SHA = "0" * 39 + "1"


class Hub(ThreadingHTTPServer):
    """Serves one directory as the model `org/tiny` and notes which files were fetched."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.folder = folder
        self.fetched: set[str] = set()


class Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self.answer(with_body=False)

    def do_GET(self) -> None:
        self.answer(with_body=True)

    def answer(self, *, with_body: bool) -> None:
        path = self.path.partition("?")[0]
        if path == "/api/models/org/tiny/revision/main":
            self.send(json.dumps({"id": "org/tiny", "sha": SHA}).encode())
        elif path == f"/api/models/org/tiny/tree/{SHA}":
            self.send(json.dumps(self.files()).encode())
        elif path.startswith(f"/org/tiny/resolve/{SHA}/"):
            name = path.removeprefix(f"/org/tiny/resolve/{SHA}/")
            self.server.fetched.add(name)
            self.send((self.server.folder / name).read_bytes(), with_body=with_body)
        else:
            self.send(b"", status=404)

    def files(self) -> list[dict[str, object]]:
        found = [file for file in self.server.folder.rglob("*") if file.is_file()]
        return [
            {
                "type": "file",
                "path": str(file.relative_to(self.server.folder)),
                "size": file.stat().st_size,
                "oid": "a" * 40,
            }
            for file in found
        ]

    def send(self, body: bytes, *, status: int = 200, with_body: bool = True) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{abs(hash(self.path)):x}"')
        self.send_header("X-Repo-Commit", SHA)
        if status == 404:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    hub_ = Hub(save_tiny_model(tmp_path / "served"))
    address = f"http://127.0.0.1:{hub_.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(
        constants,
        "HUGGINGFACE_CO_URL_TEMPLATE",
        address + "/{repo_id}/resolve/{revision}/{filename}",
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    thread = threading.Thread(target=hub_.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield hub_
    hub_.shutdown()
    thread.join()
    hub_.server_close()


def test_an_id_is_fetched_and_loaded(server: Hub) -> None:
    loaded = load_model("org/tiny", device="cpu")
    assert loaded.model.name_or_path == "org/tiny"
    assert {"model.safetensors", "config.json", "tokenizer.json"} <= server.fetched


def test_other_formats_of_the_same_weights_are_left_there(server: Hub) -> None:
    (server.folder / "onnx").mkdir()
    for name in ("pytorch_model.bin", "consolidated.safetensors", "model.fp16.safetensors"):
        (server.folder / name).write_bytes(b"large")
    (server.folder / "onnx" / "config.json").write_bytes(b"{}")
    from_hub("org/tiny")
    assert server.fetched == {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }


def test_a_fetched_model_is_found_when_the_hub_is_gone(
    server: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = from_hub("org/tiny")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")
    assert from_hub("org/tiny") == directory


def test_an_unknown_id_lists_what_would_work(server: Hub) -> None:
    with pytest.raises(UnknownModel, match=r"'org/other'.*alias \(smollm2\).*Hugging Face id"):
        from_hub("org/other")


def test_without_a_network_an_uncached_id_fails_at_once_with_the_reason(
    server: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(UnknownModel, match=r"out of reach \(.*refused\)"):
        from_hub("org/tiny")


def test_a_name_that_cannot_be_an_id_says_why() -> None:
    with pytest.raises(UnknownModel, match="Repo id must"):
        from_hub("what is this")


def test_01_a_prompt_gets_the_tokens_that_the_fetched_settings_ask_for(server: Hub) -> None:
    file = server.folder / "tokenizer_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"add_bos_token": True}))
    tokenizer = load_model("org/tiny", device="cpu").tokenizer
    assert tokenizer("The").input_ids == [0, *tiny_tokenizer()("The").input_ids]
