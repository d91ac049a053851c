"""Text to tokens and back, as clients count on it."""

import asyncio
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.server.app import create_app
from sonde.server.lanes import WAITING
from tests.scripted import Scripted
from tests.server.talking import SWEEP, client_of, parts_over
from tests.server.tiny_server import PROMPT, Served, chatting_backend, served
from tests.tiny_model import END, VOCABULARY

HELLO = [{"role": "user", "content": "Hello"}]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("tokens")
    with served(chatting_backend(), directory, api_key="secret") as running:
        yield running


@pytest.fixture(scope="module")
def http(here: Served) -> httpx.Client:
    """Without the key: clients send none here."""
    return here.http


def tokens(http: httpx.Client, **fields: Any) -> Any:
    answer = http.post("/tokenize", json=fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


def text(http: httpx.Client, ids: list[int]) -> str:
    answer = http.post("/detokenize", json={"tokens": ids})
    assert answer.status_code == 200, answer.text
    found: str = answer.json()["prompt"]
    return found


def test_a_text_has_tokens_and_tokens_have_a_text(http: httpx.Client) -> None:
    found = tokens(http, prompt=PROMPT, model="tiny")
    assert (found["count"], found["max_model_len"]) == (8, 64)
    assert found["token_strs"] is None
    assert text(http, found["tokens"]) == PROMPT


def test_the_text_of_each_token_keeps_its_space(http: httpx.Client) -> None:
    found = tokens(http, prompt=f"{END}The city", return_token_strs=True)
    assert found["token_strs"] == ["", "The", " city"]


def test_nothing_has_no_tokens(http: httpx.Client) -> None:
    assert tokens(http, prompt="")["tokens"] == []
    assert text(http, []) == ""


def test_special_tokens_have_no_text(http: httpx.Client) -> None:
    assert text(http, [0]) == ""
    assert text(http, [0, *tokens(http, prompt="The")["tokens"], 0]) == "The"


def test_a_conversation_is_written_by_the_template(http: httpx.Client) -> None:
    assert text(http, tokens(http, messages=HELLO)["tokens"]) == "user: Hello\nassistant:"
    without = tokens(http, messages=HELLO, add_generation_prompt=False)["tokens"]
    assert text(http, without) == "user: Hello\n"


tokenizer = cache(chatting_backend)


@given(st.text(max_size=20))
def test_the_text_of_more_tokens_is_never_shorter(written: str) -> None:
    """Clients derive offsets from the lengths of growing prefixes."""
    ids = tokenizer().tokenize(written)
    lengths = [len(tokenizer().detokenize(ids[:n])) for n in range(len(ids) + 1)]
    assert lengths == sorted(lengths)
    assert tokenizer().detokenize(ids) == written


@pytest.mark.parametrize(
    ("route", "body", "param"),
    [
        ("/tokenize", {}, "prompt"),
        ("/tokenize", {"prompt": "a", "messages": HELLO}, "prompt"),
        ("/tokenize", {"prompt": 3}, "prompt"),
        ("/tokenize", {"prompt": "a", "promt": "b"}, "promt"),
        ("/tokenize", {"messages": HELLO, "add_special_tokens": True}, "add_special_tokens"),
        ("/tokenize", {"messages": [HELLO[0] | {"name": "Ann"}]}, "messages.0.name"),
        ("/detokenize", {"tokens": [VOCABULARY]}, "tokens"),
        ("/detokenize", {"tokens": [-1]}, "tokens"),
        ("/detokenize", {"tokens": [10**40]}, "tokens"),
        ("/detokenize", {"tokens": "abc"}, "tokens"),
        ("/detokenize", {"tokens": [True]}, "tokens.0"),
    ],
)
def test_what_makes_no_sense_is_refused(
    http: httpx.Client, route: str, body: Any, param: str
) -> None:
    answer = http.post(route, json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["param"] == param


def test_a_lone_surrogate_is_no_text(http: httpx.Client) -> None:
    answer = http.post(
        "/tokenize", content=b'{"prompt": "\\ud800"}', headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 400


def test_another_model_is_not_found(http: httpx.Client) -> None:
    for route, body in (("/tokenize", {"prompt": "a"}), ("/detokenize", {"tokens": [1]})):
        answer = http.post(route, json=body | {"model": "gpt-9"})
        assert (answer.status_code, answer.json()["error"]["param"]) == (404, "model")


def test_only_json_is_read(http: httpx.Client) -> None:
    answer = http.post("/tokenize", content=b"prompt=a", headers={"Content-Type": "text/plain"})
    assert answer.status_code == 400


class Patient(Scripted):
    """Takes as long for a long text as it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.go = threading.Event(), threading.Event()

    def tokenize(self, text: str, *, special: bool = True) -> list[int]:
        if len(text) > 1000:
            self.inside.set()
            self.go.wait(60)
        return super().tokenize(text, special=special)


@pytest.mark.anyio
async def test_08_long_texts_of_callers_without_the_key_delay_nobody_who_has_it(
    tmp_path: Path,
) -> None:
    """Far more of them than there are threads to lend."""
    backend, key = Patient(), {"Authorization": "Bearer k"}
    with parts_over(backend, tmp_path, api_key="k") as parts:
        async with client_of(create_app(parts)) as http:
            body = {"prompt": "The" + " city" * 400}
            flood = [asyncio.create_task(http.post("/tokenize", json=body)) for _ in range(50)]
            try:
                await asyncio.to_thread(backend.inside.wait, 20)
                async with asyncio.timeout(30):
                    sweep = await http.post("/v1/patch_sweep", json=SWEEP, headers=key)
                    asked = {"prompt": "The city", "max_tokens": 1}
                    completion = await http.post("/v1/completions", json=asked, headers=key)
                    tokens = await http.post("/tokenize", json=asked_for("The city"), headers=key)
                    history = await http.get("/v1/patch_sweep", headers=key)
            finally:
                backend.go.set()
                flooded = await asyncio.gather(*flood)
    answers = (sweep, completion, tokens, history)
    assert [answer.status_code for answer in answers] == [200] * 4
    assert {answer.status_code for answer in flooded} == {200}


@pytest.mark.anyio
async def test_08_more_long_texts_than_may_wait_are_told_to_come_back(tmp_path: Path) -> None:
    backend = Patient()
    with parts_over(backend, tmp_path, api_key="k") as parts:
        async with client_of(create_app(parts)) as http:
            body = {"prompt": "The" + " city" * 400}
            flood = [asyncio.create_task(http.post("/tokenize", json=body)) for _ in range(80)]
            await asyncio.wait(flood, return_when=asyncio.FIRST_COMPLETED)
            backend.go.set()
            answers = await asyncio.gather(*flood)
    refused = [answer for answer in answers if answer.status_code == 429]
    assert 0 < len(refused) <= 80 - WAITING
    assert all(int(answer.headers["retry-after"]) > 0 for answer in refused)


def asked_for(prompt: str) -> dict[str, str]:
    return {"prompt": prompt}
