"""The loaded model, as OpenAI's API lists models. There is one."""

import time

from fastapi import APIRouter

from sonde.schema import ModelEntry, ModelList
from sonde.server.completion.admit import check_model
from sonde.server.parts import Parts


def routes(parts: Parts) -> APIRouter:
    """The routes under `/v1/models`."""
    router = APIRouter(prefix="/v1/models", tags=["server"])
    created = int(time.time())

    def entry() -> ModelEntry:
        model = parts.backend.describe()
        return ModelEntry(id=model.name, created=created, max_model_len=model.max_tokens)

    @router.get("", operation_id="list_models")
    async def listing() -> ModelList:
        """The model that is loaded."""
        return ModelList(data=[entry()])

    @router.get("/{model_id:path}", operation_id="get_model")
    async def one(model_id: str) -> ModelEntry:
        """The loaded model, by its name; names of models may hold slashes."""
        check_model(model_id, parts.backend.describe())
        return entry()

    return router
