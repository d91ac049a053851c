"""A model on a server, for commands that otherwise load one: the same questions, the same answers.

Only the connection is different, so only its troubles are told apart here: nobody answers, a key is
missing, another model is loaded. What the server itself says is passed on as it is.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import ValidationError

from sonde.cli.parse import shown
from sonde.cli.progress import Event, Progress
from sonde.errors import BadRequest, EngineError, NoModel
from sonde.request import CLASSIC_METRICS, Request, as_classic
from sonde.schema import Estimate, ModelDescription, PatchSweepRequest
from sonde.schema.attention import AttentionRequest

if TYPE_CHECKING:
    from sonde.client.http import Refused
    from sonde.results import Attention, Sweep

KEY = "SONDE_API_KEY"
T = TypeVar("T")
AnyRequest = TypeVar("AnyRequest", bound=Request | AttentionRequest)


class RemoteModel:
    """A model of a server. An interrupt hangs up, which stops the sweep."""

    def __init__(self, url: str, api_key: str | None = None, model: str | None = None) -> None:
        """Ask about the server's first model, or another, which it then loads.

        `url` is with or without the `/v1` that its routes have.
        """
        from sonde.client.server import Server

        self.url = url.rstrip("/").removesuffix("/v1")
        try:
            self._server = Server(f"{self.url}/v1", api_key)
        except ValueError as error:
            option = "--api-key" if "key" in str(error) else f"--url {shown(url)}"
            raise BadRequest(f"{option}: {error}") from error
        self._about = self._wait(self._server.capabilities()).model
        self._named: str | None = None
        if model not in (None, self._about.name):
            self._named = model
            self._about = self._wait(self._server.capabilities(model)).model

    def describe(self) -> ModelDescription:
        """What is loaded there, and what it supports."""
        return self._about

    def estimate(self, request: Request) -> Estimate:
        """What a request would cost there."""
        return self._wait(self._server.estimate(self._by_route(request)))

    def run(self, request: Request, *, on_event: Callable[[Event], None] | None = None) -> "Sweep":
        """Run a request there, to its end."""
        return self._wait(self._server.run(self._by_route(request), on_event=on_event))

    def attend(self, request: AttentionRequest) -> "Attention":
        """What heads attend to there."""
        return self._wait(self._server.attend(self._naming(request)))

    def _by_route(self, request: Request) -> Request:
        """What can be asked of the classic route is asked there: every server has it.

        It takes answers of one token, and only the server knows its tokens.
        """
        request = self._naming(request)
        if isinstance(request, PatchSweepRequest):
            return request
        classic = as_classic(request, self._about.n_layers)
        if classic is None:
            return request
        texts = [text for text in (classic.answer_token, classic.foil_token) if text is not None]
        counts = [len(self._wait(self._server.tokens(text, self._named))) for text in texts]
        return classic if all(count == 1 for count in counts) else request

    def _naming(self, request: AnyRequest) -> AnyRequest:
        """The request for the model that was chosen, where that is not the server's first."""
        if self._named is None:
            return request
        named: Any = request.model_copy(update={"model": self._named})
        return cast(AnyRequest, named)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        with plain_errors(self.url):
            return asyncio.run(work)


def remote_model(
    url: str, progress: Progress, *, api_key: str | None, model: str | None
) -> RemoteModel:
    """The first model of a server, or the one of that name."""
    if model is not None:
        progress.now(f"asking for {model}, which takes a while if it has to be loaded")
    found = RemoteModel(url, api_key or os.environ.get(KEY), model)
    about = found.describe()
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
    asked = error.request.url
    if error.status in (404, 405) and asked.path.endswith("/capabilities") and not asked.query:
        return BadRequest(f"what answers at {url} is no Sonde server; mind --url")
    general = ("/sweeps", "/sweeps/estimate", "/attention")
    if error.status in (404, 405) and asked.path.endswith(general):
        return BadRequest(
            f"the server at {url} has no general sweeps ({error.said}): it is older than this "
            "sonde; ask for one answer of one token, positions of their own, and the metrics "
            f"{', '.join(CLASSIC_METRICS)}, or update it"
        )
    if error.status >= 500 or error.status == 429:
        return EngineError(error.said)
    return BadRequest(error.said)
