"""A crowd on the real model: everyone gets what they would get alone, and nothing stays behind."""

import asyncio
import gc
import json
import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from sonde import Model
from sonde.backends.base import Scores
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.packed.rows import RowShape
from tests.local import LOCAL
from tests.server import crowd
from tests.server.contract.asking import (
    PATIENCE,
    SOURCE,
    SWEEP,
    Body,
    caller,
    refused,
    stream_lines,
    strict,
    until,
    without,
)
from tests.server.tiny_server import Served, served

pytestmark = pytest.mark.slow

SWEEPS, WRONG_SWEEPS, COMPLETIONS = 32, 8, 64
Answer = tuple[int, Any]


@pytest.fixture(scope="module")
def server(smollm2: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(smollm2.backend, tmp_path_factory.mktemp("crowd")) as running:
        yield running


async def answer_to(http: httpx.AsyncClient, path: str, body: Body) -> Answer:
    """Status, and what does not differ from one time to the next."""
    answer = await http.post(path, json=body)
    if answer.headers["content-type"].startswith("text/event-stream"):
        *_, summary, done = stream_lines(answer)
        assert done == "[DONE]"
        return 200, without(strict(summary), "type")
    made = strict(answer.text)
    captured = made.get("capture_results", {"patch_source": {"status": "ok"}})
    assert captured["patch_source"]["status"] == "ok"
    return answer.status_code, without(made, "id", "created", "capture_results")


def requests(width: int, n_layers: int, run: str) -> list[tuple[str, Body]]:
    """The crowd, mixed."""
    sweeps = [(SWEEP, crowd.sweep(n, width, n_layers)) for n in range(SWEEPS)]
    wrong = [(SWEEP, crowd.wrong_sweep(n, width, n_layers)[0]) for n in range(WRONG_SWEEPS)]
    others = [
        ("/v1/completions", crowd.completion(n, width, n_layers, run)) for n in range(COMPLETIONS)
    ]
    asked = sweeps + wrong + others
    return [asked[(17 * n) % len(asked)] for n in range(len(asked))]  # 17 and 104 share no factor


def ask(server: Served, work: Callable[[httpx.AsyncClient], Awaitable[Any]]) -> Any:
    """Run some client code."""

    async def run() -> Any:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(
            base_url=server.url, timeout=600, limits=limits, **LOCAL
        ) as http:
            return await work(http)

    return asyncio.run(run())


def level() -> tuple[int, set[str]]:
    """Memory in use, and the threads that are not of a pool."""
    gc.collect()
    names = {t.name for t in threading.enumerate() if not t.name.startswith(("asyncio_", "Any"))}
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE"), names


@pytest.fixture
def shared(server: Served) -> Iterator[str]:
    """A run that completions patch from."""
    backend = server.parts.backend
    model, tokens = backend.describe(), backend.tokenize(crowd.PLACES[0][0])
    backend.capture("shared", tokens, model.layer_hooks, range(model.n_layers), range(len(tokens)))
    yield "shared"
    drop_captured(server)
    assert backend.drop("shared")


def test_everyone_gets_the_same_bits_as_alone_and_nothing_stays_behind(
    server: Served, shared: str
) -> None:
    backend = server.parts.backend
    model = backend.describe()
    assert model.exact
    asked = requests(model.width, model.n_layers, shared)
    assert len({json.dumps(body, sort_keys=True) for _, body in asked}) == len(asked) == 104

    async def one_by_one(http: httpx.AsyncClient) -> list[Answer]:
        return [await answer_to(http, *request) for request in asked]

    async def at_once(http: httpx.AsyncClient) -> list[Answer]:
        return await asyncio.gather(*(answer_to(http, *request) for request in asked))

    alone = ask(server, one_by_one)
    statuses = [status for status, _ in alone]
    assert statuses.count(200) == SWEEPS + COMPLETIONS
    levels = []
    for _ in range(2):
        drop_captured(server)
        together = ask(server, at_once)
        for (path, body), expected, got in zip(asked, alone, together, strict=True):
            assert got == expected, (path, body)
        levels.append(level())
        assert server.parts.engine.counts() == {"sweep": (0, 0), "call": (0, 0)}
        assert [run for run in backend.manifests() if not run.startswith("captured-")] == [shared]
        assert {run.lease_seconds for run in backend.manifests().values()} == {None}
    first, *_, last = levels
    assert last[1] == first[1]
    assert last[0] - first[0] < 64 * 2**20, "memory returns to its level"


def drop_captured(server: Served) -> None:
    for run in server.http.get(SOURCE).json()["runs"]:
        if run["run"].startswith("captured-"):
            assert server.http.delete(f"{SOURCE}/{run['run']}").status_code == 200


def test_failures_stay_with_their_own_sweep(server: Served) -> None:
    model = server.parts.backend.describe()
    wrong = [crowd.wrong_sweep(n, model.width, model.n_layers) for n in range(WRONG_SWEEPS)]

    async def at_once(http: httpx.AsyncClient) -> list[httpx.Response]:
        return await asyncio.gather(*(http.post(SWEEP, json=body) for body, _, _ in wrong))

    for (_, status, says), answer in zip(wrong, ask(server, at_once), strict=True):
        refused(answer, status, says)


@dataclass
class Chunks:
    """Counts the chunks that a backend computes."""

    backend: TorchBackend
    begun: int = 0
    first: threading.Event = field(default_factory=threading.Event)

    def score(self, *args: Any) -> Iterator[Scores]:
        for scores in TorchBackend.score(self.backend, *args):
            self.begun += 1
            self.first.set()
            yield scores


@pytest.fixture
def chunks(server: Served, monkeypatch: pytest.MonkeyPatch) -> Chunks:
    """Many small chunks instead of a few large ones, and their count."""
    backend = server.parts.backend
    assert isinstance(backend, TorchBackend)
    counted = Chunks(backend)
    monkeypatch.setattr(backend, "_path", replace(backend._path, shape=RowShape(16, 64)))
    monkeypatch.setattr(backend, "score", counted.score)
    return counted


LONG: Body = {
    "prompt": crowd.PLACES[0][1],
    "clean_prompt": crowd.PLACES[0][0],
    "source_run": "leaver",
    "keep_source": True,
    "layers": {"start": 0, "stop": 30},
    "hooks": ["post_block", "post_attn", "mlp_out"],
    "answer_token": " Paris",
}


def newest(server: Served) -> dict[str, Any]:
    """The last sweep that began."""
    return next(iter(server.http.get(SWEEP, params={"limit": 1}).json()["sweeps"]), {})


@pytest.mark.parametrize("way", ["json", "stream", "before the first event", "delete"])
def test_a_sweep_whose_client_leaves_stops_within_one_chunk_and_leaves_nothing(
    server: Served, chunks: Chunks, way: str
) -> None:
    before = newest(server)
    with caller(server.url, LONG | {"stream": way != "json"}) as connection:
        until(lambda: newest(server) != before, "it is in the history")
        if way != "before the first event":
            assert chunks.first.wait(PATIENCE)
        running = server.parts.sweeps.under_way(newest(server)["id"])
        assert running is not None
        if way == "delete":
            stopped = server.http.delete(f"{SWEEP}/{running.id}").json()
            assert stopped["cancelled"]
            # a chunk that takes longer than the route waits is still under way
            assert stopped["state"] in ("cancelled", "running")
        else:
            connection.close()
        until(lambda: running.job.cancelled, "the server notices")
        begun = chunks.begun
        until(lambda: running.over, "it stops")
    assert chunks.begun <= begun + 1
    assert newest(server)["state"] == "cancelled"
    assert newest(server)["done"] < 810
    assert server.http.get(SOURCE).json()["runs"] == []
    assert server.parts.engine.counts()["sweep"] == (0, 0)
