"""One feature of a run: where it was active, what was noted, and the test of it, ready to be sent.

Nothing is run here: what comes back is sent to `POST /v1/sweeps`, and is in the history like any
other sweep. Beside it what one feature did in a run, and the notes that were made of it there.
"""

import asyncio
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from sonde.runs.analytics.service import Analytics
from sonde.runs.hub import Hub
from sonde.runs.notes import keep_note, notes_of
from sonde.schema.base import Wire
from sonde.schema.feature_in_run import FeatureInRun, NoteList, NoteToKeep
from sonde.schema.moment import MomentToTest
from sonde.server.moments import moment_to_test
from sonde.server.routes.analytics import LARGEST
from sonde.server.routes.runs import Run
from sonde.server.run_tokens import splitter

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from sonde.runs.analytics.analysis import RunContents

Number = Annotated[int | None, Query(ge=0, le=LARGEST)]


def routes(hub: Hub, analytics: Analytics) -> APIRouter:
    """The route. It shares the analytics of the others, which are closed by them."""
    router = APIRouter(prefix="/api/p5", tags=["runs"])

    @router.get("/moment", operation_id="moment_to_test", response_model=MomentToTest)
    async def moment(
        layer: Annotated[int, Query(ge=0, le=LARGEST, description="Whose features.")],
        run: Run = None,
        generation: Annotated[
            str | None,
            Query(max_length=200, description="Without it, one that has the feature, or the best."),
        ] = None,
        token: Annotated[
            int | None,
            Query(
                ge=-1,
                le=LARGEST,
                description="A recorded token of it, -1 for the prompt's last. Without it, where "
                "the feature is strongest.",
            ),
        ] = None,
        feature: Number = None,
    ) -> Response:
        """A recorded token as a test: the checkpoint nearest to what said it, and the sweep."""
        layout = await analytics.call(hub.layout_of, run)
        name = hub.name_of(layout)

        def question(known: "RunContents", cursor: "DuckDBPyConnection") -> Wire:
            return moment_to_test(
                known,
                cursor,
                layout,
                name,
                layer=layer,
                generation=generation,
                token=token,
                feature=feature,
            )

        body = await analytics.ask(layout, question)
        return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})

    @router.get("/feature", operation_id="feature_in_run", response_model=FeatureInRun)
    async def feature_in_run(
        layer: Annotated[int, Query(ge=0, le=LARGEST)],
        feature: Annotated[int, Query(ge=0, le=LARGEST)],
        run: Run = None,
    ) -> Response:
        """Where a feature was among the strongest, over all of a run."""
        layout = await analytics.call(hub.layout_of, run)

        def question(known: "RunContents", cursor: "DuckDBPyConnection") -> Wire:
            from sonde.runs.analytics.feature import feature_in_run as answer

            return answer(known, cursor, layer, feature, split=splitter(layout))

        body = await analytics.ask(layout, question)
        return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})

    @router.get("/notes", operation_id="list_notes")
    async def notes(run: Run = None) -> NoteList:
        """What was noted of features of a run."""
        return await asyncio.to_thread(notes_of, await analytics.call(hub.layout_of, run))

    @router.put("/notes", operation_id="keep_note")
    async def keep(
        body: NoteToKeep,
        layer: Annotated[int, Query(ge=0, le=999_999)],
        feature: Annotated[int, Query(ge=0, le=999_999_999)],
        run: Run = None,
    ) -> NoteList:
        """Keep a note of a feature with its run; an empty one takes the old one away."""
        layout = await analytics.call(hub.layout_of, run)
        return await asyncio.to_thread(keep_note, layout, layer, feature, body.text)

    return router
