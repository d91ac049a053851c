"""What the stream is compared with: the reference's way of following a file, and a plain download.

The reference opens the live file anew for every subscriber, reads it from the beginning inside the
event loop, one network write a line, then looks for more every half second. `/file` is the same
file as a static download, which no stream can beat.

    python -m benchmarks.stream_reference DIRECTORY PORT
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from starlette.responses import FileResponse, StreamingResponse

POLL_SECONDS = 0.5


def app(path: Path) -> FastAPI:
    """Both ways to get the file."""
    made = FastAPI()

    @made.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @made.get("/file")
    async def download() -> FileResponse:
        return FileResponse(path)

    @made.get("/api/p5/sae/stream")
    async def stream() -> StreamingResponse:
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        return StreamingResponse(polled(path), media_type="text/event-stream", headers=headers)

    return made


async def polled(path: Path) -> AsyncIterator[str]:
    """Lines from byte 0, then whatever was appended since the last look."""
    offset = 0
    while True:
        if path.exists():
            with path.open("rb") as file:
                file.seek(offset)
                for line in file:
                    offset += len(line)
                    yield f"data: {line.decode().strip()}\n\n"
        await asyncio.sleep(POLL_SECONDS)


if __name__ == "__main__":
    directory, port = Path(sys.argv[1]), int(sys.argv[2])
    live = directory / "sae_features.live.jsonl"
    uvicorn.run(app(live), port=port, log_level="error", access_log=False)
