"""The loaded model is listed as OpenAI's API lists models."""

from collections.abc import Iterator

import httpx
import pytest
from openai.types import Model

from tests.scripted import Scripted
from tests.server.tiny_server import served


class Slashed(Scripted):
    """A model with a name as the hub gives them."""

    def describe(self):  # type: ignore[no-untyped-def]
        return super().describe().model_copy(update={"name": "org/name-7b"})


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(Slashed(), tmp_path_factory.mktemp("models")) as here:
        yield here.http


def test_there_is_one_model(http: httpx.Client) -> None:
    found = http.get("/v1/models").json()
    assert found["object"] == "list"
    [model] = found["data"]
    Model.model_validate(model, strict=True)
    assert (model["id"], model["max_model_len"]) == ("org/name-7b", 12)


@pytest.mark.parametrize("name", ["org/name-7b", "org%2Fname-7b"])
def test_it_is_found_by_its_name(http: httpx.Client, name: str) -> None:
    assert http.get(f"/v1/models/{name}").json()["id"] == "org/name-7b"


@pytest.mark.parametrize("name", ["other", "../etc/passwd", "%2e%2e%2f", "x" * 9000])
def test_no_other_is_found(http: httpx.Client, name: str) -> None:
    answer = http.get(f"/v1/models/{name}")
    assert answer.status_code == 404
    assert answer.json()["error"]["type"] == "NotFoundError"
