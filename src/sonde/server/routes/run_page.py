"""A run as one HTML file to take along: `GET /api/p5/page`.

The file is the interface's page of the run with everything in it that the page would ask for, so it
opens anywhere, without a server. A run that is still being read is waited for: a file that is sent
to somebody should be about all of it. If that takes too long, the page says how much it is about.
"""

import asyncio
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from sonde import __version__
from sonde.errors import MissingInterface
from sonde.results.run_page import SCRIPT, STYLE, Assets, run_page
from sonde.runs.analytics.service import Analytics
from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.runs.probes import known_changes
from sonde.runs.reader import run_row
from sonde.schema.base import Wire
from sonde.server.routes.features import cards_of
from sonde.server.routes.ui import BUILT
from sonde.server.run_tokens import Split, splitter

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from sonde.runs.analytics.analysis import RunContents
    from sonde.schema.run_copy import RunCopy

PATIENCE_SECONDS = 60.0


def routes(
    hub: Hub, analytics: Analytics, split: Split | None = None, build: Path = BUILT
) -> APIRouter:
    """The route. `split` says what tokens are where the run itself cannot: the model's."""
    router = APIRouter(tags=["runs"])

    @router.get("/api/p5/page", operation_id="run_page", response_class=HTMLResponse)
    async def page(
        run: Annotated[str | None, Query(description="Which; without it, the newest.")] = None,
    ) -> HTMLResponse:
        """A run as one HTML file that opens without a server."""
        assets = assets_of(build)
        layout = await analytics.call(hub.layout_of, run)
        name = run or hub.name_of(layout)
        await _all_read(analytics, layout)

        def question(known: "RunContents", cursor: "DuckDBPyConnection") -> Wire:
            return copy_of(known, cursor, layout, name, splitter(layout) or split)

        copy = await analytics.ask(layout, question)
        text = await analytics.call(run_page, name, copy.decode(), assets)
        headers = {
            "Cache-Control": "no-store",
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(f'{name}.html', safe='')}",
            "X-Content-Type-Options": "nosniff",
        }
        return HTMLResponse(text, headers=headers)

    return router


def copy_of(
    known: "RunContents",
    cursor: "DuckDBPyConnection",
    layout: RunLayout,
    name: str,
    split: Split | None = None,
) -> "RunCopy":
    """Everything that the page of a run shows."""
    from sonde.runs.analytics.copying import Describers, run_copy

    described = Describers(
        __version__,
        lambda layer, each: cards_of(layout, layer, each),
        split,
        known_changes(layout),
    )
    return run_copy(known, cursor, run_row(layout, name), described)


def assets_of(build: Path) -> Assets:
    """What the interface's build has for such files."""
    try:
        script, style = ((build / part).read_text(encoding="utf-8") for part in (SCRIPT, STYLE))
    except FileNotFoundError as error:
        raise MissingInterface from error
    return Assets(script, style)


async def _all_read(analytics: Analytics, layout: RunLayout) -> None:
    """Wait until everything that is in the files has been read, but not for ever."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        answer = await analytics.ask(layout, lambda known, _cursor: known.coverage)
        if json.loads(answer)["complete"]:
            return
        await asyncio.sleep(0.1)
