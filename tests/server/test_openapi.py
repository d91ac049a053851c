"""The OpenAPI document: complete, stable, and true about errors. (`test_schemathesis` tries it.)"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from sonde import __version__
from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.server.app import create_app
from tests.scripted import Scripted
from tests.server.talking import client_of, parts_over

Json = dict[str, Any]

OPERATIONS = {
    "patch_sweep": "post /v1/patch_sweep",
    "sweep_history": "get /v1/patch_sweep",
    "estimate_sweep": "post /v1/patch_sweep/estimate",
    "get_sweep": "get /v1/patch_sweep/{sweep_id}",
    "cancel_sweep": "delete /v1/patch_sweep/{sweep_id}",
    "remark_sweep": "patch /v1/history/{sweep_id}",
    "forget_sweep": "delete /v1/history/{sweep_id}",
    "sweep_events": "get /v1/patch_sweep/{sweep_id}/events",
    "export_sweep": "get /v1/patch_sweep/{sweep_id}/export",
    "list_source_runs": "get /v1/patch_source",
    "get_source_run": "get /v1/patch_source/{run_id}",
    "drop_source_run": "delete /v1/patch_source/{run_id}",
    "create_completion": "post /v1/completions",
    "create_chat_completion": "post /v1/chat/completions",
    "tokenize": "post /tokenize",
    "detokenize": "post /detokenize",
    "list_models": "get /v1/models",
    "get_model": "get /v1/models/{model_id}",
    "register_vectors": "post /v1/steering/modules/register",
    "unregister_vectors": "post /v1/steering/modules/unregister",
    "list_modules": "get /v1/steering/modules",
    "list_vectors": "get /v1/steering/modules/list",
    "health": "get /health",
    "ready": "get /ready",
    "metrics": "get /metrics",
    "capabilities": "get /v1/capabilities",
}
"""Names that generated code depends on: add, but do not rename."""


def made(directory: Path, **network: Any) -> Json:
    with parts_over(Scripted(), directory, **network) as parts:
        return create_app(replace(parts, runs=Hub(RunLayout(directory)))).openapi()


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Json:
    return made(tmp_path_factory.mktemp("open"))


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def test_operations_keep_their_names(document: Json) -> None:
    found = [
        (each["operationId"], f"{method} {path}") for path, method, each in operations(document)
    ]
    assert len({name for name, _ in found}) == len(found)
    assert OPERATIONS.items() <= dict(found).items()


def test_it_is_sondes_and_every_operation_is_under_a_tag_and_described(document: Json) -> None:
    assert document["info"] == {"title": "Sonde", "version": __version__}
    tags = {tag["name"] for tag in document["tags"]}
    for path, _, operation in operations(document):
        assert set(operation["tags"]) <= tags, path
        assert operation["description"], path


def test_a_schema_failure_is_400_and_never_422(document: Json) -> None:
    assert "HTTPValidationError" not in str(document)
    for _, _, operation in operations(document):
        assert "422" not in operation["responses"]
        assert {"400", "403", "500"} <= set(operation["responses"])


def test_sweep_routes_promise_both_shapes_for_400_and_the_plain_one_otherwise(
    document: Json,
) -> None:
    responses = document["paths"]["/v1/patch_sweep"]["post"]["responses"]
    schemas = {
        status: each["content"]["application/json"]["schema"] for status, each in responses.items()
    }
    plain = {"$ref": "#/components/schemas/PlainError"}
    openai = {"$ref": "#/components/schemas/OpenAIError"}
    assert schemas["400"] == {"anyOf": [plain, openai]}
    assert schemas["429"] == schemas["500"] == plain
    other = document["paths"]["/v1/completions"]["post"]["responses"]
    assert other["502"]["content"]["application/json"]["schema"] == openai


def test_streams_and_files_are_described_as_such(document: Json) -> None:
    paths = document["paths"]
    sweep = paths["/v1/patch_sweep"]["post"]["responses"]
    assert set(sweep["200"]["content"]) == {"application/json", "text/event-stream"}
    assert "202" in sweep
    events = paths["/v1/patch_sweep/{sweep_id}/events"]["get"]["responses"]
    assert set(events["200"]["content"]) == {"text/event-stream"}
    assert "204" in events
    files = paths["/v1/patch_sweep/{sweep_id}/export"]["get"]["responses"]["200"]["content"]
    assert {"image/png", "text/csv"} <= set(files)


def test_every_reference_leads_somewhere(document: Json) -> None:
    def references(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            yield from [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            value = list(value.values())
        for each in value if isinstance(value, list) else []:
            yield from references(each)

    schemas = document["components"]["schemas"]
    found = {name.removeprefix("#/components/schemas/") for name in references(document)}
    assert found
    assert found <= set(schemas)


def test_the_key_is_asked_for_where_there_is_one(document: Json, tmp_path: Path) -> None:
    assert not any("security" in operation for _, _, operation in operations(document))
    keyed = made(tmp_path, api_key="k")
    needs = {path: "security" in operation for path, _, operation in operations(keyed)}
    assert needs["/v1/capabilities"]
    assert needs["/metrics"]
    assert not needs["/health"]
    assert not needs["/tokenize"]
    for path, _, operation in operations(keyed):
        assert ("401" in operation["responses"]) is needs[path]


@pytest.mark.anyio
async def test_it_is_served(document: Json, tmp_path: Path) -> None:
    with parts_over(Scripted(), tmp_path) as parts:
        app = create_app(replace(parts, runs=Hub(RunLayout(tmp_path))))
        async with client_of(app) as http:
            answer: httpx.Response = await http.get("/openapi.json")
    assert answer.json() == document
