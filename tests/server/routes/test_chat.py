"""`/v1/chat/completions` over HTTP."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.server.tiny_server import Served, chatting_backend, served

ROUTE = "/v1/chat/completions"
HELLO = [{"role": "system", "content": "Be kind"}, {"role": "user", "content": "Hello"}]
RENDERED = "system: Be kind\nuser: Hello\nassistant:"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(chatting_backend(), tmp_path_factory.mktemp("chat")) as running:
        yield running


@pytest.fixture
def http(here: Served) -> httpx.Client:
    return here.http


def ask(http: httpx.Client, **fields: Any) -> Any:
    given = {"messages": HELLO, "max_tokens": 4, "temperature": 0} | fields
    answer = http.post(ROUTE, json=given)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_answer_continues_the_conversation_as_the_template_writes_it(
    http: httpx.Client,
) -> None:
    plain = {"prompt": RENDERED, "max_tokens": 4, "temperature": 0, "logprobs": 2}
    text = http.post("/v1/completions", json=plain).json()
    chat = ask(http, logprobs=True, top_logprobs=2)
    choice = chat["choices"][0]
    assert choice["message"] == {
        "role": "assistant", "content": text["choices"][0]["text"], "refusal": None,
    }  # fmt: skip
    assert chat["usage"] == text["usage"]
    tops = [
        {top["token"]: top["logprob"] for top in token["top_logprobs"]}
        for token in choice["logprobs"]["content"]
    ]
    assert tops == text["choices"][0]["logprobs"]["top_logprobs"]


def test_without_a_limit_it_fills_the_models_room(http: httpx.Client) -> None:
    usage = ask(http, max_tokens=None)["usage"]
    assert usage["total_tokens"] <= 64
    assert usage["completion_tokens"] > 4


def test_a_stream_says_what_the_whole_says(http: httpx.Client) -> None:
    whole = ask(http)["choices"][0]["message"]["content"]
    answer = http.post(
        ROUTE, json={"messages": HELLO, "max_tokens": 4, "temperature": 0, "stream": True}
    )
    *events, done, _ = answer.text.split("\n\n")
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert "".join(delta.get("content", "") for delta in deltas) == whole
    assert deltas[-1] == {}
    assert chunks[-1]["choices"][0]["finish_reason"] in ("stop", "length")
    assert done == "data: [DONE]"


def test_patches_and_captures_work_as_in_completions(http: httpx.Client, here: Served) -> None:
    source = {"run": "talk", "hooks": {"post_block": [1]}}
    answer = ask(http, capture={"patch_source": source}, capture_wait=True, logprobs=True)
    assert answer["capture_results"]["patch_source"]["status"] == "ok"
    place = {"hook": "post_block", "layer": 1, "dest_position": 5}
    own = place | {"source_run": "talk", "source_position": 5}
    assert ask(http, patch=[own], logprobs=True)["choices"] == answer["choices"]
    zeros = place | {"source_module": "zeros"}
    assert ask(http, patch=[zeros], logprobs=True)["choices"] != answer["choices"]
    here.parts.backend.drop("talk")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": "refuse me"}]}, "messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": "user", "content": None}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
         "messages.0.content.0.type"),
        ({"messages": [{"role": "user", "content": "a" * 100}]}, "messages"),
        ({"tools": [{"type": "function"}]}, "tools"),
        ({"response_format": {"type": "json_schema"}}, "response_format"),
        ({"logprobs": 3}, "logprobs"),
        ({"logprob_token_ids": [1]}, "logprob_token_ids"),
        ({"prompt": "x"}, "prompt"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_by_name(
    http: httpx.Client, fields: Any, param: str
) -> None:
    answer = http.post(ROUTE, json={"messages": HELLO, "max_tokens": 2} | fields)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["param"] == param


def test_a_model_without_a_template_does_not_chat(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    backend = chatting_backend(template=None)
    with served(backend, tmp_path_factory.mktemp("silent")) as here:
        answer = here.http.post(ROUTE, json={"messages": HELLO})
    assert answer.status_code == 400
    assert "no chat template" in answer.json()["error"]["message"]
