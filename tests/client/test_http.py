"""Asking a server, and being refused."""

import asyncio

import httpx
import pytest

from sonde.client import http
from sonde.client.http import Address, Connection, Refused, decoded, read
from sonde.schema import Capabilities, SourceRunDropped
from tests.client.canned import Canned, Reply, said


def ask(
    canned: Canned, path: str = "/x", *, key: str | None = None, retries: int = 2
) -> httpx.Response:
    async def work() -> httpx.Response:
        async with Connection(Address(f"{canned.url}/v1", key, retries)) as connection:
            return await connection.ask("GET", path)

    return asyncio.run(work())


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"error": "layer 9 is out of range"}, "layer 9 is out of range"),
        ({"error": {"message": "no such model", "param": "model"}}, "no such model"),
        ({"detail": "Not Found"}, "{'detail': 'Not Found'}"),
        (["odd"], "['odd']"),
    ],
)
def test_a_refusal_carries_the_servers_own_words(
    canned: Canned, body: object, expected: str
) -> None:
    canned.answers["/v1/x"] = lambda _: said(body, 400)
    with pytest.raises(httpx.HTTPStatusError) as caught:
        ask(canned)
    assert isinstance(caught.value, Refused)
    assert str(caught.value) == f"400 from GET {canned.url}/v1/x: {expected}"
    assert (caught.value.said, caught.value.status) == (expected, 400)


@pytest.mark.parametrize(
    ("text", "expected"), [(b"<h1>Bad\nGateway</h1>", "<h1>Bad Gateway</h1>"), (b"", "Bad Gateway")]
)
def test_a_refusal_that_is_not_json_is_shown_on_one_line(
    canned: Canned, text: bytes, expected: str
) -> None:
    canned.answers["/v1/x"] = lambda _: Reply([text] if text else [], 502)
    with pytest.raises(Refused, match=expected):
        ask(canned)


def test_a_busy_server_is_asked_again_as_often_as_agreed_and_no_more(canned: Canned) -> None:
    busy = said({"error": "3 requests are waiting"}, 429, Retry_After="0")
    canned.answers["/v1/x"] = [busy, busy, said({"ok": True})]
    assert ask(canned).json() == {"ok": True}
    assert len(canned.asked) == 3
    canned.answers["/v1/x"] = [busy] * 4
    with pytest.raises(Refused, match="429 .*3 requests are waiting"):
        ask(canned)
    assert len(canned.asked) == 6


def test_nothing_but_a_busy_server_is_asked_twice(canned: Canned) -> None:
    canned.answers["/v1/x"] = lambda _: said({"error": "broken"}, 500)
    with pytest.raises(Refused):
        ask(canned)
    assert len(canned.asked) == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7), ("0.5", 0.5), ("-3", 0), ("86400", http.LONGEST_PAUSE), ("soon", 1), (None, 1)],
)
def test_the_pause_is_what_the_server_asks_for_within_reason(
    header: str | None, seconds: float
) -> None:
    headers = {} if header is None else {"Retry-After": header}
    assert http.pause(httpx.Response(429, headers=headers)) == seconds


def test_the_key_goes_below_v1_and_nowhere_else(canned: Canned) -> None:
    canned.answers = {"/v1/x": lambda _: said({}), "/tokenize": lambda _: said({})}

    async def work() -> None:
        async with Connection(Address(f"{canned.url}/v1/", "secret")) as connection:
            await connection.ask("GET", "/x")
            await connection.ask_root("/tokenize", {"prompt": "a"})

    asyncio.run(work())
    keys = {each.path: each.headers.get("authorization") for each in canned.asked}
    assert keys == {"/v1/x": "Bearer secret", "/tokenize": None}
    assert "secret" not in repr(Address("http://a/v1", "secret"))


def test_a_server_that_is_not_there_is_an_httpx_error() -> None:
    async def work() -> None:
        async with Connection(Address("http://127.0.0.1:1/v1")) as connection:
            await connection.ask("GET", "/x")

    with pytest.raises(httpx.ConnectError, match=r"http://127\.0\.0\.1:1/v1/x"):
        asyncio.run(work())


@pytest.mark.parametrize(
    "base_url",
    ["", "127.0.0.1:8091", "ftp://a/v1", "http://", "http://a:port/v1", "http://me:pw@a"],
)
def test_what_is_no_address_is_refused(base_url: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Address(base_url)


@pytest.mark.parametrize("key", ["", "two words", "clé", "line\nbreak"])
def test_a_key_that_no_header_could_carry_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="visible ASCII"):
        Address("http://a/v1", key)


@pytest.mark.parametrize("base_url", ["http://a:1/p/v1", "http://a:1/p/v1/", "http://a:1/p"])
def test_tokens_are_asked_for_beside_v1(base_url: str) -> None:
    assert Address(base_url).root == "http://a:1/p"


def test_an_answer_that_is_no_json_object_is_an_error_that_names_the_address(
    canned: Canned,
) -> None:
    page = Reply([b"<html>"], 200, {"content-type": "text/html"})
    canned.answers["/v1/x"] = [page, said([1])]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="/v1/x answered with .* instead of a JSON object"):
            decoded(ask(canned))


def test_fields_that_a_newer_server_adds_are_passed_over(canned: Canned) -> None:
    canned.answers["/v1/x"] = lambda _: said({"dropped": True, "freed": 7})
    assert read(SourceRunDropped, ask(canned)) == SourceRunDropped(dropped=True)
    with pytest.raises(ValueError, match="Capabilities"):
        read(Capabilities, ask(canned))


def test_a_name_is_one_segment_of_a_path_whatever_is_in_it() -> None:
    assert http.segment("a/b?c#é") == "a%2Fb%3Fc%23%C3%A9"
