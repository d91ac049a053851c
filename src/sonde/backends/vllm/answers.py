"""Tokens out of vLLM's outputs, and what is wrong with writes before any request is made."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sonde.backends.base import (
    FromRun,
    FromVector,
    GeneratedToken,
    GenerateRequest,
    PromptToken,
    Site,
    Write,
)
from sonde.backends.spots import terms
from sonde.backends.vllm.heads import Shard
from sonde.backends.vllm.spec import taken_from
from sonde.errors import BadRequest, BadVectors, EngineError, UnknownSourceRun
from sonde.schema import Hook, ModelDescription, SourceRun


def generated(
    token: int,
    found: Mapping[int, Any],
    request: GenerateRequest,
    n_tokens: int,
    prompt: tuple[PromptToken, ...] = (),
) -> GeneratedToken:
    """One token of a completion; `found` is vLLM's answer at its position, likeliest first."""
    values = {id_: float(entry.logprob) for id_, entry in found.items()}
    if not all(map(math.isfinite, [values[token], *(values[i] for i in request.logprob_ids)])):
        _not_finite(n_tokens, bool(request.writes))
    if request.logprob_ids:
        wanted = {i: values[i] for i in request.logprob_ids}
    else:
        wanted = _likeliest(found, request.top_logprobs)
    return GeneratedToken(token, values[token], wanted, prompt)


def _likeliest(found: Mapping[int, Any], most: int) -> dict[int, float]:
    """The first `most` by rank; vLLM also gives the token that came, whatever its rank."""
    ranked = sorted(found.items(), key=lambda item: item[1].rank or 0)
    return {token: float(entry.logprob) for token, entry in ranked if entry.rank <= most}


def scored_prompt(
    found: Sequence[Mapping[int, Any] | None] | None, request: GenerateRequest
) -> tuple[PromptToken, ...]:
    """The prompt's tokens from its second on; `found` is vLLM's answer at every position."""
    if request.prompt_logprobs is None:
        return ()
    if found is None or len(found) != len(request.tokens):
        count = 0 if found is None else len(found)
        raise EngineError(
            f"vLLM scored {count} of {len(request.tokens)} tokens of a prompt; ask without "
            "prompt_logprobs, or use the torch backend"
        )
    out = []
    for i, (token, here) in enumerate(zip(request.tokens[1:], found[1:], strict=True), start=1):
        assert here is not None
        own = here[token]
        if math.isnan(own.logprob):
            _not_finite(i, bool(request.writes))
        likeliest = _likeliest(here, request.prompt_logprobs)
        out.append(PromptToken(token, float(own.logprob), int(own.rank), likeliest))
    return tuple(out)


def _not_finite(n_tokens: int, patched: bool) -> None:
    """A token drawn from what is no distribution would look like any other."""
    found = f"the log-probabilities after {n_tokens} tokens are not finite"
    if patched:
        raise BadRequest(f"{found}: the patches write numbers that are too large for this model")
    raise EngineError(f"{found}; load the model in a wider dtype")


def check_values(writes: Sequence[Write], model: ModelDescription) -> None:
    """Every vector and mask is as wide as its hook, and every source fits its positions."""
    for write in writes:
        _check_readers(write.site, model)
        width = _width(write.site.hook, model)
        if write.mask is not None:
            _check_width(write.mask.shape, width)
        for term in terms(write.source):
            _check_source(term.source, write.site, width)


def _check_source(source: FromRun | FromVector, site: Site, width: int) -> None:
    n = len(site.positions)
    if isinstance(source, FromVector):
        shape = source.values.shape
        if len(shape) == 2 and shape[0] != n:
            raise BadVectors(f"{shape[0]} vectors for {n} positions")
        _check_width(shape[1:] if len(shape) == 2 else shape, width)
    elif len(source.positions) != n:
        raise BadRequest(
            f"a write at {n} positions takes {len(source.positions)} of run {source.run!r}; "
            "name one for each"
        )


def _check_width(shape: tuple[int, ...], width: int) -> None:
    if shape != (width,):
        raise BadVectors(f"width {shape} != hook width {width}")


def _width(hook: Hook, model: ModelDescription) -> int:
    return Shard(model.width, model.heads).value_width(hook)


def _check_readers(site: Site, model: ModelDescription) -> None:
    """What all readers of a key head see can be written, and not what one of them sees."""
    if site.readers is None or model.heads is None:
        return
    group = [h for h in range(model.heads.heads) if model.heads.group(h) == site.head]
    if set(site.readers) != set(group):
        raise BadRequest(
            f"{site.hook} of key head {site.head} for query head {site.readers[0]} alone: vLLM's "
            f"cache has one {site.hook} for all {len(group)} heads that read it; use kv='group', "
            "or backend='torch'"
        )


def check_taken(writes: Sequence[Write], stored: Mapping[str, SourceRun]) -> None:
    """Every site that writes take from is in its run."""
    sites: dict[str, set[Site]] = defaultdict(set)
    for write in writes:
        for source in (term.source for term in terms(write.source)):
            if isinstance(source, FromRun):
                sites[source.run].add(taken_from(source, write.site))
    for run, some in sites.items():
        if run in stored:
            check_held(some, stored[run])


def check_held(sites: Iterable[Site], run: SourceRun) -> None:
    """A run holds these sites."""
    layers, positions = set(run.layers), set(run.positions)
    for site in sites:
        there = site.hook in run.hooks and site.layer in layers
        missing = [p for p in site.positions if not there or p not in positions]
        if missing:
            raise UnknownSourceRun(
                f"patch source not found: run={run.run!r} site=({site.hook}, layer {site.layer}, "
                f"position {missing[0]}); it holds hooks {sorted(run.hooks)}, layers "
                f"{sorted(layers)} and {len(positions)} positions of a {run.n_tokens}-token prompt"
            )
