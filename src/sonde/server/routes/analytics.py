"""Questions about a run as a whole: tiles, correlations, the vocabulary, generations, curves.

A route checks what was asked, and hands a question to the threads of `Analytics`. Answers are made
into JSON there too: a tile of a few hundred kilobytes would hold up every stream otherwise. What
answers is imported there, when it is first needed: a gateway that only streams has no use for it.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from sonde.errors import BadRequest
from sonde.runs.analytics.service import Analytics, Question
from sonde.runs.hub import Hub
from sonde.runs.probes import known_changes
from sonde.schema.analytics import (
    Curves,
    GenerationPage,
    GenerationView,
    Measure,
    Overview,
    Ranking,
    Scatter,
    Tile,
    TokenStretch,
    Unit,
    Vocabulary,
)
from sonde.schema.base import Wire
from sonde.schema.changed import ChangedAnswer
from sonde.server.routes.runs import Run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from sonde.runs.analytics.analysis import RunContents
    from sonde.runs.analytics.axis import Axis

LARGEST = 2**53
"""Whole numbers that every client can say."""

_FEATURES = re.compile(r"[0-9]{1,9}(,[0-9]{1,9}){0,999}")

Layer = Annotated[int | None, Query(ge=0, le=LARGEST, description="Without it, the first.")]
First = Annotated[int | None, Query(alias="from", ge=0, le=LARGEST, description="First step.")]
Last = Annotated[int | None, Query(alias="to", ge=0, le=LARGEST, description="Last step.")]
Columns = Annotated[int, Query(ge=1, le=512, description="At most so many columns.")]
TimeUnit = Annotated[
    Unit | None, Query(description="Without it, steps; tokens where there is one step only.")
]
TimeStart = Annotated[
    int | None, Query(alias="from", ge=0, le=LARGEST, description="First step, or token.")
]
TimeEnd = Annotated[
    int | None, Query(alias="to", ge=1, le=LARGEST, description="The one after the last.")
]
Step = Annotated[int | None, Query(ge=0, le=LARGEST, description="Whose tokens to count.")]
Level = Annotated[
    int | None,
    Query(ge=0, le=52, description="Columns of 2 to the power of this; without it, what fits."),
]


@dataclass(frozen=True)
class Stretch:
    """Which time a tile is of, and how finely it is cut."""

    unit: TimeUnit = None
    step: Step = None
    start: TimeStart = None
    end: TimeEnd = None
    columns: Columns = 256
    level: Level = None

    def of(self, known: "RunContents") -> "Axis | None":
        """The columns, for what is known of a run; None where that is nothing."""
        from sonde.runs.analytics.heatmap import time_axis

        return time_axis(known, **asdict(self))


@dataclass(frozen=True)
class Steps:
    """Which steps a curve is of, and in how many columns."""

    first_step: First = None
    last_step: Last = None
    columns: Columns = 256


def routes(hub: Hub, analytics: Analytics) -> APIRouter:
    """The routes. They close `analytics` when the app ends."""

    @asynccontextmanager
    async def closing(_app: object) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(analytics.close)

    router = APIRouter(prefix="/api/p5/analytics", tags=["analytics"], lifespan=closing)

    async def answer(run: str | None, question: Question) -> Response:
        layout = await analytics.call(hub.layout_of, run)
        body = await analytics.ask(layout, question)
        return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})

    @router.get("/overview", operation_id="run_overview", response_model=Overview)
    async def overview(run: Run = None) -> Response:
        """A run in a few numbers, and what is missing."""

        def question(known: "RunContents", cursor: "DuckDBPyConnection") -> Wire:
            from sonde.runs.analytics.overview import overview as overview_of

            return overview_of(known, cursor, run or hub.name_of(hub.layout_of(None)))

        return await answer(run, question)

    @router.get("/layers", operation_id="layer_tile", response_model=Tile)
    async def layers(
        time: Annotated[Stretch, Depends()], run: Run = None, measure: Measure = "loss"
    ) -> Response:
        """Layers over time."""

        def question(known: "RunContents", cursor: "DuckDBPyConnection") -> Wire:
            from sonde.runs.analytics.heatmap import layer_tile

            return layer_tile(known, cursor, time.of(known), measure)

        return await answer(run, question)

    @router.get("/features", operation_id="feature_tile", response_model=Tile)
    async def features(
        time: Annotated[Stretch, Depends()],
        run: Run = None,
        layer: Layer = None,
        named: Annotated[
            str | None, Query(alias="features", description="These, in this order: `7,1042`.")
        ] = None,
        by: Ranking = "sum",
        top: Annotated[int, Query(ge=1, le=256)] = 64,
        skip: Annotated[int, Query(ge=0, le=LARGEST)] = 0,
    ) -> Response:
        """Features of a layer over time: those named, or the highest ranked of the stretch."""
        wanted = None if named is None else numbers(named)

        def question(known: "RunContents", cursor: "DuckDBPyConnection") -> Wire:
            from sonde.runs.analytics.heatmap import feature_tile

            at, which = time.of(known), layer if layer is not None else min(known.layers, default=0)
            return feature_tile(
                known, cursor, at, which, features=wanted, by=by, top=top, skip=skip
            )

        return await answer(run, question)

    @router.get("/scatter", operation_id="loss_and_reward", response_model=Scatter)
    async def scatter(
        run: Run = None,
        layer: Layer = None,
        first: First = None,
        last: Last = None,
        points: Annotated[int, Query(ge=0, le=20_000, description="The newest so many.")] = 2000,
    ) -> Response:
        """Reconstruction loss against reward, a point a generation, with correlations."""

        def question(known: "RunContents", cursor: "DuckDBPyConnection") -> Wire:
            from sonde.runs.analytics.scatter import scatter as scatter_of

            return scatter_of(known, cursor, layer, first_step=first, last_step=last, points=points)

        return await answer(run, question)

    @router.get("/vocabulary", operation_id="vocabulary", response_model=Vocabulary)
    async def vocabulary(
        run: Run = None,
        layer: Annotated[
            int | None, Query(ge=0, le=LARGEST, description="Without it, all layers.")
        ] = None,
        n: Annotated[
            int | None,
            Query(ge=1, le=100_000, description="Passed generations; without it, all of the run."),
        ] = None,
        m: Annotated[
            int | None,
            Query(
                ge=1,
                le=100_000,
                description="Of them, at least; else three quarters, or a tenth of a whole run.",
            ),
        ] = None,
        min_tokens: Annotated[int, Query(ge=1, le=10_000)] = 1,
        rate: Annotated[float, Query(gt=0, lt=1, description="Of false discoveries.")] = 0.05,
        limit: Annotated[int, Query(ge=1, le=2000)] = 200,
    ) -> Response:
        """Features that passed generations keep using, and whether failed ones lack them."""

        def question(known: "RunContents", cursor: "DuckDBPyConnection") -> Wire:
            from sonde.runs.analytics.vocabulary import vocabulary as vocabulary_of

            return vocabulary_of(
                known,
                cursor,
                layer,
                n=n,
                m=m,
                min_tokens=min_tokens,
                rate=rate,
                limit=limit,
            )

        return await answer(run, question)

    @router.get("/generations", operation_id="list_generations", response_model=GenerationPage)
    async def generations(
        run: Run = None,
        first: First = None,
        last: Last = None,
        passed: Annotated[
            bool | None, Query(description="Only those that did, or did not.")
        ] = None,
        text: Annotated[bool, Query(description="0 leaves prompts and completions out.")] = True,
        before: Annotated[int | None, Query(ge=0, le=LARGEST, description="`next`.")] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> Response:
        """Generations, newest first."""

        def question(known: "RunContents", _cursor: "DuckDBPyConnection") -> Wire:
            from sonde.runs.analytics.generation import generation_page

            return generation_page(
                known,
                limit=limit,
                before=before,
                first_step=first,
                last_step=last,
                passed=passed,
                text=text,
            )

        return await answer(run, question)

    @router.get("/generation", operation_id="one_generation", response_model=GenerationView)
    async def generation(
        name: Annotated[str, Query(alias="id", max_length=200)],
        run: Run = None,
        limit: Annotated[int, Query(ge=1, le=4096, description="Tokens.")] = 1024,
    ) -> Response:
        """One generation, token by token with its features."""

        def question(known: "RunContents", cursor: "DuckDBPyConnection") -> Wire:
            from sonde.runs.analytics.generation import generation_view

            return generation_view(known, cursor, name, limit=limit)

        return await answer(run, question)

    @router.get("/tokens", operation_id="token_stretch", response_model=TokenStretch)
    async def tokens(
        start: Annotated[int, Query(alias="from", ge=0, le=LARGEST)],
        end: Annotated[int, Query(alias="to", ge=1, le=LARGEST)],
        run: Run = None,
        step: Annotated[int, Query(ge=0, le=LARGEST)] = 0,
        limit: Annotated[int, Query(ge=1, le=4096, description="Tokens.")] = 1024,
    ) -> Response:
        """Recorded tokens of a step with their features, of any run."""

        def question(known: "RunContents", cursor: "DuckDBPyConnection") -> Wire:
            from sonde.runs.analytics.generation import token_stretch

            return token_stretch(known, cursor, step, start, end, limit)

        return await answer(run, question)

    @router.get("/rewards", operation_id="reward_curves", response_model=Curves)
    async def rewards(steps: Annotated[Steps, Depends()], run: Run = None) -> Response:
        """The reward curve."""

        def question(known: "RunContents", _cursor: "DuckDBPyConnection") -> Wire:
            from sonde.runs.analytics.curves import reward_curves

            return reward_curves(known, **asdict(steps))

        return await answer(run, question)

    @router.get("/health", operation_id="health_curves", response_model=Curves)
    async def health(steps: Annotated[Steps, Depends()], run: Run = None) -> Response:
        """How well dictionaries fit over time, what recording costs, and warnings."""

        def question(known: "RunContents", _cursor: "DuckDBPyConnection") -> Wire:
            from sonde.runs.analytics.curves import health_curves

            return health_curves(known, **asdict(steps))

        return await answer(run, question)

    @router.get("/telemetry", operation_id="telemetry_curves", response_model=Curves)
    async def telemetry(steps: Annotated[Steps, Depends()], run: Run = None) -> Response:
        """KL, policy loss, entropy, gradient norm, lengths, truncation and speed."""

        def question(known: "RunContents", _cursor: "DuckDBPyConnection") -> Wire:
            from sonde.runs.analytics.curves import telemetry_curves

            return telemetry_curves(known, **asdict(steps))

        return await answer(run, question)

    @router.get("/changed", operation_id="run_changed", response_model=ChangedAnswer)
    async def changed(run: Run = None, first: First = None, last: Last = None) -> ChangedAnswer:
        """What the policy does that it did not, where `sonde runs changed` has compared it."""
        layout = await analytics.call(hub.layout_of, run)
        return await analytics.call(known_changes, layout, first, last)

    return router


def numbers(text: str) -> list[int]:
    """Features that were named."""
    if not _FEATURES.fullmatch(text):
        raise BadRequest(
            f"features {text[:80]!r} are not numbers with commas between, such as 7,42"
        )
    return [int(each) for each in text.split(",")]
