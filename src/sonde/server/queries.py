"""Query parameters that a route does not know are refused: a misspelled one would do nothing.

Pages are exempt: what stands behind their `?` is for the interface, and the server never reads it.
"""

from difflib import get_close_matches
from typing import Annotated

from fastapi import Query, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from sonde.server.errors import OpenAIError
from sonde.server.schema_failures import shown

OfModel = Annotated[str | None, Query(description="Which model's; without it, the first one's.")]


async def refuse_unknown_parameters(request: Request) -> None:
    """A dependency of every route. `async`, so that it takes no thread."""
    route = request.scope.get("route")
    if not request.query_params or not isinstance(route, APIRoute) or not route.include_in_schema:
        return
    known = sorted(parameters(route.dependant))
    for name in request.query_params:
        if name not in known:
            raise OpenAIError(_message(name, known), param=name[:100], type="Bad Request")


def parameters(dependant: Dependant) -> set[str]:
    """The query parameters of a route, and of what it depends on."""
    names = {field.alias for field in dependant.query_params}
    return names.union(*(parameters(each) for each in dependant.dependencies))


def _message(name: str, known: list[str]) -> str:
    near = get_close_matches(name[:100].lower(), known, n=1, cutoff=0.5)
    remedy = f"this route knows {', '.join(known)}" if known else "this route takes none"
    if near:
        remedy = f"did you mean {near[0]!r}?"
    return f"unknown query parameter {shown(name)}; {remedy}"
