"""What the user interface shares with the rest, written where its build finds it.

    python -m tests.server.interface

The routes and words on the wire (`ui/openapi.json`, from which its types are generated), the colour
maps, and examples of how numbers and tokens are written, which its own tests must reproduce. The
page about HTTP comes from the same document.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from sonde.prompts.pairs import PAIRS
from sonde.results import numbers
from sonde.results.colors import Rgb, Theme, css, diverging, sequential
from sonde.results.tokens import token_label, visible
from sonde.results.wording import HOOK_MEANING
from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.server.app import create_app
from sonde.server.parts import Parts
from sonde.server.serving import assemble
from tests.scripted import Scripted
from tests.server.http_reference import reference

UI = Path(__file__).parents[2] / "ui"

THEMES: tuple[Theme, Theme] = ("light", "dark")
STEPS = 256
VALUES = [0.0, 0.66, -5.2123, 1350, 1.2e-7, -3e9, 0.00012, 99.95, -0.0004, 1e6, 12345.678, 1]
SECONDS = [0.0071, 0.712, 12.34, 59.96, 125, 3725, 0, 86400]
SIZES = [0, 512, 1024, 12_900_000, 5e9, 3e13]
TOKENS = ["", " Paris", "a b", "\n", "\x1b[31m", "\u202e", "é", "\u0301x", "\t ", "☃️"]


def openapi() -> str:
    """The document of a server that has a model and shows runs."""
    with TemporaryDirectory() as folder:
        parts = assemble(Scripted(), Path(folder) / "data", runs=Hub(RunLayout(Path(folder))))
        try:
            document = create_app(parts).openapi()
        finally:
            _stop(parts)
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def _stop(parts: Parts) -> None:
    parts.engine.stop(0)
    parts.sweeps.close()


def look() -> str:
    """The colour maps as lookup tables, from the least place to the greatest, and shared words."""
    maps = {theme: {"diverging": "", "sequential": ""} for theme in THEMES}
    for theme in THEMES:
        for step in range(STEPS + 1):
            maps[theme]["diverging"] += _hex(diverging(2 * step / STEPS - 1, theme))
            maps[theme]["sequential"] += _hex(sequential(step / STEPS, theme))
    pairs = [
        {"name": p.name, "clean": p.clean, "corrupt": p.corrupt, "answer": p.answer,
         "foil": p.foil, "shows": p.shows} for p in PAIRS.values()
    ]  # fmt: skip
    lines = [
        "// Written by `make ui-types` from src/sonde/results and src/sonde/prompts: do not edit.",
        f"export const COLOR_TABLES = {json.dumps(maps, indent=2)} as const;",
        f"export const HOOK_MEANING = {json.dumps(HOOK_MEANING, indent=2)} as const;",
        f"export const PAIRS = {json.dumps(pairs, indent=2)} as const;",
    ]
    return "\n".join(lines) + "\n"


def examples() -> str:
    """Numbers and tokens as Sonde writes them."""
    made = {
        "number": [[value, numbers.number(value)] for value in VALUES],
        "fixed": [[value, numbers.fixed(value, 2)] for value in VALUES],
        "signed": [[value, numbers.signed(value, 3)] for value in VALUES],
        "decimals": [[value, numbers.decimals_for(value)] for value in VALUES],
        "duration": [[seconds, numbers.duration(seconds)] for seconds in SECONDS],
        "size": [[size, numbers.size(size)] for size in SIZES],
        "token_label": [[token, token_label(token)] for token in TOKENS],
        "visible": [[token, visible(token)] for token in TOKENS],
    }
    return json.dumps(made, indent=1) + "\n"


def _hex(color: Rgb) -> str:
    return css(color).removeprefix("#")


def files() -> Mapping[Path, str]:
    """What belongs where."""
    document = openapi()
    return {
        UI / "openapi.json": document,
        UI.parent / "docs" / "http.md": reference(json.loads(document)),
        UI / "src" / "widgets" / "look.generated.ts": look(),
        UI / "src" / "widgets" / "examples.generated.json": examples(),
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
