"""`docs/http.md`, made from the OpenAPI document and from what the source says of each field.

    python -m tests.server.interface

writes it beside what the user interface takes from the server. Nobody edits it; a test compares.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

Json = dict[str, Any]

SCHEMA = Path(__file__).parents[2] / "src" / "sonde" / "schema"

OPENING = """\
# HTTP reference

<!-- Written by `make ui-types` from the server itself: do not edit. -->

`sonde serve` answers at `http://127.0.0.1:8091`. The same list, for the server that is running, is
at `/docs`, and for programs at `/openapi.json`. [How to serve](how-to/serve.md) has examples,
[security](security.md) says who may ask.

Without `--model` there are only the routes under *runs*, *analytics* and *server*. Where a key is
set, `/v1`, `/api` and `/metrics` want `Authorization: Bearer KEY`.

Errors are JSON. Classic sweeps and source runs answer
`{"error": "what was wrong and what would work"}`; all other routes answer as OpenAI's API does,
with `message`, `type`, `param` and `code` inside `error`.
"""


def reference(document: Json) -> str:
    """The whole page."""
    schemas = document["components"]["schemas"]
    by_tag: dict[str, list[tuple[str, str, Json]]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            by_tag.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    described = {tag["name"]: tag["description"] for tag in document["tags"]}
    order = [*described, *sorted(set(by_tag) - set(described))]
    lines = [OPENING]
    for tag in order:
        lines += [f"## {tag.capitalize()}", "", *([described[tag], ""] if tag in described else [])]
        for method, path, operation in sorted(by_tag[tag], key=lambda each: each[1]):
            lines += [f"### `{method} {path}`", "", operation["description"].strip(), ""]
            lines += _parameters(operation)
            lines += _body(operation, schemas)
            lines += _answer(operation)
    lines += ["## Types", "", "A field with `?` may be left out; after `=` is its default.", ""]
    for name, schema in sorted(schemas.items()):
        if schema.get("type") == "object" and schema.get("properties"):
            lines += [f"### {name}", "", _first(schema.get("description", "")), ""]
            lines += [*_fields(name, schema), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _parameters(operation: Json) -> Iterator[str]:
    shown = [each for each in operation.get("parameters", ()) if each["in"] != "cookie"]
    if not shown:
        return
    yield from ("| parameter | in | type | |", "|---|---|---|---|")
    for each in shown:
        kind = _type(each["schema"]) + _default(each["schema"])
        said = _cell(each.get("description", ""))
        yield f"| `{each['name']}` | {each['in']} | {_code(kind)} | {said} |"
    yield ""


def _body(operation: Json, schemas: Json) -> Iterator[str]:
    content = operation.get("requestBody", {}).get("content", {})
    for media in content.values():
        name = _type(media["schema"])
        if name in schemas:
            yield f"Body: {_link(name)}."
            yield ""


def _answer(operation: Json) -> Iterator[str]:
    good = [(int(code), each) for code, each in operation["responses"].items() if code < "300"]
    for code, each in good:
        kinds = []
        for media, content in each.get("content", {}).items():
            name = _type(content["schema"]) if "schema" in content else "any"
            linked = name if name == "any" else _linked(name)
            kinds.append(f"`{media}`" if name in ("any", "string") else f"{linked} as `{media}`")
        said = each.get("description", "").strip().rstrip(".")
        words = "" if said in ("", "Successful Response") else f", {said[0].lower()}{said[1:]}"
        yield f"Answers {code}{': ' + ', or '.join(kinds) if kinds else ''}{words}."
    bad = sorted(code for code in operation["responses"] if code >= "400")
    yield f"Errors: {', '.join(bad)}."
    yield ""


def _fields(name: str, schema: Json) -> Iterator[str]:
    yield from ("| field | type | |", "|---|---|---|")
    required = set(schema.get("required", ()))
    fields = sorted(schema["properties"].items(), key=lambda each: each[0] not in required)
    for field, about in fields:
        optional = "" if field in required else "?"
        kind = _linked(_type(about))
        said = about.get("description") or _meaning(name, field)
        yield f"| `{field}`{optional} | {kind}{_code(_default(about))} | {_cell(said)} |"


def _meaning(name: str, field: str) -> str:
    """What the source says of a field, where its class or one that it is made from has it."""
    found = meanings().get((name, field))
    if found is not None:
        return found
    return next((said for base in bases().get(name, ()) if (said := _meaning(base, field))), "")


@cache
def bases() -> Mapping[str, list[str]]:
    """The classes that each class is made from, as far as they have plain names."""
    nodes = [node for path in SCHEMA.glob("*.py") for node in ast.walk(ast.parse(path.read_text()))]
    return {
        node.name: [base.id for base in node.bases if isinstance(base, ast.Name)]
        for node in nodes
        if isinstance(node, ast.ClassDef)
    }


@cache
def meanings() -> Mapping[tuple[str, str], str]:
    """What the source says below each field, by class and field."""
    found: dict[tuple[str, str], str] = {}
    for path in SCHEMA.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                for field, after in zip(node.body, node.body[1:], strict=False):
                    if (
                        isinstance(field, ast.AnnAssign)
                        and isinstance(field.target, ast.Name)
                        and isinstance(after, ast.Expr)
                        and isinstance(after.value, ast.Constant)
                    ):
                        found[node.name, field.target.id] = str(after.value.value)
    return found


def _type(schema: Json) -> str:
    """A schema in a few words: `list of integer or null`."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema:
        return f"“{schema['const']}”"
    if "enum" in schema:
        return " or ".join(f"“{each}”" for each in schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            kinds = [_type(each) for each in schema[several]]
            return " or ".join(dict.fromkeys(kinds))
    if schema.get("type") == "array":
        if "prefixItems" in schema:
            return f"({', '.join(_type(each) for each in schema['prefixItems'])})"
        return f"list of {_type(schema.get('items', {}))}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return str(schema.get("type", "any"))


def _linked(kind: str) -> str:
    """The same with links to the types that this page describes."""
    return re.sub(r"\b[A-Z][A-Za-z]+\b(?!”)", lambda name: _link(name[0]), kind)


def _link(name: str) -> str:
    return name if name == "JsonValue" else f"[{name}](#{name.lower()})"


def _default(schema: Json) -> str:
    default = schema.get("default")
    return "" if default in (None, "", [], {}) else f" = {json.dumps(default)}"


def _code(text: str) -> str:
    return text.replace("|", "\\|")


def _cell(text: str) -> str:
    """One line that a table can hold."""
    return _code(" ".join(text.split()))


def _first(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split())
