"""Tasks and their pairs, for clients that make none themselves. They need no model."""

from typing import Annotated

from fastapi import APIRouter, Query

from sonde.schema.pair import TaskEntry, TaskList, TaskPairs
from sonde.server.parts import Parts
from sonde.tasks import TASKS, task


def routes(_parts: Parts) -> APIRouter:
    """The routes under `/v1/tasks`."""
    router = APIRouter(prefix="/v1/tasks", tags=["sweeps"])

    @router.get("", operation_id="tasks")
    async def tasks() -> TaskList:
        """The tasks that come with Sonde."""
        entries = [TaskEntry(name=t.name, what=t.what, pairs=t.n) for t in TASKS.values()]
        return TaskList(tasks=entries)

    @router.get("/{name}", operation_id="task_pairs")
    async def task_pairs(
        name: str,
        n: Annotated[int, Query(ge=1, le=10_000)] = 40,
        seed: Annotated[int, Query(ge=0)] = 0,
    ) -> TaskPairs:
        """So many pairs of a task, for `pairs` in a sweep."""
        return TaskPairs(pairs=list(task(name).pairs(n, seed)))

    return router
