"""The model that a request means, loaded by the time it is answered."""

import asyncio

from starlette.requests import Request

from sonde.server.leaving import unless_gone
from sonde.server.pool import Pool, ServedModel


async def model_of(request: Request, models: Pool, name: str | None) -> ServedModel:
    """The model of that name, or the default. Loading it is given up when the client leaves."""
    source = await asyncio.to_thread(models.find, name)
    served = models.loaded(source)
    if served is not None:
        return served
    return await unless_gone(request, models.ready(source))
