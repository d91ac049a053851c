"""Named vectors: register, forget, list. Sweeps and completions use them as `source_module`."""

import asyncio

from fastapi import APIRouter, Request

from sonde.errors import UnknownVector
from sonde.schema import (
    RegisteredVectors,
    RegisterVectors,
    UnregisterVectors,
    VectorList,
    VectorsUnregistered,
)
from sonde.server.errors import OpenAIError
from sonde.server.model_of import model_of
from sonde.server.parts import Parts
from sonde.server.queries import OfModel
from sonde.server.vectors import VectorRegister


def routes(parts: Parts) -> APIRouter:
    """The routes under `/v1/steering/modules`."""
    router = APIRouter(prefix="/v1/steering/modules", tags=["vectors"])
    models = parts.models

    @router.post("/register", operation_id="register_vectors")
    async def register(body: RegisterVectors, request: Request) -> RegisteredVectors:
        """Give vectors of a model a name. They are kept in memory until the model goes."""
        served = await model_of(request, models, body.model)
        return await asyncio.to_thread(served.vectors.register, body, served.backend.describe())

    @router.post("/unregister", operation_id="unregister_vectors")
    async def unregister(body: UnregisterVectors) -> VectorsUnregistered:
        """Forget a name. Work that has begun with its vectors ends with them."""
        served = models.loaded(await asyncio.to_thread(models.find, body.model))
        try:
            if served is None:
                raise UnknownVector(body.name, [])
            served.vectors.unregister(body.name)
        except UnknownVector as error:
            raise OpenAIError(str(error), status=404, param="name") from error
        return VectorsUnregistered(unregistered=True)

    @router.get("", operation_id="list_modules")
    @router.get("/list", operation_id="list_vectors")
    async def listing(model: OfModel = None) -> VectorList:
        """What has a name: where it can be written, its scale and its size."""
        served = models.loaded(await asyncio.to_thread(models.find, model))
        return (VectorRegister() if served is None else served.vectors).listing()

    return router
