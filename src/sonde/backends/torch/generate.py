"""Ordinary completion with a KV cache, and patches at prompt and generated positions.

One sequence at a time through the model's own forward pass, in the same blocks and row groups as
everything else: the first token's log-probabilities have the bits of the same patch in a sweep.

A prompt's own tokens are scored by the one pass that ran it. After position i the model says what
it expects at position i + 1, so every token but the first is scored by the residual before it, with
the bits that a prompt ending there would give: a causal model's row does not know what follows it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Final

import torch
from torch import Tensor

from sonde.backends.base import GeneratedToken, GenerateRequest, PromptToken
from sonde.backends.torch.choosing import choose
from sonde.backends.torch.layout import Layout
from sonde.backends.torch.packed.cells import PlacedWrite, Sources, place, plan_cell
from sonde.backends.torch.packed.plan import KeysValues, RowPlan, block_size, using
from sonde.backends.torch.packed.segments import Segments
from sonde.backends.torch.packed.unembedding import Unembedding
from sonde.backends.torch.packed.writes import Writes, applied, write_entering
from sonde.backends.torch.path import Path
from sonde.backends.torch.whole import every_row
from sonde.errors import BadRequest, EngineError
from sonde.schema import Hook

CPU_ROWS: Final = 64
GPU_ROWS: Final = 256
"""Rows of a prompt whose logits, over the whole vocabulary, exist at a time."""


@dataclass
class _Cache:
    """Keys and values so far, per layer."""

    layers: list[KeysValues]

    def extended(self, plan: RowPlan, n_rows: int) -> "_Cache":
        """With the rows a pass has just computed."""
        new = [plan.recorded[i] for i in range(len(plan.recorded))]
        new = [KeysValues(kv.keys[:n_rows], kv.values[:n_rows]) for kv in new]
        if not self.layers:
            return _Cache(new)
        pairs = zip(self.layers, new, strict=True)
        return _Cache([old.followed_by(more) for old, more in pairs])


class Last(Exception):
    """Raised after the last layer: the unembedding does the rest."""

    def __init__(self, residual: Tensor) -> None:
        super().__init__()
        self.residual = residual


def generate(path: Path, request: GenerateRequest, sources: Sources) -> Iterator[GeneratedToken]:
    """Tokens one by one; `sources` hold the values of `request.writes`, in order."""
    _check_causal(path, request)
    placed = [each for patch in place(request.writes) for each in patch.one_by_one()]
    generator = torch.Generator(device=path.model.device).manual_seed(request.seed)
    cache, tokens, start = _Cache([]), list(request.tokens), 0
    for step in range(request.max_tokens):
        every = step == 0 and request.prompt_logprobs is not None
        if path.name == "packed":
            final, cache = _forward(path, tokens, start, cache, placed, sources, every=every)
        else:
            final = _recomputed(path, tokens, placed, sources, every=every)
        with torch.inference_mode():
            logits, normaliser = path.unembedding.distribution(final[-1:])
        _check_finite(normaliser, len(tokens), request)
        prompt = _prompt(path, final, request) if every else ()
        chosen = choose(logits[0], request, tokens, generator)
        yield replace(_token(logits[0] - normaliser[0], chosen, request), prompt=prompt)
        if chosen in request.stop_ids:
            return
        start = len(tokens)
        tokens.append(chosen)


def _prompt(path: Path, final: Tensor, request: GenerateRequest) -> tuple[PromptToken, ...]:
    def check(normaliser: Tensor, n_tokens: int) -> None:
        _check_finite(normaliser, n_tokens, request)

    return _prompt_scores(
        path.unembedding, final, request.tokens, request.prompt_logprobs or 0, check
    )


def _prompt_scores(
    unembedding: Unembedding,
    final: Tensor,
    tokens: Sequence[int],
    likeliest: int,
    check: Callable[[Tensor, int], None],
) -> tuple[PromptToken, ...]:
    """Residuals after the last layer [n, width] and the n tokens -> the tokens from the second on.

    `check` is given the normalisers of some rows, and how many tokens the first of them has seen.
    """
    step = CPU_ROWS if final.device.type == "cpu" else GPU_ROWS
    out: list[PromptToken] = []
    for start in range(0, len(tokens) - 1, step):
        stop = min(start + step, len(tokens) - 1)
        with torch.inference_mode():
            logits, normaliser = unembedding.distribution(final[start:stop])
            check(normaliser, start + 1)
            out += _scored(logits - normaliser[:, None], tokens[start + 1 : stop + 1], likeliest)
    return tuple(out)


def _scored(logprobs: Tensor, tokens: Sequence[int], likeliest: int) -> Iterator[PromptToken]:
    """[rows, vocabulary], and the token that came after each row."""
    own = logprobs.gather(1, torch.tensor(tokens, device=logprobs.device)[:, None])
    ranks = (logprobs >= own).sum(-1).tolist()
    best = logprobs.topk(likeliest)
    rows = zip(
        tokens, own[:, 0].tolist(), ranks, best.indices.tolist(), best.values.tolist(), strict=True
    )
    for token, logprob, rank, ids, values in rows:
        place = ids.index(token) + 1 if token in ids else rank  # of equals, one comes first
        yield PromptToken(token, logprob, place, dict(zip(ids, values, strict=True)))


def _recomputed(
    path: Path,
    tokens: Sequence[int],
    placed: Sequence[PlacedWrite],
    sources: Sources,
    *,
    every: bool,
) -> Tensor:
    """The last token's final residual, or `every` token's, without a cache of recurrent layers."""
    here = [patch for patch in placed if patch.positions[0] < len(tokens)]
    with torch.inference_mode():
        trace = path.record([tokens], ())[0]
        if every:
            return every_row(path.layout, trace, here, sources)
        cell = plan_cell(0, here, len(path.layout.sites), [len(tokens) - 1], local=path.local)
        return trace.last()[None] if cell is None else path.start(trace, [cell], sources).final()


def _forward(
    path: Path,
    tokens: Sequence[int],
    start: int,
    cache: _Cache,
    placed: Sequence[PlacedWrite],
    sources: Sources,
    *,
    every: bool,
) -> tuple[Tensor, _Cache]:
    """Run tokens from `start` on. -> the last one's final residual, or all, and the cache."""
    model, layout = path.model, path.layout
    n, device = len(tokens) - start, model.device
    block = block_size(device, start + n)
    n_rows = path.shape.padded(n)
    segments = Segments([start], [start + n], n_prefix=start, block=block, device=device)
    plan = RowPlan(layout.layer_of, segments.blocks(1), n, cache.layers or None, record=True)
    ids = [*tokens[start:], *[tokens[-1]] * (n_rows - n)]
    positions = [min(start + i, len(tokens) - 1) for i in range(n_rows)]
    with ExitStack() as stack, using(plan), torch.inference_mode():
        _patch_rows(stack, layout, placed, sources, start, n)
        stack.callback(layout.sites[-1].tap("post_block").watch(leave).remove)
        try:
            model(
                input_ids=torch.tensor([ids], device=device),
                position_ids=torch.tensor([positions], device=device),
                use_cache=False,
            )
        except Last as last:
            first = 0 if every else n - 1
            residual = last.residual.view(-1, last.residual.shape[-1])[first:n].clone()
            ends = _writes(placed, sources, len(layout.sites), start + first, n - first)
            if None in ends:
                ends[None].apply(residual)
            return residual, cache.extended(plan, n)
    raise AssertionError("the last layer did not run")


