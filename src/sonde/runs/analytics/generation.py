"""Generations in a list, and one of them token by token with its features.

Texts come from the file itself, at the place that was remembered; if the file was rewritten since,
the text is null and not somebody else's.
"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from sonde.errors import BadRequest, UnknownGeneration
from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.generations import Generations, gate_of, present
from sonde.runs.analytics.scatter import NO_GENERATIONS
from sonde.runs.files import open_lines
from sonde.schema.analytics import (
    GenerationPage,
    GenerationRow,
    GenerationView,
    LayerFeatures,
    Sibling,
    TokenFeatures,
    TokenStretch,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class _Text(msgspec.Struct):
    generation_id: str
    prompt: str | None = None
    completion: str | None = None


_decode = msgspec.json.Decoder(_Text).decode


def generation_page(
    known: RunContents,
    *,
    limit: int = 50,
    before: int | None = None,
    first_step: int | None = None,
    last_step: int | None = None,
    passed: bool | None = None,
    text: bool = True,
) -> GenerationPage:
    """Generations, newest first; `before` goes on from an earlier page."""
    rows = known.generations.rows
    chosen = known.generations.within(first_step, last_step)
    if passed is not None:
        chosen &= rows["gate"] == passed
    places = np.flatnonzero(chosen)
    older = places if before is None else places[places < before]
    shown = older[::-1][:limit]
    return GenerationPage(
        coverage=known.coverage,
        generations=list(generation_rows(known.generations, shown, text=text)),
        total=len(places),
        next=int(shown[-1]) if len(shown) and len(older) > len(shown) else None,
        reason=None if known.generations.there else NO_GENERATIONS,
    )


def generation_view(
    known: RunContents, cursor: "DuckDBPyConnection", name: str, *, limit: int = 1024
) -> GenerationView:
    """One generation, its recorded tokens, and the others of its group."""
    generations = known.generations
    if not generations.there:
        raise UnknownGeneration(name, NO_GENERATIONS)
    if name not in generations.ids:
        raise UnknownGeneration(name, "generations are called <step>-<number>; see the list")
    place = generations.ids.index(name)
    row = generations.rows[place]
    group = np.flatnonzero((generations.rows["group"] == row["group"]) & generations.once)
    start, end = int(row["token_start"]), int(row["token_end"])
    tokens, more = _tokens(known, cursor, int(row["step"]), start, end, limit)
    if tokens and tokens[-1].token_index == row["prompt_token"]:
        tokens = [tokens[-1].model_copy(update={"position": -1}), *tokens[:-1]]
    return GenerationView(
        coverage=known.coverage,
        generation=next(generation_rows(generations, np.array([place]))),
        siblings=[_sibling(generations, int(other)) for other in group if other != place],
        tokens=tokens,
        more=more,
        reason=None if tokens else "none of its tokens were recorded",
    )


def token_stretch(
    known: RunContents,
    cursor: "DuckDBPyConnection",
    step: int,
    start: int,
    end: int,
    limit: int = 1024,
) -> TokenStretch:
    """Recorded tokens of a step, whether or not it is known whose they are."""
    if end <= start:
        raise BadRequest(f"from {start} to {end} is no stretch of tokens; `to` has to be greater")
    tokens, more = _tokens(known, cursor, step, start, end, limit)
    return TokenStretch(
        coverage=known.coverage, step=step, start=start, end=end, tokens=tokens, more=more
    )


def generation_rows(
    generations: Generations, places: NDArray[np.int64], *, text: bool = True
) -> Iterator[GenerationRow]:
    """Generations by their place in the run, with their texts."""
    file = open_lines(generations.path) if text and len(places) else None
    try:
        for place in places:
            row, name = generations.rows[place], generations.ids[place]
            found = _text(file.descriptor, row, name) if file is not None else None
            yield GenerationRow(
                generation_id=name,
                group_id=generations.groups[row["group"]],
                step=int(row["step"]),
                gate=gate_of(row["gate"]),
                truncated=bool(row["truncated"]),
                prompt_tokens=int(row["prompt_tokens"]),
                completion_tokens=int(row["completion_tokens"]),
                token_start=int(row["token_start"]),
                token_end=int(row["token_end"]),
                prompt=found.prompt if found else None,
                completion=found.completion if found else None,
                **{name: present(row[name]) for name in ("R", "R_A", "R_B", "R_C", "R_D")},
                advantage=present(row["advantage"]),
            )
    finally:
        if file is not None:
            file.close()


def _text(descriptor: int, row: Any, name: str) -> _Text | None:
    line = os.pread(descriptor, int(row["length"]), int(row["line"]))
    try:
        found = _decode(line)
    except msgspec.MsgspecError:
        return None
    return found if found.generation_id == name else None


def _sibling(generations: Generations, place: int) -> Sibling:
    row = generations.rows[place]
    return Sibling(
        generation_id=generations.ids[place], R=present(row["R"]), gate=gate_of(row["gate"])
    )


def _tokens(
    known: RunContents, cursor: "DuckDBPyConnection", step: int, start: int, end: int, limit: int
) -> tuple[list[TokenFeatures], bool]:
    """Tokens with what each layer saw in them. -> them, and whether there are more"""
    parts = [part for part in known.parts if part.first_step <= step <= part.last_step]
    if not parts:
        return [], False
    each = (
        f"SELECT * FROM (SELECT * {part.records_from}) WHERE step = {step:d} "
        f"AND token_index >= {start:d} AND token_index < {end:d}"
        for part in parts
    )
    rows = cursor.execute(
        f"""
        SELECT token_index, layer, features, activations, loss FROM (
            SELECT *, dense_rank() OVER (ORDER BY token_index) AS place
            FROM ({" UNION ALL ".join(each)})
        )
        WHERE place <= {limit + 1:d} ORDER BY token_index, layer
        """
    ).fetchall()
    found: dict[int, list[LayerFeatures]] = {}
    for token, layer, features, activations, loss in rows:
        seen = LayerFeatures(layer=layer, features=features, activations=activations, loss=loss)
        found.setdefault(token, []).append(seen)
    tokens = [
        TokenFeatures(token_index=token, position=token - start, layers=layers)
        for token, layers in found.items()
    ]
    return tokens[:limit], len(tokens) > limit
