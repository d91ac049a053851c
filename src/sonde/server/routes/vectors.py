"""Named vectors: register, forget, list. Sweeps and completions use them as `source_module`."""

import asyncio

from fastapi import APIRouter

from sonde.errors import UnknownVector
from sonde.schema import (
    RegisteredVectors,
    RegisterVectors,
    UnregisterVectors,
    VectorList,
    VectorsUnregistered,
)
from sonde.server.errors import OpenAIError
from sonde.server.parts import Parts


def routes(parts: Parts) -> APIRouter:
    """The routes under `/v1/steering/modules`."""
    router = APIRouter(prefix="/v1/steering/modules", tags=["vectors"])
    vectors, backend = parts.vectors, parts.backend

    @router.post("/register", operation_id="register_vectors")
    async def register(body: RegisterVectors) -> RegisteredVectors:
        """Give vectors a name. They are kept in memory until the server stops."""
        return await asyncio.to_thread(vectors.register, body, backend.describe())

    @router.post("/unregister", operation_id="unregister_vectors")
    async def unregister(body: UnregisterVectors) -> VectorsUnregistered:
        """Forget a name. Work that has begun with its vectors ends with them."""
        try:
            vectors.unregister(body.name)
        except UnknownVector as error:
            raise OpenAIError(str(error), status=404, param="name") from error
        return VectorsUnregistered(unregistered=True)

    @router.get("/list", operation_id="list_vectors")
    async def listing() -> VectorList:
        """What has a name: where it can be written, its scale and its size."""
        return vectors.listing()

    return router
