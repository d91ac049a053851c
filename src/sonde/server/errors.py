"""Errors as answers: one table from an error's class to a status, and the two shapes of a body.

Classic sweep and source routes answer `{"error": "what was wrong"}`. All other routes, and any
route whose body cannot be read or fails its schema, answer as OpenAI's API does: `{"error":
{"message", "type", "param", "code"}}`. Clients of both exist, so neither can be given up.

Routes raise; nothing here is called by them but `OpenAIError`, where the field to blame is known.
What is no `SondeError` is a bug: see `request_log`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from sonde.errors import (
    BaselineFailed,
    CaptureFailed,
    ControlFailed,
    DataDirectoryError,
    EngineError,
    EngineLost,
    HistoryReadOnly,
    HookNeverFired,
    JobCancelled,
    MissingExtra,
    NoModel,
    RequestError,
    RequestTooLarge,
    ServerBusy,
    ServerStopping,
    SondeError,
    SweepNotFinished,
    SweepUnderWay,
    UnknownGeneration,
    UnknownModel,
    UnknownRun,
    UnknownSourceRun,
    UnknownSweep,
    VectorsExist,
    WeightsChanged,
)
from sonde.server.schema_failures import Failure, schema_failure, unreadable

CLASSIC, SOURCES = "/v1/patch_sweep", "/v1/patch_source"
"""Routes whose errors are a plain string."""

STOPPING_SECONDS = 5

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


@dataclass(frozen=True)
class Answer:
    """What an error becomes: its status, and where that differs by route."""

    status: int
    at_sources: int | None = None
    """On the routes that name one source run in their path."""
    at_openai: int | None = None
    """On the routes that answer as OpenAI's API does."""
    param: str | None = None

    def status_at(self, path: str) -> int:
        """The status on a route."""
        if path.startswith(SOURCES):
            return self.at_sources or self.status
        return self.status if is_plain(path) else self.at_openai or self.status


ANSWERS: dict[type[SondeError], Answer] = {
    RequestError: Answer(400),
    UnknownModel: Answer(404, param="model"),
    NoModel: Answer(404),
    UnknownSourceRun: Answer(400, at_sources=404),
    RequestTooLarge: Answer(413),
    UnknownSweep: Answer(404),
    UnknownRun: Answer(404, param="run"),
    UnknownGeneration: Answer(404, param="id"),
    VectorsExist: Answer(409),
    SweepNotFinished: Answer(409),
    SweepUnderWay: Answer(409),
    WeightsChanged: Answer(409),
    EngineError: Answer(500),
    BaselineFailed: Answer(500),
    CaptureFailed: Answer(500),
    HookNeverFired: Answer(500, at_openai=502),
    ControlFailed: Answer(500, at_openai=502),
    EngineLost: Answer(503),
    JobCancelled: Answer(409),  # a listener that hears it did not leave: another client stopped it
    ServerStopping: Answer(503),
    ServerBusy: Answer(429),
    DataDirectoryError: Answer(500),
    HistoryReadOnly: Answer(403),
    MissingExtra: Answer(501),
}
"""By class; a class that is not here is answered like the nearest one above it that is."""

TYPES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    409: "ConflictError",
    413: "RequestTooLargeError",
    429: "RateLimitError",
    502: "PatchNotAppliedError",
    503: "ServiceUnavailableError",
}
"""What `type` says in the OpenAI-style body; other statuses say what HTTP calls them."""


class OpenAIError(HTTPException):
    """A refusal with the field to blame, for routes that answer as OpenAI's API does.

    raise OpenAIError("logprob_token_ids needs logprobs to be set", param="logprob_token_ids")
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        param: str | None = None,
        type: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, message, headers)
        self.message = message
        self.param = param
        self.type = type


def answer_to(error: SondeError) -> Answer:
    """The row of the table for an error."""
    found = next((ANSWERS[c] for c in type(error).__mro__ if c in ANSWERS), None)
    return Answer(500) if found is None else found


def is_plain(path: str) -> bool:
    """Whether a route's errors are a plain string."""
    return any(path == prefix or path.startswith(f"{prefix}/") for prefix in (CLASSIC, SOURCES))


