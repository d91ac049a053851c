"""A run as one HTML page: the interface's own page, with a copy of the run in it.

The page asks nothing of any network and says so to the browser: its content security policy allows
its own script, by hash, and nothing else. The script and its style are those that `make ui` builds
for copies; they are passed in, because only the server knows where the build is.
"""

import base64
import hashlib
from dataclasses import dataclass
from html import escape

SCRIPT = "copy/copy.js"
STYLE = "copy/copy.css"
"""Where the parts are in a build of the interface."""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="root"></div>
<noscript>This page draws a run of Sonde, and needs JavaScript for it. Its numbers are in its
source, as JSON.</noscript>
<script type="application/json" id="run-copy">{copy}</script>
<script>{script}</script>
</body>
</html>
"""


@dataclass(frozen=True)
class Assets:
    """What a build of the interface has for copies."""

    script: str
    style: str


def run_page(name: str, copy: str, assets: Assets) -> str:
    """The page of a run; `copy` is a `RunCopy` as JSON."""
    script = _inside(assets.script)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return _PAGE.format(
        policy=escape(policy, quote=True).replace("&#x27;", "'"),
        title=f"{escape(name)}: a run, by Sonde",
        style=assets.style.replace("</style", "<\\/style"),
        copy=copy.replace("<", "\\u003c"),
        script=script,
    )


def _inside(script: str) -> str:
    """A script that nothing in it can end early, or hide."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
