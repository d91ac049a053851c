"""What a sweep will cost, without running it: the same checks, the same alignment, no cell.

Cells and bytes are counted as the sweep would count them; only the seconds are a guess, and that is
the backend's, which knows how fast it is. The corrupt prompt is run once and nothing is captured.
"""

from collections.abc import Sequence

from sonde.backends.base import Backend
from sonde.engine import prepare
from sonde.engine.plan import Limits, Plan, check, check_size
from sonde.engine.vectors import NamedVectors
from sonde.prompts import Pairs
from sonde.schema import Estimate, PatchSweepRequest, Site


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
        pairs = prepare.pair_up(backend, plan, positions, corrupt, clean, len(clean))
        positions, _ = prepare.aligned(positions, pairs, [])
        same, alike = _unchanged(positions, pairs, clean, corrupt)
    sites = [
        Site(hook=hook, layer=layer, position=position)
        for hook in plan.hooks
        for layer in plan.layers
        for position in positions
        if request.alpha != 0 and position not in (same if layer or hook != "pre_attn" else alike)
    ]
    cost = backend.cost(corrupt, sites)
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
    positions: Sequence[int], pairs: Pairs | None, clean: Sequence[int], corrupt: Sequence[int]
) -> tuple[set[int], set[int]]:
    """Positions whose source is what is there already: their cells need no work.

    Everywhere, before the prompts first differ; and as an embedding, wherever the token is alike.
    """
    alike = {
        position
        for position in positions
        if (pairs is None or pairs.sources[position] == (position,))
        and position < len(clean)
        and clean[position] == corrupt[position]
    }
    both = zip(clean, corrupt, strict=False)
    shared = next((i for i, (a, b) in enumerate(both) if a != b), min(len(clean), len(corrupt)))
    return {position for position in alike if position < shared}, alike


def _source_bytes(plan: Plan, clean: list[int] | None) -> int:
    size = 4 if plan.model.dtype == "float32" else 2
    rows = len(plan.model.hooks) * len(set(plan.layers)) * len(clean or [])
    return size * plan.model.width * rows
