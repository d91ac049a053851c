"""How a server is asked: where it is, how long to wait, and what becomes of a refusal.

A `Connection` lasts as long as one call of the study, so that a study has nothing to close and
works in any event loop, or in several. What the server says when it refuses is in the error's text.
Only 429 is tried again, and only so often: it means that nothing was begun. Any other failure is
the caller's to judge, because a sweep that may have run once must not quietly run twice.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar
from urllib.parse import quote, urlsplit

import httpx
from pydantic import BaseModel

CONNECT_SECONDS = 10.0
SHORT_SECONDS = 30.0
"""For questions that need no model: `/tokenize`, lists, what the server can do."""
LONGEST_PAUSE = 30.0
RETRIES = 5
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SHOWN = 500
_HEADER = re.compile(r"[!-~]+")

M = TypeVar("M", bound=BaseModel)


class Refused(httpx.HTTPStatusError):
    """The server answered, and said no. `said` is its own explanation."""

    def __init__(self, response: httpx.Response) -> None:
        self.said = explanation(response)
        request = response.request
        super().__init__(
            f"{response.status_code} from {request.method} {request.url}: {self.said}",
            request=request,
            response=response,
        )

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.response.status_code


def explanation(response: httpx.Response) -> str:
    """The server's message, out of whichever of the two error bodies it sent."""
    try:
        body = response.json()
    except ValueError:
        text = " ".join(response.text.split())
        return text[:_SHOWN] or response.reason_phrase
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        error = error.get("message", error)
    return str(error)


@dataclass(frozen=True)
class Address:
    """A server: `base_url` ends in `/v1`; `/tokenize` and `/detokenize` lie beside that."""

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    retries: int = RETRIES
    """How often a request that the server is too busy for is sent again."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        usual = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        if not usual or parts.username is not None:
            raise ValueError("not the address of a server, such as http://127.0.0.1:8091/v1")
        if self.api_key is not None and not _HEADER.fullmatch(self.api_key):
            raise ValueError("a key holds visible ASCII characters only")
        object.__setattr__(self, "base_url", self.base_url.rstrip("/"))

    @property
    def root(self) -> str:
        """The address without `/v1`."""
        return self.base_url.removesuffix("/v1").rstrip("/")

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine, which no proxy leads to."""
        return urlsplit(self.base_url).hostname in LOOPBACK

    @property
    def is_encrypted(self) -> bool:
        """Whether certificates are needed; reading them takes longer than a question."""
        return self.base_url.startswith("https:")


def segment(name: str) -> str:
    """A name as one segment of a path, whatever is in it."""
    return quote(name, safe="")


class Connection:
    """Requests to one server, over connections that are kept between them."""

    def __init__(self, address: Address, *, at_once: int = 16) -> None:
        self._address = address
        self._client = httpx.AsyncClient(
            verify=address.is_encrypted,
            trust_env=not address.is_loopback,
            limits=httpx.Limits(max_connections=at_once, max_keepalive_connections=at_once),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._client.aclose()

    async def ask(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float | None = SHORT_SECONDS,
    ) -> httpx.Response:
        """One request below `/v1`, and its whole answer; `seconds=None` waits as long as it takes.

        Raises `Refused`, or another `httpx.HTTPError` when there is no answer.
        """
        asked = self._client.build_request(
            method,
            f"{self._address.base_url}{path}",
            headers=self._authorization() | dict(headers or {}),
            json=body,
            params=params,
            timeout=_patience(seconds),
        )
        async with self._answer(asked) as response:
            await response.aread()
            return response

    async def ask_root(self, path: str, body: Mapping[str, Any]) -> httpx.Response:
        """One POST beside `/v1`, without a key: those routes are open."""
        asked = self._client.build_request(
            "POST", f"{self._address.root}{path}", json=body, timeout=_patience(SHORT_SECONDS)
        )
        async with self._answer(asked) as response:
            await response.aread()
            return response

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        last_event_id: str | None = None,
        seconds: float | None = None,
    ) -> AsyncIterator[httpx.Response]:
        """One request whose answer is read as it comes; leaving the block hangs up."""
        headers = self._authorization() | {"Accept": "text/event-stream"}
        if last_event_id is not None:
            headers["Last-Event-ID"] = last_event_id
        asked = self._client.build_request(
            method,
            f"{self._address.base_url}{path}",
            headers=headers,
            json=body,
            timeout=_patience(seconds),
        )
        async with self._answer(asked) as response:
            yield response

    @asynccontextmanager
    async def _answer(self, asked: httpx.Request) -> AsyncIterator[httpx.Response]:
        """An answer that is not a refusal, once the server is no longer too busy to give one."""
        for left in reversed(range(self._address.retries + 1)):
            response = await self._sent(asked)
            try:
                if response.is_success:
                    yield response
                    return
                await response.aread()
            finally:
                await response.aclose()
            if response.status_code != httpx.codes.TOO_MANY_REQUESTS or not left:
                raise Refused(response)
            await asyncio.sleep(pause(response))

    async def _sent(self, asked: httpx.Request) -> httpx.Response:
        try:
            return await self._client.send(asked, stream=True)
        except httpx.ConnectError as error:
            raise httpx.ConnectError(f"{asked.url}: {error}", request=asked) from error

    def _authorization(self) -> dict[str, str]:
        key = self._address.api_key
        return {} if key is None else {"Authorization": f"Bearer {key}"}


def _patience(seconds: float | None) -> httpx.Timeout:
    return httpx.Timeout(CONNECT_SECONDS, read=seconds, pool=None)


def pause(response: httpx.Response) -> float:
    """Seconds until a busy server may be asked again: what it says, within reason."""
    try:
        asked = float(response.headers.get("Retry-After", ""))
    except ValueError:
        asked = 1.0
    return min(max(asked, 0.0), LONGEST_PAUSE)


def read(kind: type[M], response: httpx.Response) -> M:
    """An answer as a type of the wire. What a newer server adds is passed over."""
    return kind.model_validate_json(response.content, extra="ignore")


def decoded(response: httpx.Response) -> dict[str, Any]:
    """An answer as a JSON object."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        kind = response.headers.get("content-type", "no content type")
        raise RuntimeError(
            f"{response.request.url} answered with {kind} instead of a JSON object; "
            "is base_url the address of a patching server, with /v1 at its end?"
        )
    return body
