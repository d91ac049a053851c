"""Named vectors over HTTP: register, use, list, forget."""

from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from tests.engine.test_vectors import packed
from tests.scripted import WIDTH, Scripted
from tests.server.tiny_server import served

ROUTE = "/v1/steering/modules"
VECTOR = {"hook": "mlp_out", "layer": 1, "values": [1.0] * WIDTH}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(Scripted(), tmp_path_factory.mktemp("vectors")) as here:
        yield here.http


@pytest.fixture
def http(shared: httpx.Client) -> Iterator[httpx.Client]:
    """A client of a server that knows no vector, when the test begins."""
    yield shared
    for module in shared.get(ROUTE).json()["modules"]:
        shared.post(f"{ROUTE}/unregister", json={"name": module["name"]})


def register(http: httpx.Client, **fields: Any) -> httpx.Response:
    body = {"name": "mood", "vectors": [VECTOR]} | fields
    return http.post(f"{ROUTE}/register", json=body)


def test_vectors_are_listed_until_they_are_forgotten(http: httpx.Client) -> None:
    made = register(http, scale=2).json()
    assert made == {
        "name": "mood", "sites": [{"hook": "mlp_out", "layer": 1}], "scale": 2.0, "bytes": 32,
    }  # fmt: skip
    assert http.get(f"{ROUTE}/list").json()["modules"] == [made]
    gone = http.post(f"{ROUTE}/unregister", json={"name": "mood"})
    assert gone.json() == {"unregistered": True}
    assert http.get(f"{ROUTE}/list").json()["modules"] == []


def test_sweeps_and_completions_take_them_by_name(http: httpx.Client) -> None:
    sweep = {"prompt": "The city", "layers": [1], "hook": "mlp_out", "answer_token": " Rome"}
    patch = {"hook": "mlp_out", "layer": 1, "dest_position": 1, "source_module": "mood"}
    asks = [
        ("/v1/patch_sweep", sweep | {"source_module": "mood"}),
        ("/v1/completions", {"prompt": "The city", "max_tokens": 1, "patch": [patch]}),
    ]
    for route, body in asks:
        answer = http.post(route, json=body)
        assert answer.status_code == 400
        assert "unknown source_module 'mood'; available: ['zeros']" in answer.text
    register(http)
    for route, body in asks:
        assert http.post(route, json=body).status_code == 200


def test_a_name_that_is_taken_is_a_conflict(http: httpx.Client) -> None:
    assert register(http).status_code == 200
    again = register(http)
    assert (again.status_code, again.json()["error"]["type"]) == (409, "ConflictError")
    assert register(http, replace=True).status_code == 200


def test_an_unknown_name_is_not_found(http: httpx.Client) -> None:
    answer = http.post(f"{ROUTE}/unregister", json={"name": "mood"})
    assert (answer.status_code, answer.json()["error"]["param"]) == (404, "name")


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "zeros"},
        {"name": "../x"},
        {"name": "a/b"},
        {"name": ""},
        {"name": "x" * 129},
        {"vectors": []},
        {"vectors": [VECTOR | {"values": [1.0]}]},
        {"vectors": [VECTOR | {"hook": "attn"}]},
        {"scale": "inf"},
    ],
)
def test_what_makes_no_sense_is_refused(http: httpx.Client, fields: Any) -> None:
    answer = register(http, **fields)
    assert answer.status_code == 400, answer.text
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}


TABLE = np.arange(2 * WIDTH, dtype=np.float32).reshape(2, WIDTH)
PACKED = packed(TABLE).model_dump() | {"layer_indices": [1, 3]}
FORMS: list[Any] = [
    {"mlp_out": {"1": [0.0, 1, 2, 3, 4, 5, 6, 7], "3": {"vector": [1.0] * WIDTH, "scale": 2}}},
    {"mlp_out": PACKED},
    {"mlp_out": PACKED | {"scales": [1.0, 0.5]}},
]


