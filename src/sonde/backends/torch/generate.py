"""Ordinary completion with a KV cache, and patches at prompt and generated positions.

One sequence at a time through the model's own forward pass, in the same blocks and row groups as
everything else: the first token's log-probabilities have the bits of the same patch in a sweep.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from sonde.backends.base import GeneratedToken, GenerateRequest
from sonde.backends.torch.cells import Placed, Sources, place, plan_cell
from sonde.backends.torch.layout import Layout, first_tensor
from sonde.backends.torch.path import Path
from sonde.backends.torch.plan import KeysValues, Plan, block_size, using
from sonde.backends.torch.segments import Segments
from sonde.backends.torch.writes import Writes, applied, write_entering
from sonde.errors import BadRequest, EngineError
from sonde.schema import Hook


@dataclass
class _Cache:
    """Keys and values so far, per layer."""

    layers: list[KeysValues]

    def extended(self, plan: Plan, n_rows: int) -> "_Cache":
        """With the rows a pass has just computed."""
        new = [plan.recorded[i] for i in range(len(plan.recorded))]
        new = [KeysValues(kv.keys[:n_rows], kv.values[:n_rows]) for kv in new]
        if not self.layers:
            return _Cache(new)
        pairs = zip(self.layers, new, strict=True)
        return _Cache([old.followed_by(more) for old, more in pairs])


class _Last(Exception):
    """Raised after the last layer: the head does the rest."""

    def __init__(self, residual: Tensor) -> None:
        super().__init__()
        self.residual = residual


def generate(path: Path, request: GenerateRequest, sources: Sources) -> Iterator[GeneratedToken]:
    """Tokens one by one; `sources` hold the values of `request.patches`, in order."""
    placed = [place(patch, i) for i, patch in enumerate(request.patches)]
    generator = torch.Generator(device=path.model.device).manual_seed(request.seed)
    cache, tokens, start = _Cache([]), list(request.tokens), 0
    for _ in range(request.max_tokens):
        if path.name == "packed":
            final, cache = _forward(path, tokens, start, cache, placed, sources)
        else:
            final = _recomputed(path, tokens, placed, sources)
        with torch.inference_mode():
            logits, normaliser = path.head.distribution(final)
        _check_finite(normaliser, len(tokens), request)
        chosen = _choose(logits[0], request, generator)
        yield _token(logits[0] - normaliser[0], chosen, request)
        if chosen in request.stop_ids:
            return
        start = len(tokens)
        tokens.append(chosen)


def _recomputed(
    path: Path, tokens: Sequence[int], placed: Sequence[Placed], sources: Sources
) -> Tensor:
    """The last token's final residual without a cache: recurrent layers keep none of ours."""
    here = [patch for patch in placed if patch.position < len(tokens)]
    cell = plan_cell(0, here, len(path.layout.sites), len(tokens), local=path.local)
    with torch.inference_mode():
        trace = path.record([tokens], ())[0]
        return trace.last()[None] if cell is None else path.start(trace, [cell], sources).final()


def _forward(
    path: Path,
    tokens: Sequence[int],
    start: int,
    cache: _Cache,
    placed: Sequence[Placed],
    sources: Sources,
) -> tuple[Tensor, _Cache]:
    """Run tokens from `start` on. -> the last one's final residual, and the cache."""
    model, layout = path.model, path.layout
    n, device = len(tokens) - start, model.device
    block = block_size(device, start + n)
    n_rows = path.shape.padded(n)
    segments = Segments([start], start + n, n_prefix=start, block=block, device=device)
    plan = Plan(layout.layer_of, segments.blocks(1), n, cache.layers or None, record=True)
    ids = [*tokens[start:], *[tokens[-1]] * (n_rows - n)]
    positions = [min(start + i, len(tokens) - 1) for i in range(n_rows)]
    with ExitStack() as stack, using(plan), torch.inference_mode():
        _patch_rows(stack, layout, placed, sources, start, n)
        _stop_after(stack, layout.sites[-1].layer)
        try:
            model(
                input_ids=torch.tensor([ids], device=device),
                position_ids=torch.tensor([positions], device=device),
                use_cache=False,
            )
        except _Last as last:
            residual = last.residual.view(-1, last.residual.shape[-1])[n - 1 : n].clone()
            ends = _writes(placed, sources, len(layout.sites), len(tokens) - 1, 1)
            if None in ends:
                ends[None].apply(residual)
            return residual, cache.extended(plan, n)
    raise AssertionError("the last layer did not run")


def _patch_rows(
    stack: ExitStack,
    layout: Layout,
    placed: Sequence[Placed],
    sources: Sources,
    start: int,
    n: int,
) -> None:
    """Until the stack closes, layers write the patches of positions `start` … `start + n − 1`."""
    for layer, site in enumerate(layout.sites):
        writes = _writes(placed, sources, layer, start, n)
        entering = writes.pop(None, None)
        if entering is not None:
            stack.enter_context(write_entering(site.layer, entering))
        inside: dict[Hook, Writes] = {h: w for h, w in writes.items() if h is not None}
        if inside:
            stack.enter_context(applied(site, inside))


def _writes(
    placed: Sequence[Placed], sources: Sources, layer: int, start: int, n: int
) -> dict[Hook | None, Writes]:
    grouped: dict[Hook | None, list[tuple[int, int]]] = defaultdict(list)
    for patch in placed:
        if patch.layer == layer and start <= patch.position < start + n:
            grouped[patch.inside].append((patch.position - start, patch.source))
    return {
        inside: sources.writes([row for row, _ in edits], [source for _, source in edits])
        for inside, edits in grouped.items()
    }


def _stop_after(stack: ExitStack, layer: nn.Module) -> None:
    def after(_module: nn.Module, _args: Any, output: object) -> None:
        residual = first_tensor(output)
        assert residual is not None
        raise _Last(residual)

    stack.callback(layer.register_forward_hook(after).remove)


def _check_finite(normaliser: Tensor, n_tokens: int, request: GenerateRequest) -> None:
    """A token drawn from what is no distribution would look like any other."""
    if bool(torch.isfinite(normaliser).all()):
        return
    found = f"the log-probabilities after {n_tokens} tokens are not finite"
    if request.patches:
        raise BadRequest(f"{found}: the patches write numbers that are too large for this model")
    raise EngineError(f"{found}; load the model in a wider dtype")


def _choose(logits: Tensor, request: GenerateRequest, generator: torch.Generator) -> int:
    """Greedy at temperature 0; otherwise a draw from the temperature- and top-p-limited rest."""
    if request.temperature == 0:
        return int(logits.argmax())
    apart = (logits - logits.max()).double()  # at most 0, so that no temperature overflows
    probabilities = torch.softmax(apart / request.temperature, -1)
    if request.top_p < 1:
        ordered, order = probabilities.sort(descending=True)
        beyond = ordered.cumsum(-1) - ordered >= request.top_p
        probabilities[order[beyond]] = 0
    return int(torch.multinomial(probabilities, 1, generator=generator))


def _token(logprobs: Tensor, chosen: int, request: GenerateRequest) -> GeneratedToken:
    wanted = list(request.logprob_ids)
    if request.top_logprobs:
        wanted += logprobs.topk(request.top_logprobs).indices.tolist()
    chosen_logprob, *rest = logprobs[[chosen, *wanted]].tolist()
    return GeneratedToken(chosen, chosen_logprob, dict(zip(wanted, rest, strict=True)))
