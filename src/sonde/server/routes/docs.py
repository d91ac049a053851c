"""`/docs`: the OpenAPI document as a page to read.

Made here and not by the usual viewers, because those fetch scripts from other machines: this page
works without a network, and nothing on it can send a request in the reader's name.
"""

from collections.abc import Iterator
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from sonde.server.parts import Gateway, Parts

Json = dict[str, Any]

STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
code { font: 0.9em ui-monospace, monospace; }
details { border-top: 1px solid var(--line); padding: 0.4rem 0; }
summary { cursor: pointer; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 600; }
.summary { opacity: 0.75; }
table { border-collapse: collapse; margin: 0.5rem 0; }
td { border-top: 1px solid var(--line); padding: 0.2rem 1rem 0.2rem 0; vertical-align: top; }
"""


def routes(parts: Parts | Gateway) -> APIRouter:
    """The page."""
    router = APIRouter(include_in_schema=False)

    @router.get("/docs")
    async def docs(request: Request) -> HTMLResponse:
        """Every route, what it takes and what it answers."""
        return HTMLResponse(page(request.app.openapi()))

    return router


def page(document: Json) -> str:
    """The document as HTML."""
    info = document["info"]
    title = f"{escape(info['title'])} {escape(info['version'])}"
    return "\n".join(
        [
            f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title}</title>",
            "<meta name='viewport' content='width=device-width'>",
            f"<style>{STYLE}</style><h1>{title}</h1>",
            "<p>For programs: <a href='/openapi.json'>openapi.json</a>. "
            "How busy the server is: <a href='/v1/capabilities'>capabilities</a>.</p>",
            *_sections(document),
            "</html>",
        ]
    )


def _sections(document: Json) -> Iterator[str]:
    for tag in document["tags"]:
        operations = [
            _operation(document, path, method, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            if tag["name"] in operation.get("tags", [])
        ]
        if operations:
            yield f"<h2>{escape(tag['name'])}</h2><p>{escape(tag['description'])}</p>"
            yield from operations


def _operation(document: Json, path: str, method: str, operation: Json) -> str:
    about = operation.get("description", "")
    first, _, _ = about.partition("\n")
    rows = [*_parameters(operation), *_body(document, operation)]
    table = f"<table>{''.join(rows)}</table>" if rows else ""
    answers = "".join(
        f"<tr><td><code>{status}</code></td><td>{escape(answer['description'])}</td></tr>"
        for status, answer in sorted(operation["responses"].items())
    )
    return (
        f"<details id='{escape(operation['operationId'])}'><summary>"
        f"<span class='method'>{method.upper()}</span> <code>{escape(path)}</code> "
        f"<span class='summary'>{escape(first)}</span></summary>"
        f"<p>{escape(about)}</p>{table}<p>Answers</p><table>{answers}</table></details>"
    )


def _parameters(operation: Json) -> Iterator[str]:
    for parameter in operation.get("parameters", []):
        kind = f"{parameter['in']}, {_kind(parameter['schema'])}"
        yield _row(parameter["name"], kind, required=parameter.get("required", False))


def _body(document: Json, operation: Json) -> Iterator[str]:
    """The fields of the JSON body."""
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    schema = _resolved(document, schema)
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        yield _row(name, _kind(field), required=name in required, about=field.get("description"))


def _resolved(document: Json, schema: Json) -> Json:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: Json = document["components"]["schemas"].get(name, schema)
    return found


def _kind(schema: Json) -> str:
    """A type in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema or "const" in schema:
        return " | ".join(map(repr, schema.get("enum", [schema.get("const")])))
    if "anyOf" in schema:
        return " | ".join(map(_kind, schema["anyOf"]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("type", "anything"))


def _row(name: str, kind: str, *, required: bool, about: str | None = None) -> str:
    need = "required" if required else ""
    cells = (f"<code>{escape(name)}</code>", escape(kind), need, escape(about or ""))
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
