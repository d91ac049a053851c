"""Which token comes next, out of the logits: penalties, limits, and a draw.

In the order that vLLM has, so that the same request means the same on both backends: what has been
said is penalised, stop tokens wait their turn, temperature, then `min_p`, `top_k` and `top_p`, each
among what the ones before have left.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from sonde.backends.base import GenerateRequest


def choose(
    logits: Tensor,
    request: GenerateRequest,
    so_far: Sequence[int],
    generator: torch.Generator,
) -> int:
    """One token after `so_far`, prompt included: the likeliest at temperature 0, else a draw."""
    allowed = _allowed(_penalised(logits, request.repetition_penalty, so_far), request, so_far)
    if request.temperature == 0:
        return int(allowed.argmax())
    apart = (allowed - allowed.max()).double()  # at most 0, so that no temperature overflows
    probabilities = torch.softmax(apart / request.temperature, -1)
    return int(torch.multinomial(limited(probabilities, request), 1, generator=generator))


def limited(probabilities: Tensor, request: GenerateRequest) -> Tensor:
    """What is left to draw from, in place; the others are zero. The likeliest always stays."""
    if request.min_p > 0:
        probabilities[probabilities < request.min_p * probabilities.max()] = 0
    if 0 < request.top_k < len(probabilities):
        least = probabilities.topk(request.top_k).values[-1]
        probabilities[probabilities < least] = 0
    if request.top_p < 1:
        ordered, order = probabilities.sort(descending=True)
        beyond = ordered.cumsum(-1) - ordered >= request.top_p * ordered.sum()
        probabilities[order[beyond]] = 0
    return probabilities


def _penalised(logits: Tensor, penalty: float, so_far: Sequence[int]) -> Tensor:
    if penalty == 1:
        return logits
    seen = torch.tensor(sorted(set(so_far)), device=logits.device)
    out, found = logits.clone(), logits[seen]
    out[seen] = torch.where(found > 0, found / penalty, found * penalty)
    return out


def _allowed(logits: Tensor, request: GenerateRequest, so_far: Sequence[int]) -> Tensor:
    """Without the stop tokens, as long as it is too early for them."""
    if len(so_far) - len(request.tokens) >= request.min_tokens or not request.stop_ids:
        return logits
    out = logits.clone()
    out[sorted(request.stop_ids)] = -torch.inf
    return out
