"""The stream through what is between people and gateways: nginx, and a real browser.

Skipped where neither is installed.
"""

import shutil
import socket
import subprocess
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse

from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.server.parts import Gateway
from sonde.server.serving import Server
from tests.local import LOCAL
from tests.runs.trainer import Trainer
from tests.server.listening import STREAM, Page, gateway
from tests.server.test_stream_load import free_port

pytestmark = pytest.mark.slow

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

CONFIGURATION = """
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  gzip on; gzip_types text/event-stream; gzip_min_length 0; gzip_proxied any;
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass {upstream}; proxy_http_version 1.1; }}
  }}
}}
"""


@contextmanager
def nginx(folder: Path, upstream: str) -> Iterator[str]:
    """The proxy in front of a gateway, as distributions set it up, with gzip for event streams."""
    assert NGINX is not None
    port = free_port()
    text = CONFIGURATION.format(folder=folder, port=port, upstream=upstream)
    (folder / "nginx.conf").write_text(text)
    with subprocess.Popen([NGINX, "-c", str(folder / "nginx.conf"), "-p", str(folder)]) as process:
        try:
            for _ in range(500):
                with socket.socket() as trying:
                    if trying.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.02)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_s16_records_arrive_singly_through_a_proxy_that_compresses(
    trainer: Trainer, tmp_path: Path
) -> None:
    trainer.write(1)
    with gateway(trainer.layout.directory) as upstream, nginx(tmp_path, upstream) as url:
        request = httpx.Request("GET", f"{url}{STREAM}", headers={"Accept-Encoding": "gzip"})
        with httpx.Client(timeout=20, **LOCAL) as http:
            answer = http.send(request, stream=True)
            assert answer.headers["content-encoding"] == "gzip"
            unpacked, text, raw = zlib.decompressobj(31), b"", answer.iter_raw()
            for count in range(1, 11):
                while text.count(b'"token_index"') < count:  # before the next one is written
                    text += unpacked.decompress(next(raw))
                trainer.write(1)
            answer.close()


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_s16_after_the_gateway_was_away_a_page_that_asks_again_goes_on_where_it_was(
    trainer: Trainer, tmp_path: Path
) -> None:
    """A browser's own EventSource gives up on the 502; a page that makes a new one does not."""
    port = free_port()
    trainer.write(5)
    with nginx(tmp_path, f"http://127.0.0.1:{port}") as url, Page(url) as page:
        with served(trainer.layout.directory, port):
            page.has(5)
        assert httpx.get(f"{url}/health", **LOCAL).status_code == 502
        trainer.write(5)
        trainer.rotate(50)
        trainer.write(5)
        with served(trainer.layout.directory, port):
            page.has(15)
    assert page.numbers == list(range(15))


PAGE = """<!doctype html><title>t</title><script>
const got = [];
const source = new EventSource("/api/p5/sae/stream?from=start");
const say = () => fetch("/report", {method: "POST", body: JSON.stringify(got),
  headers: {"Content-Type": "application/json"}});
source.onmessage = (event) => { got.push(JSON.parse(event.data).token_index); };
setInterval(say, 200);
</script>"""


@contextmanager
def served(directory: Path, port: int, reports: list[list[int]] | None = None) -> Iterator[None]:
    """A gateway on a given port, with a page on it that says what it got."""
    server = Server(Gateway(Hub(RunLayout(directory))))
    add_page(server.app, reports if reports is not None else [])
    held = socket.create_server(("127.0.0.1", port))
    thread = threading.Thread(target=server.run, args=([held],))
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
        held.close()


def add_page(app: FastAPI, reports: list[list[int]]) -> None:
    @app.get("/page")
    def page() -> HTMLResponse:
        return HTMLResponse(PAGE)

    @app.post("/report")
    async def report(request: Request) -> dict[str, str]:
        reports.append(await request.json())
        return {}


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_s14_a_browsers_eventsource_gets_each_record_once_over_restarts(
    trainer: Trainer, tmp_path: Path
) -> None:
    assert CHROMIUM is not None
    port, reports = free_port(), list[list[int]]()
    trainer.write(50)

    def page_has(count: int) -> None:
        ends = time.monotonic() + 60
        while not reports or len(reports[-1]) < count:
            assert time.monotonic() < ends, reports[-1:]
            time.sleep(0.02)

    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/browser"]
    address = f"http://127.0.0.1:{port}/page"
    with served(trainer.layout.directory, port, reports):
        browser = subprocess.Popen(
            [CHROMIUM, *flags, "--no-proxy-server", "--remote-debugging-port=0", address],
            stderr=subprocess.DEVNULL,
        )
        page_has(50)
    try:
        for step in range(1, 4):
            trainer.write(20)
            trainer.rotate(step)
            trainer.write(5)
            with served(trainer.layout.directory, port, reports):
                trainer.write(5)
                page_has(trainer.written)
    finally:
        browser.terminate()
        browser.wait(20)
    assert reports[-1] == list(range(trainer.written))
