"""A sweep cell by cell: one ordinary completion a cell, each with one patch.

Far slower than a sweep on the server, and the same numbers. All it needs of a server is
`/v1/completions`, `/tokenize` and `/detokenize`.

1. **Resolve** spans, answer and foil to tokens, by the server's tokenizer.
2. **Align** each position with its clean position; what has none is left out, and noted.
3. **Baseline**: the corrupt prompt, unpatched, the zero of the scale.
4. **Patch** every site, so many at once, with the baseline once more among them.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sonde.client.completions import complete, graded, one_token_body
from sonde.client.grading import Scale, logprobs_of, raw
from sonde.client.http import Connection, Refused, read, segment
from sonde.client.result import CleanRun, SweepResult, notes_of
from sonde.client.together import together
from sonde.client.tokens import Tokenizer
from sonde.prompts import align as align_tokens
from sonde.schema import Metric, Positions, SourceRun

Logprobs = list[float | None]
Grade = Callable[[Mapping[str, Any]], Awaitable[Logprobs]]
"""Log-probabilities of answer and foil after the prompt, with these fields added to the request."""


@dataclass(frozen=True)
class CellSweep:
    """What is swept, and how it is graded."""

    model: str
    prompt: str
    run: str
    hook: str
    layers: Sequence[int]
    positions: Positions
    metric: Metric
    answer: str
    foil: str | None = None
    alpha: float = 1.0
    clean: CleanRun | None = None
    clean_prompt: str | None = None


@dataclass(frozen=True)
class Columns:
    """The positions that can be patched, each with its clean position, and what to note."""

    sources: dict[int, int]
    positions: list[int]
    notes: dict[str, Any]


async def sweep_cells(asked: CellSweep, connection: Connection, *, at_once: int) -> SweepResult:
    """Run a sweep to its end; the first cell that fails ends it."""
    tokenizer = Tokenizer(connection, asked.model)
    tokens = await graded(tokenizer, asked.answer, asked.foil)
    positions = await tokenizer.positions(asked.prompt, asked.positions)
    columns = await align(asked, positions, connection, tokenizer)
    if not columns.positions or not asked.layers:
        raise ValueError("empty sweep grid: name at least one layer and one position")

    async def grade(extra: Mapping[str, Any]) -> Logprobs:
        body = {**one_token_body(asked.model, asked.prompt, tokens), **extra}
        return logprobs_of(await complete(connection, body), tokens)

    corrupt = await grade({})
    again, cells = await patch(asked, columns, grade, at_once)
    clean = asked.clean
    scale = Scale(asked.metric, corrupt[0], None if clean is None else clean.clean_logprob)
    values = [[scale.value(cell) for cell in row] for row in cells]
    once, twice = raw(asked.metric, corrupt), raw(asked.metric, again)
    return SweepResult(
        layers=list(asked.layers),
        positions=columns.positions,
        hook=asked.hook,
        metric_name=asked.metric,
        grid=values,
        clean=None if clean is None else clean.baseline(asked.metric),
        corrupt=once,
        notes=notes_of({**columns.notes, "warnings": scale.warnings() + _nulls(cells)}),
        noise_floor=scale.noise_floor(once, twice),
    )


async def align(
    asked: CellSweep, positions: Sequence[int], connection: Connection, tokenizer: Tokenizer
) -> Columns:
    """The clean position of each position.

    Without the clean prompt's text it is the position itself, as long as nothing says that the two
    prompts differ in length: then it would be some other word's.
    """
    corrupt = await tokenizer.tokens(asked.prompt)
    text = asked.clean_prompt or (asked.clean and asked.clean.prompt)
    if not text:
        n_clean = await _length(asked, connection)
        if n_clean not in (None, len(corrupt)):
            raise ValueError(
                f"run {asked.run!r} was captured from a {n_clean}-token prompt but this prompt has "
                f"{len(corrupt)}; pass clean with its prompt, so that the two can be aligned"
            )
        return Columns({p: p for p in positions}, list(positions), {})
    pairs = align_tokens(await tokenizer.tokens(text), corrupt)
    left_out = [p for p in positions if p in pairs.reasons]
    if positions and len(left_out) == len(positions):
        raise ValueError(f"no alignable positions: {pairs.reasons[left_out[0]]}")
    notes = {
        "skipped": [{"position": p, "reason": pairs.reasons[p]} for p in left_out],
        "alignment": pairs.alignment.model_dump(),
    }
    sources = {p: pairs.sources[p][0] for p in positions if p not in pairs.reasons}
    return Columns(sources, [p for p in positions if p in sources], notes)


async def _length(asked: CellSweep, connection: Connection) -> int | None:
    """Tokens of the prompt that the run was captured from; None when nobody says."""
    if asked.clean is not None and asked.clean.run_id == asked.run:
        return asked.clean.num_prompt_tokens
    try:
        response = await connection.ask("GET", f"/patch_source/{segment(asked.run)}")
    except Refused as error:
        if error.status in (404, 405):  # no such run, as the first patch will say; or no such route
            return None
        raise
    return read(SourceRun, response).n_tokens


async def patch(
    asked: CellSweep, columns: Columns, grade: Grade, at_once: int
) -> tuple[Logprobs, list[list[Logprobs]]]:
    """-> the baseline, run again in the middle of it all, and [layers][positions] of the cells."""
    jobs = [
        partial(grade, {"patch": [_entry(asked, layer, position, columns.sources[position])]})
        for layer in asked.layers
        for position in columns.positions
    ]
    middle = len(jobs) // 2
    found = await together([*jobs[:middle], partial(grade, {}), *jobs[middle:]], at_once)
    again = found.pop(middle)
    width = len(columns.positions)
    return again, [found[start : start + width] for start in range(0, len(found), width)]


def _entry(asked: CellSweep, layer: int, position: int, source: int) -> dict[str, Any]:
    return {
        "layer": layer,
        "hook": asked.hook,
        "dest_position": position,
        "alpha": asked.alpha,
        "source_run": asked.run,
        "source_position": source,
    }


def _nulls(cells: Sequence[Sequence[Logprobs]]) -> list[str]:
    missing = sum(None in cell for row in cells for cell in row)
    if not missing:
        return []
    return [f"{missing} cells have no number: the server gave no log-probability of the answer"]
