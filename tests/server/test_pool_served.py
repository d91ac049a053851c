"""Three checkpoints over HTTP where there is room for fewer: every answer as in process."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from starlette.requests import Request

from sonde import Sweep
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.loading.load import load_model
from sonde.client import SyncPatchStudy
from sonde.engine import sweep
from sonde.engine.tables import sweep_table
from sonde.errors import JobCancelled
from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.schema import PatchSweepRequest
from sonde.schema.table import SweepRequest
from sonde.server.model_names import ModelNames
from sonde.server.model_of import model_of
from sonde.server.parts import Network
from sonde.server.serving import assemble, running_server
from tests.cli.shell import sonde
from tests.cli.test_sweep import same
from tests.local import LOCAL
from tests.server.checkpoints import STEPS, Counting, a_run, at_once, in_process
from tests.server.contract.asking import refused, stream_lines, strict, without
from tests.server.tiny_server import OTHER, PROMPT, Served
from tests.tiny_model import save_tiny_model

NAMES = [f"one@checkpoint-{step}" for step in STEPS]
BODY: dict[str, Any] = {
    "corrupt": OTHER, "clean": PROMPT, "answer": " Paris", "foil": " Rome",
    "hooks": ["post_block", "mlp_out", "z"], "metrics": ["logprob", "kl_clean"],
}  # fmt: skip
CLASSIC: dict[str, Any] = {
    "prompt": OTHER, "clean_prompt": PROMPT, "source_run": "r", "layers": [0, 1],
    "answer_token": " Paris",
}  # fmt: skip


@contextmanager
def serving(folder: Path, *, room: float, **network: Any) -> Iterator[tuple[Served, Counting, int]]:
    """A server over a base and its run, with a budget for so many models."""
    base = str(save_tiny_model(folder / "base"))
    loader = Counting()
    backend = TorchBackend(load_model(base, device="cpu"))
    size = loader.held([backend])
    hub = Hub(RunLayout(folder))
    parts = assemble(
        backend, folder / "data", network=Network(**network), runs=hub, loader=loader,
        names=ModelNames({base: base}, runs=hub), model_bytes=int(room * size),
    )  # fmt: skip
    with running_server(parts) as url, httpx.Client(base_url=url, timeout=120, **LOCAL) as http:
        yield Served(url, http, parts), loader, size


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pool")
    a_run(folder)
    return folder


@pytest.fixture(scope="module")
def alone(folder: Path) -> dict[str, Any]:
    """The same sweep of each in process."""
    found = {}
    for name, step in zip(NAMES, STEPS, strict=True):
        backend = in_process(folder / "one" / f"checkpoint-{step}")
        *_, summary = sweep_table(backend, SweepRequest(**BODY))
        found[name] = without(json.loads(summary.model_dump_json(exclude={"type"})))
    return found


@pytest.fixture
def here(folder: Path, tmp_path: Path) -> Iterator[tuple[Served, Counting, int]]:
    with serving(folder, room=2) as made:
        yield made


def swept(http: httpx.Client, name: str) -> dict[str, Any]:
    answer = http.post("/v1/sweeps", json=BODY | {"model": name})
    assert answer.status_code == 200, answer.text
    return without(strict(answer.text))


def test_in_turn_and_in_a_circle_every_answer_is_the_one_in_process(
    here: tuple[Served, Counting, int], alone: dict[str, Any]
) -> None:
    server, loader, size = here
    for name in NAMES * 2:
        assert swept(server.http, name) == alone[name]
    assert len({json.dumps(each) for each in alone.values()}) == 3
    assert loader.loaded == NAMES * 2
    assert loader.most <= 2 * size
    record = server.http.get("/v1/sweeps").json()["sweeps"][0]
    assert record["provenance"]["model"] == NAMES[2]
    assert record["provenance"]["weights"] != server.parts.backend.describe().weights


def test_at_once_too_and_no_sweep_ends_because_another_needs_its_room(
    here: tuple[Served, Counting, int], alone: dict[str, Any]
) -> None:
    server, loader, size = here
    asked = NAMES * 3
    for name, made in zip(
        asked, at_once([partial(swept, server.http, name) for name in asked]), strict=True
    ):
        assert made == alone[name]
    assert loader.most <= 2 * size
    assert server.parts.sweeps.ended == {"finished": 9}


def test_a_stream_tells_how_loading_goes_before_it_starts(
    here: tuple[Served, Counting, int],
) -> None:
    body = BODY | {"model": NAMES[0], "stream": True}
    with here[0].http.stream("POST", "/v1/sweeps", json=body) as answer:
        *lines, done = stream_lines(answer)
    events = [strict(line) for line in lines]
    kinds = [event["type"] for event in events]
    first = kinds.index("start")
    assert set(kinds[:first]) == {"loading"}
    assert {event["model"] for event in events[:first]} == {NAMES[0]}
    assert (done, kinds[-1]) == ("[DONE]", "summary")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/sweeps", BODY),
        ("/v1/sweeps/estimate", BODY),
        ("/v1/completions", {"prompt": PROMPT}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}),
        ("/tokenize", {"prompt": PROMPT}),
        ("/detokenize", {"tokens": [1]}),
        ("/v1/steering/modules/register", {"name": "v", "vectors": {"mlp_out": {"0": [0.0] * 16}}}),
    ],
)
def test_an_unknown_model_is_a_404_with_the_names_there_are(
    here: tuple[Served, Counting, int], path: str, body: dict[str, Any]
) -> None:
    answer = here[0].http.post(path, json=body | {"model": "one@checkpoint-7"})
    said = refused(answer, 404, "has no checkpoint-7; it has checkpoints of steps 20", plain=False)
    assert answer.json()["error"]["param"] == "model", said
    answer = here[0].http.post(path, json=body | {"model": "../../etc"})
    refused(answer, 404, "one@checkpoint-20", plain=False)


def test_every_route_takes_a_checkpoint(here: tuple[Served, Counting, int], folder: Path) -> None:
    http, name = here[0].http, NAMES[1]
    alone = in_process(folder / "one" / "checkpoint-40")
    about = http.get("/v1/capabilities", params={"model": name}).json()["model"]
    assert (about["name"], about["weights"]) == (name, alone.describe().weights)
    said = http.post("/v1/completions", json={"model": name, "prompt": PROMPT, "temperature": 0})
    assert said.json()["model"] == name
    assert said.json()["system_fingerprint"] == alone.describe().weights
    tokens = http.post("/tokenize", json={"model": name, "prompt": PROMPT}).json()["tokens"]
    assert tokens == alone.tokenize(PROMPT)
    vectors = {"name": "v", "vectors": {"mlp_out": {"0": [0.0] * 16}}, "model": name}
    assert http.post("/v1/steering/modules/register", json=vectors).status_code == 200
    listed = [
        http.get("/v1/steering/modules", params=params).json()["modules"]
        for params in ({"model": name}, {})
    ]
    assert [len(each) for each in listed] == [1, 0]
    captured = {"patch_source": {"run": "c", "hooks": {"post_block": [0]}}}
    body = {"model": name, "prompt": PROMPT, "max_tokens": 1, "capture": captured}
    assert http.post("/v1/completions", json=body).status_code == 200
    [run] = http.get("/v1/patch_source").json()["runs"]
    assert (run["run"], run["weights"]) == ("c", about["weights"])
    assert http.get("/v1/patch_source/c", params={"model": NAMES[0]}).status_code == 404
    assert http.delete("/v1/patch_source/c").json() == {"dropped": True}


def test_the_classic_route_takes_a_known_name_and_for_any_other_says_who_answered(
    here: tuple[Served, Counting, int], folder: Path
) -> None:
    http = here[0].http
    *_, summary = sweep(in_process(folder / "one" / "checkpoint-20"), PatchSweepRequest(**CLASSIC))
    expected = without(json.loads(summary.model_dump_json(exclude={"type"})))
    answer = http.post("/v1/patch_sweep", json=CLASSIC | {"model": NAMES[0]})
    assert without(strict(answer.text)) == expected
    assert answer.json()["warnings"] == []
    own = here[0].parts.backend.describe().name
    answer = http.post("/v1/patch_sweep", json=CLASSIC | {"model": "gpt-4"})
    assert answer.json()["warnings"] == [
        f"the request names model 'gpt-4'; this sweep ran on {own!r}"
    ]
    sweeps = http.get("/v1/patch_sweep").json()["sweeps"]
    assert [each["provenance"]["model"] for each in sweeps] == [own, NAMES[0]]


def test_a_failed_load_answers_with_its_reason_and_is_in_the_history(tmp_path: Path) -> None:
    run = a_run(tmp_path, steps=[20, 40])
    weights = run / "checkpoint-20" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with serving(tmp_path, room=3) as (server, _, _):
        answer = server.http.post("/v1/sweeps", json=BODY | {"model": "one@checkpoint-20"})
        refused(answer, 400, "cannot load", plain=False)
        [entry] = server.http.get("/v1/sweeps").json()["sweeps"]
        assert (entry["state"], entry["provenance"]["weights"]) == ("failed", "")
        assert "cannot load" in entry["error"]
        answer = server.http.post(
            "/v1/completions", json={"model": "one@checkpoint-20", "prompt": PROMPT}
        )
        refused(answer, 400, "cannot load", plain=False)
        assert swept(server.http, "one@checkpoint-40")["tables"]


def test_callers_without_the_key_have_nothing_loaded(folder: Path) -> None:
    with serving(folder, room=2, api_key="secret") as (server, loader, _):
        answer = server.http.post("/tokenize", json={"model": NAMES[0], "prompt": PROMPT})
        said = refused(answer, 404, "does not exist here", plain=False)
        assert "checkpoint-40" not in said
        assert loader.loaded == []
        key = {"Authorization": "Bearer secret"}
        body = {"model": NAMES[0], "prompt": PROMPT}
        assert server.http.post("/tokenize", json=body, headers=key).status_code == 200
        assert server.http.post("/tokenize", json=body).status_code == 200, "it is loaded now"


@pytest.mark.anyio
async def test_a_client_that_leaves_while_a_model_is_loaded_gives_it_up(
    here: tuple[Served, Counting, int],
) -> None:
    class Gone:
        async def receive(self) -> dict[str, str]:
            return {"type": "http.disconnect"}

    models = here[0].parts.models
    with pytest.raises(JobCancelled):
        await model_of(cast(Request, Gone()), models, NAMES[0])
    assert (await models.ready(models.find(NAMES[1]))).source.name == NAMES[1]


def test_the_command_line_and_the_client_choose_one_too(
    here: tuple[Served, Counting, int], folder: Path
) -> None:
    server, name = here[0], NAMES[2]
    asked = ["--clean", PROMPT, "--corrupt", OTHER, "--answer", " Paris", "--hooks", "mlp_out"]
    alone = folder / "one@checkpoint-60"
    made = sonde("sweep", "--url", server.url, "--model", name, *asked, "--json")
    assert made.exit_code == 0, made.output
    local = sonde("sweep", "--model", alone, "--device", "cpu", *asked, "--json")
    there, own = Sweep.from_json(made.stdout), Sweep.from_json(local.stdout)
    assert same(there, own)
    assert there.provenance.weights == own.provenance.weights
    assert (there.provenance.model, own.provenance.model) == (name, str(alone))
    study = SyncPatchStudy(model=name, base_url=f"{server.url}/v1")
    options: dict[str, Any] = {"layers": [0, 1], "positions": "all_prompt", "server_side": True}
    found = study.sweep_layers_positions(
        OTHER, clean_prompt=PROMPT, answer_token=" Paris", hook="mlp_out", **options
    )
    assert found.sweep.provenance.weights == own.provenance.weights
    assert found.grid == own.grids["mlp_out"].tolist()
    ids = [entry.id for entry in study.models().data]
    assert ids[1:] == [name, *NAMES[:2]]
