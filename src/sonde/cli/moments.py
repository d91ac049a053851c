"""Which tokens of a run are asked about: of the best generations that passed, the least decided."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from sonde.cli.finding import analysed, read_all
from sonde.cli.progress import Progress
from sonde.errors import BadRequest

if TYPE_CHECKING:
    from sonde.model import Model
    from sonde.runs.layout import RunLayout
    from sonde.runs.moment import Moment
    from sonde.schema.analytics import GenerationPage

LOOKED_AT = 64
"""Passed generations among which those with the most reward are tried."""
TRIED = 8


def choose(
    layout: RunLayout,
    model: Model,
    *,
    generation: str | None,
    layer: int | None,
    token: int | None,
    shown: Progress,
    several: int = 1,
) -> list[Moment]:
    """The moments that are meant; else, of the best passed generations, the least decided ones.

    Of `several`, each is of another generation and of another prompt, so that they tell apart.
    """
    from sonde.runs.analytics.generation import generation_page, generation_view
    from sonde.runs.moment import moments_of

    def tokenize(text: str, special: bool) -> list[int]:
        return model.backend.tokenize(text, special=special)

    best: dict[str, Moment] = {}
    failure: BadRequest | None = None
    with analysed(layout) as (analysis, connection):
        known = read_all(analysis, shown)
        if not known.layers:
            raise BadRequest(
                f"no features were recorded in {os.fspath(layout.directory)}; train with "
                "dictionaries (--sae-attach auto), or ask about a prompt with --prompt"
            )
        at = layer if layer is not None else known.layers[-1]
        page = generation_page(known, passed=True, limit=LOOKED_AT, text=several > 1)
        names = [generation] if generation is not None else _best_first(page, apart=several > 1)
        for name in names[: max(TRIED, several)]:
            try:
                view = generation_view(known, connection, name)
                found = moments_of(view, tokenize, layer=at, token=token)
            except BadRequest as error:
                failure = failure or error
                continue
            best[name] = max(found, key=lambda moment: undecided(model, moment))
    if not best:
        raise failure or BadRequest("no generation of this run passed; name one with --generation")
    return sorted(best.values(), key=lambda moment: -undecided(model, moment))[:several]


def undecided(model: Model, moment: Moment) -> float:
    """How near to a coin's toss what was said next was: p (1 - p)."""
    from sonde.backends.base import logprobs_of

    [[logprob]] = model.backend.baselines([(moment.tokens, logprobs_of([moment.answer]))], [])
    p = math.exp(logprob)
    return p * (1 - p)


def _best_first(page: GenerationPage, *, apart: bool) -> list[str]:
    """By reward, of equal ones the newest first; of each prompt one, where they are to be apart."""
    best = sorted(page.generations, key=lambda row: -(row.R or 0.0))  # stable: newest first
    if not apart:
        return [row.generation_id for row in best]
    one_each = {row.prompt or row.generation_id: row for row in reversed(best)}
    return [row.generation_id for row in best if row in one_each.values()]