def _patch_rows(
    stack: ExitStack,
    layout: Layout,
    placed: Sequence[PlacedWrite],
    sources: Sources,
    start: int,
    n: int,
) -> None:
    """Until the stack closes, layers write the patches of positions `start` … `start + n − 1`."""
    for layer, site in enumerate(layout.sites):
        writes = _writes(placed, sources, layer, start, n)
        entering = writes.pop(None, None)
        if entering is not None:
            stack.enter_context(write_entering(site, entering))
        inside: dict[Hook, Writes] = {h: w for h, w in writes.items() if h is not None}
        if inside:
            stack.enter_context(applied(site, inside))


def _writes(
    placed: Sequence[PlacedWrite], sources: Sources, layer: int, start: int, n: int
) -> dict[Hook | None, Writes]:
    grouped: dict[Hook | None, list[tuple[int, int]]] = defaultdict(list)
    for patch in placed:
        (position,) = patch.positions
        if patch.layer == layer and start <= position < start + n:
            grouped[patch.inside].append((position - start, patch.source))
    return {
        inside: sources.writes([row for row, _ in edits], [source for _, source in edits])
        for inside, edits in grouped.items()
    }


def leave(residual: Tensor) -> None:
    """What watches the end of the last layer."""
    raise Last(residual)


def _check_causal(path: Path, request: GenerateRequest) -> None:
    """One pass scores a prompt only if no row knows what follows it."""
    causal = getattr(path.model.config.get_text_config(), "is_causal", True)
    if request.prompt_logprobs is not None and not causal:
        raise BadRequest(
            "prompt_logprobs: this model's attention is not causal, so that its prompt cannot be "
            "scored in one pass; leave it out"
        )


def _check_finite(normaliser: Tensor, n_tokens: int, request: GenerateRequest) -> None:
    """A token drawn from what is no distribution would look like any other."""
    if bool(torch.isfinite(normaliser).all()):
        return
    found = f"the log-probabilities after {n_tokens} tokens are not finite"
    if request.writes:
        raise BadRequest(f"{found}: the patches write numbers that are too large for this model")
    raise EngineError(f"{found}; load the model in a wider dtype")


def _token(logprobs: Tensor, chosen: int, request: GenerateRequest) -> GeneratedToken:
    wanted = list(request.logprob_ids)
    if request.top_logprobs:
        wanted += logprobs.topk(request.top_logprobs).indices.tolist()
    chosen_logprob, *rest = logprobs[[chosen, *wanted]].tolist()
    return GeneratedToken(chosen, chosen_logprob, dict(zip(wanted, rest, strict=True)))
