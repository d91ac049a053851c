"""A language model behind OpenAI's protocol, asked one thing at a time. Imports no torch.

Ours or anybody's. A key comes from the environment alone, and goes to the address that was named
and nowhere else: redirects are not followed.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from sonde.errors import BadRequest, EngineError

KEY: Final = "SONDE_EXPLAINER_KEY"
"""The environment variable with a key, where the address wants one."""
SECONDS: Final = 120.0
MOST: Final = 2**20
"""Bytes of an answer."""


@dataclass(frozen=True)
class RemoteModel:
    """One model at one address."""

    client: httpx.Client
    model: str
    host: str

    @property
    def name(self) -> str:
        """The model and where it was asked, for a label."""
        return f"{self.model} at {self.host}"

    def answer(self, system: str, user: str, most_tokens: int) -> str:
        """What it says, without chance."""
        body = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": user},
            ],
            "max_tokens": most_tokens,
            "temperature": 0,
        }
        held = _asked(self.client, "POST", "chat/completions", body)
        try:
            said = held["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError) as error:
            raise EngineError(
                f"{self.host} answered without a message: {str(held)[:120]}"
            ) from error
        return said if isinstance(said, str) else ""


@contextmanager
def asking(url: str, model: str | None) -> Iterator[RemoteModel]:
    """The model at an address: the one that is named, or the only one there is."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise BadRequest(f"{url!r} is no address; expected one like http://127.0.0.1:8091/v1")
    base = url.rstrip("/") if parts.path.strip("/") else f"{url.rstrip('/')}/v1"
    key = os.environ.get(KEY)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with httpx.Client(
        base_url=base, headers=headers, timeout=SECONDS, follow_redirects=False
    ) as client:
        yield RemoteModel(client, model or _only_model(client), parts.netloc.rpartition("@")[2])


def _only_model(client: httpx.Client) -> str:
    held = _asked(client, "GET", "models", None)
    data = held.get("data") if isinstance(held, dict) else None
    names = [str(each["id"]) for each in data or () if isinstance(each, dict) and "id" in each]
    if len(names) != 1:
        raise BadRequest(
            f"{client.base_url} has {len(names)} models ({', '.join(names[:8])}); say which one "
            "with --explainer-model"
        )
    return names[0]


def _asked(client: httpx.Client, verb: str, path: str, body: Any) -> Any:
    try:
        response = client.request(verb, path, json=body)
    except httpx.HTTPError as error:
        raise BadRequest(
            f"nobody answers at {client.base_url} ({error or type(error).__name__}); start a "
            "server there, or name another"
        ) from error
    if response.status_code != 200:
        raise BadRequest(
            f"{client.base_url} answered {response.status_code} to {path}: {response.text[:200]}; "
            f"a key, if it wants one, goes into {KEY}"
        )
    if len(response.content) > MOST:
        raise EngineError(f"{client.base_url} answered {len(response.content):,} bytes to {path}")
    try:
        return response.json()
    except ValueError as error:
        raise EngineError(f"{client.base_url} answered no JSON to {path}") from error