@pytest.mark.parametrize("vectors", FORMS)
def test_12_the_bodies_of_existing_clients_are_registered_used_and_listed(
    http: httpx.Client, vectors: Any
) -> None:
    made = register(http, vectors=vectors)
    assert made.status_code == 200, made.text
    sites = [{"hook": "mlp_out", "layer": 1}, {"hook": "mlp_out", "layer": 3}]
    assert made.json() == {"name": "mood", "sites": sites, "scale": 1.0, "bytes": 64}
    assert http.get(ROUTE).json() == http.get(f"{ROUTE}/list").json()
    assert http.get(ROUTE).json()["modules"] == [made.json()]
    patch = {"hook": "mlp_out", "layer": 3, "dest_position": 1, "source_module": "mood"}
    body = {"prompt": "The city", "max_tokens": 1, "patch": [patch]}
    assert http.post("/v1/completions", json=body).status_code == 200


def test_12_a_sweep_has_the_same_cells_whichever_form_registered_its_vectors(
    http: httpx.Client,
) -> None:
    values = TABLE[1].astype(float).tolist()
    forms: dict[str, Any] = {
        "listed": [{"hook": "mlp_out", "layer": 3, "values": values}],
        "by-layer": {"mlp_out": {"3": values}},
        "packed": {"mlp_out": PACKED},
    }
    grids = []
    for name, vectors in forms.items():
        assert register(http, name=name, vectors=vectors).status_code == 200
        body = {"prompt": "The city", "layers": [3], "hook": "mlp_out", "answer_token": " Rome"}
        answer = http.post("/v1/patch_sweep", json=body | {"source_module": name})
        grids.append(answer.json()["grid"])
    assert grids[0] == grids[1] == grids[2]


TIERS = ["prefill_vectors", "decode_vectors", "clamps", "prefill_clamps", "decode_clamps"]


@pytest.mark.parametrize("tier", TIERS)
def test_12_tiers_that_belong_to_steering_are_refused_by_name(
    http: httpx.Client, tier: str
) -> None:
    answer = register(http, vectors=FORMS[0], **{tier: FORMS[0]})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, tier)
    assert f"{tier} is not supported" in error["message"]
    assert http.get(ROUTE).json()["modules"] == []
    assert register(http, vectors=FORMS[0], **{tier: None}).status_code == 200


@pytest.mark.parametrize(
    ("vectors", "param", "message"),
    [
        ({}, "vectors", "at least 1"),
        ({"mlp_out": 5}, "vectors.mlp_out", "valid dictionary"),
        ({"mlp_out": {}}, None, "vectors.mlp_out names no layer"),
        ({"mlp_out": {"1": "x"}}, "vectors.mlp_out.1", "valid list"),
        ({"mlp_out": {"1": {"vector": [1.0], "skale": 2}}}, "vectors.mlp_out.1.skale", "'scale'"),
        ({"mlp_out": {"1": {"scale": 2}}}, "vectors.mlp_out.1.vector", "required"),
        ({"mlp_out": {"9": [1.0] * WIDTH}}, None, "layer 9 is out of range"),
        ({"mlp_out": {"-1": [1.0] * WIDTH}}, None, "layer -1 is out of range"),
        ({"mlp_out": {"1": [1.0]}}, None, "vectors.mlp_out.1 has width 1 != hook width 8"),
        ({"mlp_out": {"1": [1.0] * WIDTH, "01": [1.0] * WIDTH}}, None, "a second vector"),
        ({"attn": {"1": [1.0] * WIDTH}}, None, "'attn' is not injectable"),
        ({"mlp_out": PACKED | {"dtype": "int8"}}, "vectors.mlp_out.dtype", "'float32'"),
        ({"mlp_out": {"dtype": "float32", "data": ""}}, "vectors.mlp_out.shape", "required"),
        ({"mlp_out": PACKED | {"layer_indices": [1]}}, None, "1 layer_indices for 2 rows"),
    ],
)
def test_12_what_is_wrong_with_a_body_is_said_where_it_is(
    http: httpx.Client, vectors: Any, param: str | None, message: str
) -> None:
    answer = register(http, vectors=vectors)
    error = answer.json()["error"]
    assert answer.status_code == 400, answer.text
    assert message in error["message"]
    assert error["param"] == param
    assert http.get(ROUTE).json()["modules"] == []
