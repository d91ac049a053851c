"""Log-probabilities of a prompt's own tokens, all from the one pass that ran it.

After position i the model says what it expects at position i + 1. So every token but the first is
scored by the residual before it, with the bits that a prompt ending there would give: a causal
model's row does not know what follows it. The vocabulary is wide, so some rows are done at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import torch
from torch import Tensor

from sonde.backends.base import PromptToken
from sonde.backends.torch.packed.unembedding import Unembedding

CPU_ROWS: Final = 64
GPU_ROWS: Final = 256
"""Rows whose logits, over the whole vocabulary, exist at a time."""


def prompt_scores(
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