def openai_error(
    status: int, message: str, *, param: str | None = None, type: str | None = None
) -> dict[str, object]:
    """The OpenAI-style body; streams send it too, as their last event."""
    kind = type or TYPES.get(status) or HTTPStatus(status).phrase
    return {"error": {"message": message, "type": kind, "param": param, "code": status}}


def refusal(
    path: str,
    status: int,
    message: str,
    *,
    param: str | None = None,
    type: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An error in the shape that the route's clients know."""
    body = {"error": message}
    shaped = body if is_plain(path) else openai_error(status, message, param=param, type=type)
    return _json(status, shaped, headers)


def bad_body(status: int, failure: Failure) -> Response:
    """A body that is none, or fails its schema: the OpenAI shape on every route."""
    kind = HTTPStatus(status).phrase
    return _json(status, openai_error(status, failure.message, param=failure.param, type=kind))


def error_response(path: str, error: SondeError) -> Response:
    """An error raised on purpose, as an answer."""
    row = answer_to(error)
    return refusal(path, row.status_at(path), str(error), param=row.param, headers=_later(error))


def openai_event(error: SondeError) -> dict[str, object]:
    """The same for a stream that has begun, on a route that answers as OpenAI's API does."""
    row = answer_to(error)
    return openai_error(row.at_openai or row.status, str(error), param=row.param)


API = ("/v1", "/api", "/assets", "/docs", "/openapi.json")
"""What programs ask for: a browser gets the same answer there."""


def add_error_handlers(
    app: FastAPI, page: Callable[[Mapping[str, str]], Response | None] = lambda _: None
) -> None:
    """Turn what routes raise into answers. `page` is for browsers that are lost."""

    async def raised(request: Request, error: Exception) -> Response:
        assert isinstance(error, SondeError)
        return error_response(request.url.path, error)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return bad_body(400, schema_failure(error, request.scope.get("route")))

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.__cause__ is not None and error.status_code == 400:
            return bad_body(400, unreadable(error.__cause__))
        if isinstance(error, OpenAIError):
            body = openai_error(
                error.status_code, error.message, param=error.param, type=error.type
            )
            return _json(error.status_code, body, error.headers)
        api = request.url.path.startswith(API)
        if error.status_code == 404 and not api and (found := page(request.headers)) is not None:
            return found
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["Allow"] = ", ".join(allowed_methods(request))
        message = _explained(request, error, headers)
        return refusal(request.url.path, error.status_code, message, headers=headers)

    app.add_exception_handler(SondeError, raised)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)


def allowed_methods(request: Request) -> list[str]:
    """Every method that its path takes; the framework names those of one route of several."""
    routes = request.app.router.routes

    def takes(method: str) -> bool:
        scope = {**request.scope, "method": method}
        return any(route.matches(scope)[0] is Match.FULL for route in routes)

    return [method for method in METHODS if takes(method)]


def _explained(request: Request, error: HTTPException, headers: Mapping[str, str]) -> str:
    """What the framework says in two words, in a sentence that leads somewhere."""
    path, method = request.url.path[:200], request.method
    if error.status_code == 404 and error.detail == "Not Found":
        return f"there is nothing at {path!r}; GET /openapi.json lists the routes"
    if error.status_code == 405:
        return f"{method} is not possible at {path!r}; it takes {headers['Allow']}"
    return str(error.detail)


def _later(error: SondeError) -> dict[str, str]:
    """When to try again, where that would help."""
    if isinstance(error, ServerBusy):
        return {"Retry-After": str(error.retry_after)}
    if isinstance(error, ServerStopping):
        return {"Retry-After": str(STOPPING_SECONDS)}
    return {}


def _json(status: int, body: object, headers: Mapping[str, str] | None = None) -> Response:
    """As ASCII: what others sent and is quoted here may hold half a surrogate pair."""
    text = json.dumps(body, allow_nan=False)
    return Response(text, status, dict(headers or {}), "application/json")
