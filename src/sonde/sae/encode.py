"""The arithmetic of a dictionary: activations to active features, and back.

1. **Share**    tokens out over the cores of a CPU, one thread each. A GPU takes them all.
2. **Chunk**    them, so that a dense tokens × width block and what selecting needs fit a budget.
3. **Multiply** in float32 what is ready for it, into one buffer that is used for every chunk.
4. **Select**   the active features, and let the block go.
5. **Gather**   for decoding: the active features' decoder rows, weighted and summed.

On a CPU a token's features have the same bits in any chunk and share, because rows of a product
come in multiples of 16. On a GPU the last bits may differ from one chunk size to another.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from sonde.backends.torch.cpu.threads import one_thread_each
from sonde.errors import RequestTooLarge
from sonde.sae.activations import Activation
from sonde.sae.active import Active, join

ROWS: Final = 16
"""Rows of a product come in multiples of this: then a row's bits are batch-invariant."""

BYTES: Final = 6
"""Of a chunk, for each token and feature: a float32, the mask it is selected with, block maxima."""

CPU_BUDGET: Final = 2**25
CPU_ROWS: Final = 512
CUDA_BUDGET: Final = 2**30

SHARE: Final = 128
"""Fewer tokens than this are not worth a thread of their own."""


def default_budget(device: torch.device, d_sae: int) -> int:
    """Bytes that stay in the cache of a CPU, or a small part of a GPU's memory.

    A wide dictionary does not fit a cache, and is read again for every chunk: then a few hundred
    tokens at once are quicker.
    """
    return max(CPU_BUDGET, CPU_ROWS * BYTES * d_sae) if device.type == "cpu" else CUDA_BUDGET


def chunk_rows(d_sae: int, budget_bytes: int, threads: int = 1) -> int:
    """How many tokens each thread may have in work at once."""
    rows = budget_bytes // (BYTES * d_sae * threads) // ROWS * ROWS
    if not rows:
        raise RequestTooLarge(
            f"encoding {ROWS} tokens on each of {threads} threads with {d_sae:,} features",
            ROWS * BYTES * d_sae * threads,
            budget_bytes,
            "raise budget_bytes",
        )
    return rows


def encode_rows(
    x: Tensor,
    W_enc: Tensor,
    b_enc: Tensor,
    activation: Activation,
    budget_bytes: int,
    ready: Callable[[Tensor], Tensor] = Tensor.float,
) -> Active:
    """Active features of activations [tokens, d_in], which `ready` prepares for the product.

    A token that is not finite has none.
    """

    def encode_share(share: Tensor) -> Active:
        torch.get_num_threads()  # a new thread reads the setting only when it is asked for it
        with torch.no_grad():
            finite = _finite(share)
            known = share if finite is None else share.where(finite[:, None], 0.0)
            blocks = pre_activations(known, W_enc, b_enc, rows, ready)
            found = join([activation.select(pre) for pre in blocks])
            return found if finite is None else found.only(finite)

    d_sae = W_enc.shape[1]
    shares = _shares(x, budget_bytes // (ROWS * BYTES * d_sae))
    rows = chunk_rows(d_sae, budget_bytes, len(shares))
    if len(shares) == 1:
        return encode_share(x)
    with one_thread_each(), ThreadPoolExecutor(len(shares) - 1) as pool:
        others = pool.map(encode_share, shares[1:])
        return join([encode_share(shares[0]), *others])


def pre_activations(
    x: Tensor,
    W_enc: Tensor,
    b_enc: Tensor,
    rows: int,
    ready: Callable[[Tensor], Tensor] = Tensor.float,
) -> Iterator[Tensor]:
    """`ready(x) @ W_enc + b_enc` of so many rows at a time [rows, d_sae], all in one buffer."""
    size = min(rows, max(_padded(len(x)), ROWS))
    buffer = W_enc.new_empty(size, W_enc.shape[1])
    for start in range(0, max(len(x), 1), size):
        part = ready(x[start : start + size])
        missing = _padded(len(part)) - len(part)
        filled = F.pad(part, (0, 0, 0, missing)) if missing else part
        block = torch.addmm(b_enc, filled, W_enc, out=buffer[: len(filled)])
        yield block[: len(part)]


def decode_rows(active: Active, W_dec: Tensor, b_dec: Tensor) -> Tensor:
    """The weighted sum of each token's decoder rows, plus the bias. -> [tokens, d_out]"""
    if not len(active):
        return W_dec.new_empty(0, W_dec.shape[1])
    summed = F.embedding_bag(
        active.indices,
        W_dec,
        active.offsets,
        mode="sum",
        per_sample_weights=active.values,
        include_last_offset=True,
    )
    return summed.add_(b_dec)


def _shares(x: Tensor, most: int) -> list[Tensor]:
    """The tokens, for each thread its own; one share where there are few, or on a GPU."""
    threads = min(torch.get_num_threads(), len(x) // SHARE, most)
    if x.device.type != "cpu" or threads < 2:
        return [x]
    size = _padded(-(-len(x) // threads))
    return [x[start : start + size] for start in range(0, len(x), size)]


def _finite(x: Tensor) -> Tensor | None:
    """Which tokens are finite, bool [tokens]; None on a CPU where a quick look shows all are."""
    if x.device.type == "cpu" and x.sum(1, dtype=torch.float32).isfinite().all():
        return None
    return x.isfinite().all(1)


def _padded(n: int) -> int:
    return -(-n // ROWS) * ROWS
