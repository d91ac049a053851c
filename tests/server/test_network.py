"""Who gets in: names, origins and the key."""

import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from sonde.server import network as module
from sonde.server.app import create_app
from sonde.server.network import check_host, check_key, check_origin, is_loopback, name_of
from sonde.server.parts import Network, Parts
from tests.scripted import Scripted
from tests.server.talking import SWEEP, client_of, parts_over

KEY = "s3cret-Key"
EVIL = "http://evil.example"

EVERY_ROUTE = [
    ("GET", "/health"),
    ("GET", "/v1/capabilities"),
    ("GET", "/v1/patch_sweep/x/events"),
    ("POST", "/v1/patch_sweep"),
    ("DELETE", "/v1/patch_source/a"),
    ("OPTIONS", "/v1/patch_sweep"),
    ("GET", "/openapi.json"),
    ("GET", "/nowhere"),
]
each_route = pytest.mark.parametrize(("method", "path"), EVERY_ROUTE)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    with parts_over(Scripted(), tmp_path_factory.mktemp("open")) as parts:
        yield parts


@pytest.fixture(scope="module")
def app(parts: Parts) -> FastAPI:
    return create_app(parts)


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    """An app that wants a key."""
    with parts_over(Scripted(), tmp_path_factory.mktemp("keyed"), api_key=KEY) as parts:
        yield create_app(parts)


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(app) as http:
        yield http


def message(answer: httpx.Response) -> str:
    error = answer.json()["error"]
    return str(error if isinstance(error, str) else error["message"])


@each_route
@pytest.mark.anyio
async def test_a_name_that_is_not_ours_is_refused_everywhere(
    http: httpx.AsyncClient, method: str, path: str
) -> None:
    answer = await http.request(method, path, headers={"Host": "evil.example:8091"})
    assert answer.status_code == 403
    assert "--allow-host evil.example" in message(answer)


@each_route
@pytest.mark.parametrize("origin", [EVIL, "null", "http://localhost.evil.example", "file://"])
@pytest.mark.anyio
async def test_a_page_that_is_not_ours_is_refused_everywhere(
    http: httpx.AsyncClient, method: str, path: str, origin: str
) -> None:
    answer = await http.request(method, path, headers={"Origin": origin}, json=SWEEP)
    assert answer.status_code == 403
    assert "may not use this server" in message(answer)
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.anyio
async def test_a_refused_page_has_changed_nothing(parts: Parts, http: httpx.AsyncClient) -> None:
    parts.backend.capture("a", [1, 2], ["post_block"], [0], [0])
    await http.delete("/v1/patch_source/a", headers={"Origin": EVIL})
    await http.post("/v1/patch_sweep", headers={"Host": "evil.example"}, json=SWEEP)
    assert list(parts.backend.manifests()) == ["a"]
    assert parts.sweeps.history(before=None, limit=1).sweeps == []


