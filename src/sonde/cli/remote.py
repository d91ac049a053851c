"""A model on a server, for commands that otherwise load one: the same questions, the same answers.

Only the connection is different, so only its troubles are told apart here: nobody answers, a key is
missing, another model is loaded. What the server itself says is passed on as it is.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from sonde.cli.parse import shown
from sonde.cli.progress import Progress
from sonde.errors import BadRequest, EngineError, NoModel
from sonde.schema import Estimate, ModelDescription, PatchSweepRequest, SweepEvent

if TYPE_CHECKING:
    from sonde.client.http import Refused
    from sonde.results import Sweep

KEY = "SONDE_API_KEY"
T = TypeVar("T")


class RemoteModel:
    """The model that a server has loaded. An interrupt hangs up, which stops the sweep."""

    def __init__(self, url: str, api_key: str | None = None) -> None:
        """Ask what is loaded there; `url` with or without the `/v1` that its routes have."""
        from sonde.client.server import Server

        self.url = url.rstrip("/").removesuffix("/v1")
        try:
            self._server = Server(f"{self.url}/v1", api_key)
        except ValueError as error:
            option = "--api-key" if "key" in str(error) else f"--url {shown(url)}"
            raise BadRequest(f"{option}: {error}") from error
        self._about = self._wait(self._server.capabilities()).model

    def describe(self) -> ModelDescription:
        """What is loaded there, and what it supports."""
        return self._about

    def estimate(self, request: PatchSweepRequest) -> Estimate:
        """What a request would cost there."""
        return self._wait(self._server.estimate(request))

    def run(
        self, request: PatchSweepRequest, *, on_event: Callable[[SweepEvent], None] | None = None
    ) -> "Sweep":
        """Run a request there, to its end."""
        return self._wait(self._server.run(request, on_event=on_event))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        with plain_errors(self.url):
            return asyncio.run(work)


def remote_model(
    url: str, progress: Progress, *, api_key: str | None, model: str | None
) -> RemoteModel:
    """The model of a server, which has to be `model` if that is given."""
    found = RemoteModel(url, api_key or os.environ.get(KEY))
    about = found.describe()
    if model not in (None, about.name):
        raise BadRequest(
            f"the server at {found.url} runs {about.name!r}, not {model!r}: leave --model out, "
            f"or start one with `sonde serve --model {model}`"
        )
    progress.say(f"asking {about.name} at {found.url} ({about.dtype}, {about.device})")
    return found


@contextmanager
def plain_errors(url: str) -> Iterator[None]:
    """What can go wrong between here and a server, as errors that a command shows in one line."""
    import httpx

    from sonde.client.http import Refused
    from sonde.client.stream import SweepFailed

    try:
        yield
    except Refused as error:
        raise _refusal(url, error) from error
    except SweepFailed as error:
        raise EngineError(f"the sweep failed on the server: {error}") from error
    except httpx.ConnectError as error:
        raise BadRequest(
            f"nobody answers at {url} ({error}); start a server with "
            "`sonde serve --model NAME`, or mind --url"
        ) from error
    except httpx.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise EngineError(f"the server at {url} stopped answering: {reason}") from error
    except ValidationError as error:
        raise EngineError(
            f"the server at {url} does not answer as this version of sonde expects: "
            f"{error.error_count()} fields of its {error.title} are wrong; is it as new as this?"
        ) from error


def _refusal(url: str, error: "Refused") -> BadRequest | EngineError:
    if error.status == 401:
        return BadRequest(
            f"the server at {url} wants a key, or another one: give --api-key, or set {KEY}"
        )
    if error.said == str(NoModel()):
        return BadRequest(f"{url}: {error.said}")
    if error.status in (404, 405) and error.request.url.path.endswith("/capabilities"):
        return BadRequest(f"what answers at {url} is no Sonde server; mind --url")
    if error.status >= 500 or error.status == 429:
        return EngineError(error.said)
    return BadRequest(error.said)
