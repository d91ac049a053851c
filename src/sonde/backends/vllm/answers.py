"""Numbers out of vLLM's outputs, and what is wrong with patches before any request is made."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sonde.backends.base import FromRun, FromVector, GeneratedToken, GenerateRequest, Patch
from sonde.errors import BadRequest, BadVectors, EngineError, UnknownSourceRun
from sonde.schema import SourceRun


def graded(output: Any, token_ids: Sequence[int]) -> list[float]:
    """Log-probabilities of these ids after the prompt."""
    found = output.outputs[0].logprobs[0]
    return [found[token].logprob for token in token_ids]


def generated(
    token: int, found: Mapping[int, Any], request: GenerateRequest, n_tokens: int
) -> GeneratedToken:
    """One token of a completion; `found` is vLLM's answer at its position, likeliest first."""
    values = {id_: float(entry.logprob) for id_, entry in found.items()}
    if not all(map(math.isfinite, [values[token], *(values[i] for i in request.logprob_ids)])):
        _not_finite(n_tokens, bool(request.patches))
    if request.logprob_ids:
        wanted = {i: values[i] for i in request.logprob_ids}
    else:
        ranked = sorted(found.items(), key=lambda item: item[1].rank or 0)
        wanted = {i: values[i] for i, entry in ranked if entry.rank <= request.top_logprobs}
    return GeneratedToken(token, values[token], wanted)


def _not_finite(n_tokens: int, patched: bool) -> None:
    """A token drawn from what is no distribution would look like any other."""
    found = f"the log-probabilities after {n_tokens} tokens are not finite"
    if patched:
        raise BadRequest(f"{found}: the patches write numbers that are too large for this model")
    raise EngineError(f"{found}; load the model in a wider dtype")


def check_vectors(patches: Sequence[Patch], width: int) -> None:
    """Every vector and mask is as wide as the model."""
    for patch in patches:
        given = [] if patch.mask is None else [patch.mask]
        if isinstance(patch.source, FromVector):
            given.append(patch.source.values)
        for values in given:
            if values.shape != (width,):
                raise BadVectors(f"width {values.shape} != hook width {width}")


def check_held(patches: Sequence[Patch], stored: Mapping[str, SourceRun]) -> None:
    """Every site that patches read is in its run."""
    sets = {
        name: (set(run.hooks), set(run.layers), set(run.positions)) for name, run in stored.items()
    }
    for patch in patches:
        source = patch.source
        if not isinstance(source, FromRun) or source.run not in sets:
            continue
        hooks, layers, positions = sets[source.run]
        for position in source.positions:
            if patch.hook in hooks and patch.layer in layers and position in positions:
                continue
            raise UnknownSourceRun(
                f"patch source not found: run={source.run!r} site=({patch.hook}, layer "
                f"{patch.layer}, position {position}); it holds hooks {sorted(hooks)}, layers "
                f"{sorted(layers)} and {len(positions)} positions of a "
                f"{stored[source.run].n_tokens}-token prompt"
            )
