"""What a sweep will cost, without running it: the same checks, the same alignment, no cell.

Cells and bytes are counted as the sweep would count them; only the seconds are a guess, and that is
the backend's, which knows how fast it is. The corrupt prompt is run once and nothing is captured.
"""

from collections.abc import Sequence

import numpy as np

from sonde.backends.base import Backend, FromVector, Row, Work, logprobs_of, write_at
from sonde.engine import prepare
from sonde.engine.plan import CheckedRequest, Limits, check, check_size, classic_hooks
from sonde.engine.vectors import NamedVectors
from sonde.prompts import Matching
from sonde.schema import HOOK_TABLE, Estimate, PatchSweepRequest

NOTHING = FromVector(np.zeros(0, dtype=np.float32))
"""What is written does not matter to what it costs."""


def estimate(
    backend: Backend,
    request: PatchSweepRequest,
    *,
    modules: NamedVectors | None = None,
    limits: Limits | None = None,
) -> Estimate:
    """What a sweep will cost. Runs its prompt once, captures nothing."""
    limits = limits or Limits()
    plan = check(request, backend, modules or {}, limits)
    corrupt = backend.tokenize(request.prompt)
    clean = None if request.clean_prompt is None else backend.tokenize(request.clean_prompt)
    positions = prepare.positions_in(backend, request.positions, request.prompt, len(corrupt))
    check_size(plan, len(positions), limits)
    same, alike = set[int](), set[int]()
    if clean is not None and not plan.from_vector:
        matching = prepare.pair_up(backend, plan, positions, corrupt, clean, len(clean))
        positions, _ = prepare.aligned(positions, matching, [])
        same, alike = _unchanged(positions, matching, clean, corrupt)
    embeddings = {hook for hook in plan.hooks if HOOK_TABLE[hook].enters == 0}
    rows = [
        Row((write_at(hook, layer, position, NOTHING),))
        for hook in plan.hooks
        for layer in plan.layers
        for position in positions
        if request.alpha != 0
        and position not in (alike if not layer and hook in embeddings else same)
    ]
    cost = backend.cost([Work(corrupt, rows, logprobs_of(plan.token_ids))])
    return Estimate(
        cells=len(plan.hooks) * len(plan.layers) * len(positions),
        computed_cells=cost.computed_rows,
        token_layers=cost.token_layers,
        working_bytes=cost.working_bytes,
        source_bytes=_source_bytes(plan, clean),
        seconds=cost.seconds,
        chunks=cost.chunks,
    )


def _unchanged(
    positions: Sequence[int],
    matching: Matching | None,
    clean: Sequence[int],
    corrupt: Sequence[int],
) -> tuple[set[int], set[int]]:
    """Positions whose source is what is there already: their cells need no work.

    Everywhere, before the prompts first differ; and as an embedding, wherever the token is alike.
    """
    alike = {
        position
        for position in positions
        if (matching is None or matching.sources[position] == (position,))
        and position < len(clean)
        and clean[position] == corrupt[position]
    }
    both = zip(clean, corrupt, strict=False)
    shared = next((i for i, (a, b) in enumerate(both) if a != b), min(len(clean), len(corrupt)))
    return {position for position in alike if position < shared}, alike


def _source_bytes(plan: CheckedRequest, clean: list[int] | None) -> int:
    size = 4 if plan.model.dtype == "float32" else 2
    rows = len(classic_hooks(plan.model)) * len(set(plan.layers)) * len(clean or [])
    return size * plan.model.width * rows
