"""The OpenAPI document: what the framework derives from the routes, and what it cannot know.

It does not know the errors, which `errors` and the middleware make, the key, that some answers are
streams or files, or what is in the streams. Everything here is a function of the document, so that
the types of a user interface can be generated from it without a model.
"""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, get_args

from fastapi.routing import APIRoute
from pydantic.json_schema import models_json_schema

from sonde.schema import Cell, ExportFormat, Failed, Loading, Start, Summary
from sonde.schema.records import Generation, GRPOMetrics, SAELogRecord, SidecarHealth
from sonde.schema.reward import TableReward, TableSampling
from sonde.schema.table import (
    TableCell,
    TableDropped,
    TablePair,
    TableStart,
    TableSummary,
    TableVerifying,
)
from sonde.server.errors import is_plain
from sonde.server.network import GUARDED
from sonde.server.parts import Network
from sonde.server.routes.history import MEDIA_TYPES

Json = dict[str, Any]

TAGS = [
    {"name": "sweeps", "description": "Patch every site of a grid, live or by id."},
    {"name": "attention", "description": "What heads attend to in a prompt."},
    {"name": "source runs", "description": "Activations kept for patching."},
    {"name": "completions", "description": "OpenAI-style completions, with patches."},
    {"name": "tokens", "description": "Text to tokens and back."},
    {"name": "vectors", "description": "Named vectors to patch in."},
    {"name": "runs", "description": "What trainers write, as it is written."},
    {"name": "analytics", "description": "Questions about a run as a whole."},
    {"name": "server", "description": "The model, the limits, and how it goes."},
]

PLAIN_ERROR: Json = {
    "type": "object",
    "title": "PlainError",
    "required": ["error"],
    "properties": {"error": {"type": "string"}},
}
OPENAI_ERROR: Json = {
    "type": "object",
    "title": "OpenAIError",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "code": {"type": "integer"},
            },
        }
    },
}

ERRORS: dict[int, str] = {
    400: "Something in the request makes no sense; the message says what.",
    401: "The key is missing or wrong.",
    403: "The request names another host, comes from a foreign page, or asks a reader to write.",
    404: "There is no such thing.",
    408: "The body took too long to arrive.",
    409: "It cannot be done in the state things are in.",
    413: "The body, or the work, is larger than may be.",
    415: "The body is compressed, in whichever way.",
    429: "As much work is waiting as may; `Retry-After` says when to try again.",
    500: "Something failed on the server's side.",
    501: "An optional part is not installed.",
    502: "A patch was not applied, so there is no answer.",
    503: "The server is stopping.",
}

NDJSON: Json = {"application/x-ndjson": {"schema": {"type": "string"}}}
EVENTS: Json = {"text/event-stream": {}}
"""Without a schema: before version 3.2 OpenAPI cannot say what one event holds; see `STREAMED`."""
ENTRY: Json = {"application/json": {"schema": {"$ref": "#/components/schemas/SweepEntry"}}}
FILES: Json = {MEDIA_TYPES[kind].partition(";")[0]: {} for kind in get_args(ExportFormat)}

SWEPT: Json = {
    "200": {"content": EVENTS},
    "202": {"description": "It runs; nobody waits for it.", "content": ENTRY},
}

ALSO: dict[str, Json] = {
    "patch_sweep": SWEPT,
    "run_sweep": SWEPT,
    "create_completion": {"200": {"content": EVENTS}},
    "create_chat_completion": {"200": {"content": EVENTS}},
}
"""Answers beside the one JSON body, by operation."""

FOLLOWED: Json = {
    "200": {"description": "Events as they come.", "content": EVENTS},
    "204": {"description": "There are no more."},
}
EXPORTED: Json = {"200": {"description": "The file.", "content": FILES}}

INSTEAD: dict[str, Json] = {
    "sweep_events": FOLLOWED,
    "table_events": FOLLOWED,
    "export_sweep": EXPORTED,
    "export_table": EXPORTED,
    "stream_records": {"200": {"description": "Records as they are written.", "content": EVENTS}},
    "read_records": {"200": {"description": "Records, one a line.", "content": NDJSON}},
    "metrics": {"200": {"description": "Samples.", "content": {"text/plain": {}}}},
}
"""Answers of operations that never have one JSON body."""

STREAMED = (
    Start, Cell, Summary, Failed, Loading, TableStart, TableCell, TablePair, TableDropped,
    TableVerifying, TableSummary, TableSampling, TableReward,
    SAELogRecord, Generation, GRPOMetrics, SidecarHealth,
)  # fmt: skip
"""What the `data:` lines of sweeps and runs hold, so that clients can be generated for them too."""


def operation_id(route: APIRoute) -> str:
    """A stable name for an operation that has not chosen one: its function's."""
    return route.name


def describe(document: Json, network: Network) -> Json:
    """Add what the framework cannot know."""
    parts = document.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas |= {"PlainError": PLAIN_ERROR, "OpenAIError": OPENAI_ERROR}
    for name, schema in _streamed().items():
        schemas.setdefault(name, schema)
    parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    document["tags"] = TAGS
    for path, method, operation in _operations(document):
        guarded = network.api_key is not None and path.startswith(GUARDED)
        if guarded:
            operation["security"] = [{"key": []}]
        responses = operation["responses"]
        responses.pop("422", None)
        _describe_success(operation)
        of_model = any(each["name"] == "model" for each in operation.get("parameters", []))
        for status in _statuses(path, method, guarded=guarded, of_model=of_model):
            responses.setdefault(str(status), _error(path, status))
    return document


def _streamed() -> Json:
    _, made = models_json_schema(
        [(model, "serialization") for model in STREAMED],
        ref_template="#/components/schemas/{model}",
    )
    found: Json = made["$defs"]
    return found


def _operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def _describe_success(operation: Json) -> None:
    """Streams, files and what else is not one JSON body."""
    name, responses = operation["operationId"], operation["responses"]
    for status, added in ALSO.get(name, {}).items():
        known = responses.setdefault(status, {"description": added.get("description", "")})
        known["content"] = known.get("content", {}) | added["content"]
    responses |= INSTEAD.get(name, {})


def _statuses(path: str, method: str, *, guarded: bool, of_model: bool) -> Iterator[int]:
    """The errors that a route may answer with; one that is `of_model` may not know which."""
    yield from (400, 403, 500)
    if guarded:
        yield 401
    if "{" in path or method == "post" or path.startswith("/api/") or of_model:
        yield 404
    if is_plain(path) or path.startswith("/v1/sweeps") or method == "post":
        yield from (409, 503)
    if method == "post":
        yield from (408, 413, 415, 429)
    if path.endswith("/completions") or path == "/v1/sweeps":
        yield 502


def _error(path: str, status: int) -> Json:
    plain = {"$ref": "#/components/schemas/PlainError"}
    openai = {"$ref": "#/components/schemas/OpenAIError"}
    schema: Json = openai
    if status == 401:
        schema = plain
    elif is_plain(path):
        schema = {"anyOf": [plain, openai]} if status in (400, 408, 413) else plain
    described = ERRORS.get(status, HTTPStatus(status).phrase)
    return {"description": described, "content": {"application/json": {"schema": schema}}}
