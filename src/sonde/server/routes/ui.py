"""The user interface at `/`: the files that `make ui` builds, held in memory.

The build is read once, when the app is made, so a path is a key of a table and never a place on the
disk. Pages are one document (`index.html`) under every address that the interface can restore;
everything else it needs has a hash in its name and may be kept for good. Scripts and styles come
from this server only: the policy allows no inline ones. Without a build, the page says how to make
one; a missing file below `/assets/` is a 404 as anywhere else.
"""

import gzip
import hashlib
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request, Response

from sonde.server.parts import Gateway, Parts

BUILT = Path(__file__).parents[1] / "ui"
"""Where the build is, in a checkout and in a wheel."""

PAGES = ("/", "/live", "/causal", "/runs", "/feature")
"""Beginnings of the addresses that the interface itself understands."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
SECURITY = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""Sent with everything here."""

FOR_GOOD = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"
SMALLEST_WORTH_PACKING = 1024

NOT_BUILT = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Sonde</title>
<meta name="viewport" content="width=device-width">
<h1>The interface has not been built</h1>
<p>In the checkout, with Node 20.19 or newer: <code>make ui</code>, then start the server again.
Packages that are installed from a wheel have it built in.</p>
<p>Everything else works: <a href="/docs">the routes of this server</a>.</p></html>
"""


@dataclass(frozen=True)
class File:
    """One file of the build."""

    body: bytes
    media_type: str
    cache: str

    @cached_property
    def tag(self) -> str:
        """Changes when the file does."""
        return f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'

    @cached_property
    def packed(self) -> bytes | None:
        """As gzip, where that is worth it."""
        if len(self.body) < SMALLEST_WORTH_PACKING or self.media_type.startswith("image/png"):
            return None
        return gzip.compress(self.body, mtime=0)


def routes(parts: Parts | Gateway, directory: Path = BUILT) -> APIRouter:
    """The pages, and the files they ask for."""
    del parts  # the same for every server
    files = read_build(directory)
    index = files.get("index.html", File(NOT_BUILT, "text/html; charset=utf-8", ASK_AGAIN))
    router = APIRouter(include_in_schema=False)

    async def page(request: Request) -> Response:
        return answer(index, request.headers)

    async def asset(path: str, request: Request) -> Response:
        file = files.get(f"assets/{path}")
        if file is None:
            raise HTTPException(404, "there is no such file in this build of the interface")
        return answer(file, request.headers)

    for start in PAGES:
        router.add_api_route(start, page, methods=["GET", "HEAD"])
        if start != "/":
            router.add_api_route(f"{start}/{{rest:path}}", page, methods=["GET", "HEAD"])
    router.add_api_route("/assets/{path:path}", asset, methods=["GET", "HEAD"])
    return router


def lost(headers: Mapping[str, str], directory: Path = BUILT) -> Response | None:
    """The interface for somebody whose browser asks for what is not there; None for programs."""
    if "text/html" not in headers.get("accept", "") or not (directory / "index.html").is_file():
        return None
    found = answer(_read(directory / "index.html", directory), {})
    found.status_code = 404
    return found


def read_build(directory: Path) -> dict[str, File]:
    """Every file of a build by its path, `assets/index-1a2b.js`; none where there is no build."""
    found = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): _read(path, directory) for path in found}


def _read(path: Path, directory: Path) -> File:
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    if path.suffix == ".js":
        kind = "text/javascript"  # what it is called on a machine is up to that machine
    if kind.startswith("text/"):
        kind += "; charset=utf-8"
    named = path.relative_to(directory).parts[0] == "assets"
    return File(path.read_bytes(), kind, FOR_GOOD if named else ASK_AGAIN)


def answer(file: File, headers: Mapping[str, str]) -> Response:
    """The file, packed where the client can unpack it, or 304 when it has it already."""
    sent = {**SECURITY, "Cache-Control": file.cache, "ETag": file.tag, "Vary": "Accept-Encoding"}
    if headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=sent)
    if "gzip" in headers.get("accept-encoding", "") and file.packed is not None:
        sent["Content-Encoding"] = "gzip"
        return Response(file.packed, headers=sent, media_type=file.media_type)
    return Response(file.body, headers=sent, media_type=file.media_type)
