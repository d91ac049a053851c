"""Named vectors over HTTP: register, use, list, forget."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

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
    for module in shared.get(f"{ROUTE}/list").json()["modules"]:
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
