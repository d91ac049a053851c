"""The models that can be asked for, as OpenAI's API lists models: loaded ones first."""

import asyncio
import time

from fastapi import APIRouter

from sonde.schema import ModelEntry, ModelList
from sonde.server.parts import Parts


def routes(parts: Parts) -> APIRouter:
    """The routes under `/v1/models`."""
    router = APIRouter(prefix="/v1/models", tags=["server"])
    created, models = int(time.time()), parts.models

    @router.get("", operation_id="list_models")
    async def listing() -> ModelList:
        """The models that are loaded, the default first, and the names of those that can be."""
        return ModelList(data=await asyncio.to_thread(models.listing, created))

    @router.get("/{model_id:path}", operation_id="get_model")
    async def one(model_id: str) -> ModelEntry:
        """One of them, by its name; names of models may hold slashes."""
        return await asyncio.to_thread(models.entry, model_id, created)

    return router