@pytest.mark.anyio
async def test_with_the_checks_off_it_would_get_in(
    parts: Parts, http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "is_ours", lambda name, network: True)
    monkeypatch.setattr(module, "answers_to", lambda host, network: {module.origin_of(EVIL)})
    parts.backend.capture("a", [1, 2], ["post_block"], [0], [0])
    headers = {"Origin": EVIL, "Host": "evil.example"}
    assert (await http.delete("/v1/patch_source/a", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1:9", "127.8.8.8", "[::1]:80", "localhost."]
)
@pytest.mark.anyio
async def test_loopback_names_pass_at_the_port_that_was_asked(
    http: httpx.AsyncClient, host: str
) -> None:
    headers = {"Host": host, "Origin": f"http://{host}"}
    answer = await http.get("/health", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == headers["Origin"]
    assert answer.headers["vary"] == "Origin"


LOCAL = Network()
NAMED = Network(allowed_hosts=("Lab.example",))
EXPOSED = Network(host="0.0.0.0", api_key=KEY, allowed_hosts=("lab.example",))
BOUND = Network(host="192.168.1.5", api_key=KEY)


@pytest.mark.parametrize(
    ("host", "network", "passes"),
    [
        ("lab.example", NAMED, True),
        ("lab.example:80", EXPOSED, True),
        ("lab.example", LOCAL, False),
        ("lab.example.evil.example", EXPOSED, False),
        ("192.168.1.5", LOCAL, False),
        ("0.0.0.0", LOCAL, False),
        ("192.168.1.5:8091", EXPOSED, True),
        ("[fd00::1]:8091", EXPOSED, True),
        ("192.168.1.5", BOUND, True),
        ("evil.example", BOUND, False),
        ("", LOCAL, False),
        ("127.0.0.1:x", LOCAL, False),
        ("127.0.0.1/", LOCAL, False),
        ("a@127.0.0.1", LOCAL, False),
        ("127.0.0.1 evil", LOCAL, False),
        ("[::1", LOCAL, False),
        ("2130706433", LOCAL, False),
        ("x" * 10_000, LOCAL, False),
    ],
)
def test_addresses_pass_as_names_only_beyond_loopback(
    host: str, network: Network, passes: bool
) -> None:
    assert (check_host(host, network) is None) is passes
    refused = check_host(host, network)
    assert refused is None or len(refused.message) < 500


ORIGINS = Network(allowed_origins=("https://lab.example", "http://localhost:5173"))
TUNNEL = "localhost:9000"


@pytest.mark.parametrize(
    ("origin", "host", "network", "passes"),
    [
        ("http://127.0.0.1:8091", "127.0.0.1:8091", LOCAL, True),
        ("http://localhost:8091", "127.0.0.1:8091", LOCAL, True),
        ("http://127.0.0.1:8091", "localhost:8091", LOCAL, True),
        ("http://localhost:9000", TUNNEL, LOCAL, True),
        ("http://127.0.0.1:9999", "127.0.0.1:8091", LOCAL, False),
        ("http://localhost:5173", "127.0.0.1:8091", LOCAL, False),
        ("http://127.0.0.1", "127.0.0.1:8091", LOCAL, False),
        ("http://127.9.9.9:8091", "127.0.0.1:8091", LOCAL, False),
        ("https://127.0.0.1:8091", "127.0.0.1:8091", LOCAL, False),
        ("http://localhost:5173", "127.0.0.1:8091", ORIGINS, True),
        ("http://localhost:5174", "127.0.0.1:8091", ORIGINS, False),
        ("https://lab.example", "127.0.0.1:8091", ORIGINS, True),
        ("https://lab.example:443", "127.0.0.1:8091", ORIGINS, True),
        ("http://lab.example", "127.0.0.1:8091", ORIGINS, False),
        ("https://lab.example:8443", "127.0.0.1:8091", ORIGINS, False),
        ("http://lab.example", "lab.example", NAMED, True),
        ("http://lab.example:80", "lab.example", NAMED, True),
        ("http://lab.example:8091", "127.0.0.1:8091", NAMED, True),
        ("https://lab.example", "lab.example", NAMED, False),
        ("http://lab.example:81", "lab.example", NAMED, False),
        ("http://192.168.1.5:8091", "192.168.1.5:8091", EXPOSED, True),
        ("http://192.168.1.6:8091", "192.168.1.5:8091", EXPOSED, False),
        ("http://6.6.6.6", "192.168.1.5:8091", EXPOSED, False),
        ("http://0.0.0.0:8091", "192.168.1.5:8091", EXPOSED, False),
        ("http://[fd00::2]:8091", "[fd00::1]:8091", EXPOSED, False),
        ("http://[fd00::1]:8091", "[fd00::1]:8091", EXPOSED, True),
        ("http://localhost:8091", "192.168.1.5:8091", BOUND, False),
        ("null", "127.0.0.1:8091", LOCAL, False),
        ("file://", "127.0.0.1:8091", LOCAL, False),
        ("", "127.0.0.1:8091", LOCAL, False),
        ("http://127.0.0.1:8091/", "127.0.0.1:8091", LOCAL, False),
        ("http://127.0.0.1:8091@evil.example", "127.0.0.1:8091", LOCAL, False),
        ("chrome-extension://127.0.0.1:8091", "127.0.0.1:8091", LOCAL, False),
    ],
)
def test_09_a_page_is_ours_by_scheme_name_and_port(
    origin: str, host: str, network: Network, passes: bool
) -> None:
    refused = check_origin(origin, host, network)
    assert (refused is None) is passes
    assert refused is None or "--allow-origin" in refused.message


@each_route
@pytest.mark.anyio
async def test_09_a_page_of_another_port_of_this_machine_is_refused_everywhere(
    http: httpx.AsyncClient, method: str, path: str
) -> None:
    answer = await http.request(method, path, headers={"Origin": "http://127.0.0.1:5173"})
    assert answer.status_code == 403
    assert "--allow-origin http://127.0.0.1:5173" in message(answer)
    assert "access-control-allow-origin" not in answer.headers


def test_a_request_without_a_host_is_refused() -> None:
    refused = check_host(None, LOCAL)
    assert refused is not None
    assert refused.status == 400


@pytest.mark.parametrize(
    ("authority", "name"),
    [
        ("Localhost:80", "localhost"),
        ("[::1]", "::1"),
        ("a.b.", "a.b"),
        ("a b", None),
        ("a:b:c", None),
    ],
)
def test_the_name_in_an_authority(authority: str, name: str | None) -> None:
    assert name_of(authority) == name


def test_loopback_is_what_only_this_machine_reaches() -> None:
    assert all(map(is_loopback, ["localhost", "127.0.0.1", "127.1.2.3", "::1"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "10.0.0.1", "lab.example", ""]))


@pytest.mark.parametrize("name", ["Origin", "Authorization", "Content-Type"])
@pytest.mark.anyio
async def test_two_headers_that_would_be_two_decisions_are_refused(
    http: httpx.AsyncClient, name: str
) -> None:
    headers = [("Host", "localhost"), (name, "http://localhost"), (name, EVIL)]
    answer = await http.get("/health", headers=headers)
    assert answer.status_code == 400
    assert name.lower() in message(answer)


@pytest.mark.anyio
async def test_a_preflight_of_a_page_that_passes_is_answered(keyed: FastAPI) -> None:
    headers = {
        "Origin": "http://localhost:8091",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type",
    }
    async with client_of(keyed) as http:
        answer = await http.options("/v1/patch_sweep", headers=headers)
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == "http://localhost:8091"
    assert "POST" in answer.headers["access-control-allow-methods"]
    assert answer.headers["access-control-allow-headers"] == "authorization, content-type"
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize(
    "path", ["/v1/capabilities", "/v1", "/v2/x", "/inference", "/api/p5/runs", "/metrics"]
)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Bearer {KEY.lower()}"},
        {"Authorization": f"Bearer {KEY}x"},
        {"Authorization": f"Basic {KEY}"},
        {"Authorization": KEY},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer \u00e9".encode("latin-1")},
    ],
)
@pytest.mark.anyio
async def test_guarded_paths_need_the_key(
    keyed: FastAPI, path: str, headers: dict[str, Any]
) -> None:
    async with client_of(keyed) as http:
        answer = await http.get(path, headers=headers)
    assert (answer.status_code, answer.json()) == (401, {"error": "Unauthorized"})
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.anyio
async def test_the_key_opens_and_what_is_open_needs_none(keyed: FastAPI) -> None:
    async with client_of(keyed) as http:
        for scheme in ("Bearer", "bearer"):
            headers = {"Authorization": f"{scheme} {KEY}"}
            assert (await http.get("/v1/capabilities", headers=headers)).status_code == 200
        for path in ("/health", "/ready", "/openapi.json", "/docs"):
            assert (await http.get(path)).status_code == 200
        assert (await http.options("/v1/capabilities")).status_code == 405


def test_tokenize_and_detokenize_stay_open() -> None:
    assert check_key("/tokenize", None, EXPOSED) is None
    assert check_key("/detokenize", None, EXPOSED) is None


@pytest.mark.anyio
async def test_the_key_is_never_in_the_log(
    keyed: FastAPI, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        async with client_of(keyed) as http:
            await http.get("/v1/capabilities", headers={"Authorization": f"Bearer {KEY}"})
            await http.get("/v1/capabilities", headers={"Authorization": "Bearer wrong-one"})
            await http.get("/v1/capabilities", params={"api_key": KEY})
    lines = [str(record.__dict__) for record in caplog.records if record.name != "httpx"]
    assert len(lines) >= 3
    assert not any(KEY in line or "wrong-one" in line for line in lines)
    assert KEY not in repr(EXPOSED)
