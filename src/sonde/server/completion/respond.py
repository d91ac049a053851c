"""Run a completion and answer with it, whole or as a stream.

The one place where a client's leaving stops the work, in both ways of answering.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress

from starlette.requests import Request
from starlette.responses import Response

from sonde.errors import SondeError
from sonde.schema import Wire
from sonde.server.completion.admit import AdmittedRequest
from sonde.server.completion.running import Running, start
from sonde.server.completion.shape import Shape, Tally, gathered
from sonde.server.completion.work import CompletionItem
from sonde.server.errors import openai_event
from sonde.server.leaving import unless_gone
from sonde.server.parts import Parts
from sonde.server.pool import ServedModel
from sonde.server.sse import DONE, event_stream, frame


async def respond(
    parts: Parts, request: Request, asked: AdmittedRequest, shape: Shape, served: ServedModel
) -> Response:
    """The answer. It stops being made when the client leaves.

    A stream waits a little for its first token before it begins, so that what goes wrong at once
    has a status.
    """
    running = start(parts, asked, served)
    beat = parts.network.heartbeat_seconds
    tally = Tally(asked)
    try:
        if not asked.stream:
            made = await unless_gone(request, running.whole())
            if asked.scoring.most is None:
                return _whole(shape, tally, made)
            return await asyncio.to_thread(_whole, shape, tally, made)  # it may be megabytes
        with suppress(TimeoutError):
            async with asyncio.timeout(beat):
                await unless_gone(request, running.began())
    except BaseException:
        running.cancel()
        raise
    frames = _frames(running, tally, shape)
    return event_stream(frames, heartbeat_seconds=beat, on_disconnect=running.cancel)


async def _frames(running: Running, tally: Tally, shape: Shape) -> AsyncGenerator[bytes]:
    """Chunks as frames. What goes wrong is a last frame, and then there is no `[DONE]`."""
    try:
        async with aclosing(running.batches()) as batches:
            async for batch in batches:
                for piece in tally.pieces(batch):
                    for chunk in shape.chunks(tally, piece):
                        yield frame(_chunk(chunk, tally))
    except SondeError as error:
        yield frame(json.dumps(openai_event(error)).encode())
        return
    if tally.asked.include_usage:
        yield frame(shape.usage(tally).model_dump_json().encode())
    yield DONE


def _chunk(chunk: Wire, tally: Tally) -> bytes:
    """A chunk as JSON. Where the count of tokens was asked for, all but the last say null."""
    text = chunk.model_dump_json()
    if tally.asked.include_usage:
        text = f'{text[:-1]},"usage":null}}'
    return text.encode()


def _whole(shape: Shape, tally: Tally, made: Sequence[CompletionItem]) -> Response:
    answer = shape.whole(tally, gathered(tally, made))
    return Response(answer.model_dump_json(), media_type="application/json")
