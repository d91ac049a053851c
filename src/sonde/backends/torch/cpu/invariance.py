"""Whether a row's bits depend on the rows beside it, for every kind of product that a sweep makes.

Each trial computes many rows together, with all threads, and then some of them apart, with one
thread, as another batch would. Kinds and paddings are those of the engine: what holds
here holds there. `path` tests the model at hand; this tells which product is at fault where that
test fails, and over shapes that no model at hand has.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from sonde.backends.torch.cpu import products
from sonde.backends.torch.cpu.products import LaidOut
from sonde.backends.torch.cpu.threads import one_thread_each
from sonde.backends.torch.packed.attention import attention_by_hand
from sonde.backends.torch.packed.far import attend_far
from sonde.backends.torch.packed.plan import FAR_BLOCK, Far, KeysValues, Stretch
from sonde.backends.torch.packed.rows import CPU_LAID_OUT_ROWS, CPU_ROWS, pad_rows
from sonde.backends.torch.packed.style import Style
from sonde.backends.torch.packed.unembedding import CPU_SLICE

DTYPES: Final = (torch.float32, torch.bfloat16)
ROWS: Final = 300
COUNTS: Final = (1, 3, 4, 5, 8, 16, 17, 31, 64, 100, 256)
"""How many rows are computed apart."""
LINEAR: Final = (
    (8, 8), (16, 32), (32, 48), (48, 33), (64, 64), (97, 33), (128, 512), (576, 192), (576, 1536),
    (1536, 576), (2048, 2048),
)  # fmt: skip
"""Inputs and outputs of linear maps: those of tiny models, of the default one, and odd ones."""
VOCABULARIES: Final = ((32, 160), (576, CPU_SLICE), (2048, CPU_SLICE), (576, 640))
EXPERTS: Final = ((32, 64), (64, 32), (512, 256))
ATTENTION: Final = (
    (4, 2, 8, 16), (2, 1, 8, 16), (4, 4, 8, 32), (4, 2, 16, 16), (4, 1, 16, 48), (8, 2, 32, 32),
    (9, 3, 64, 16), (9, 3, 64, 144), (8, 8, 64, 512), (6, 2, 97, 32),
)  # fmt: skip
"""Heads, heads of keys, width of a head, keys."""
FAR: Final = ((4, 2, 8, 320), (4, 4, 32, 512), (9, 3, 64, 1024), (8, 1, 128, 2048))
"""The same of queries far into a prompt."""
BLOCK: Final = 16
CELLS: Final = 24


@dataclass(frozen=True)
class Trial:
    """One product in several companies."""

    kind: str
    dtype: str
    shape: str
    holds: bool
    """Whether its rows had the same bits in all of them."""


def trials(dtypes: Sequence[torch.dtype] = DTYPES) -> Iterator[Trial]:
    """Every kind of product, dtype and shape."""
    with torch.inference_mode():
        for dtype in dtypes:
            for kind, shape, holds in _of(dtype):
                yield Trial(kind, str(dtype).removeprefix("torch."), shape, holds())


def _of(dtype: torch.dtype) -> Iterator[tuple[str, str, Callable[[], bool]]]:
    tiles, few = CPU_ROWS.multiple, CPU_LAID_OUT_ROWS.multiple
    for kind, shapes in (("linear", LINEAR), ("unembedding", VOCABULARIES)):
        for inputs, outputs in shapes:
            shape, weight = f"{inputs}→{outputs}", drawn(dtype, outputs, inputs, seed=1)
            yield kind, shape, partial(rows_hold, partial(_linear, weight), weight, tiles)
            if dtype == torch.float32 and products.available():
                laid_out = LaidOut(weight)
                yield f"{kind}, laid out", shape, partial(rows_hold, laid_out, weight, few)
    for inputs, outputs in EXPERTS:
        weight = drawn(dtype, 2, inputs, outputs, seed=3)[1].T
        shape = f"{inputs}→{outputs}"
        yield "experts", shape, partial(rows_hold, partial(_linear, weight), weight, tiles)
    for heads, kv_heads, width, keys in ATTENTION:
        shape = f"{heads}/{kv_heads} heads of {width}, {keys} keys"
        yield "attention", shape, partial(attention_holds, dtype, heads, kv_heads, width, keys)
    for heads, kv_heads, width, keys in FAR:
        shape = f"{heads}/{kv_heads} heads of {width}, {keys} keys"
        yield "attention, far", shape, partial(far_holds, dtype, heads, kv_heads, width, keys)


def rows_hold(product: Callable[[Tensor], Tensor], weight: Tensor, multiple: int) -> bool:
    """Whether rows have the same bits together and apart, padded to a multiple."""
    rows = drawn(weight.dtype, ROWS, weight.shape[1], seed=4)
    together = product(pad_rows(rows, multiple))
    with one_thread_each():
        for count in COUNTS:
            start = (7 * count) % (ROWS + 1 - count)
            apart = product(pad_rows(rows[start : start + count], multiple))[:count]
            if not apart.equal(together[start : start + count]):
                return False
    return True


def attention_holds(dtype: torch.dtype, heads: int, kv_heads: int, width: int, keys: int) -> bool:
    """Whether queries have the same bits in any number of cells, and in blocks of any size."""
    q = drawn(dtype, CELLS, heads, BLOCK, width, seed=5)
    k, v = (drawn(dtype, CELLS, kv_heads, keys, width, seed=seed) for seed in (6, 7))
    group, style = heads // kv_heads, Style(width**-0.5, None, None, None)

    def attend(cells: slice, queries: slice) -> Tensor:
        own = q[cells, :, queries].contiguous()
        mask = _hidden(dtype, keys)[queries].repeat(group, 1)
        return attention_by_hand(own, k[cells], v[cells], mask, style)

    everything = slice(None)
    together = attend(everything, everything)
    with one_thread_each():
        return all(
            attend(cells, queries).equal(together[cells, :, queries])
            for cells in (slice(0, 1), slice(3, 4), slice(5, 12), everything)
            for queries in (everything, slice(BLOCK - 4, None), slice(BLOCK - 8, None))
        )


def far_holds(dtype: torch.dtype, heads: int, kv_heads: int, width: int, keys: int) -> bool:
    """Whether queries far into a prompt have the same bits, however many a cell has."""
    rows = drawn(dtype, FAR_BLOCK, heads, width, seed=5)
    own = KeysValues(*(drawn(dtype, keys, kv_heads, width, seed=seed) for seed in (6, 7)))
    style = Style(width**-0.5, None, None, None)

    def attend(since: int) -> Tensor:
        out, count = torch.empty_like(rows), FAR_BLOCK - since
        queries = Stretch(keys - count, since, count, 0, 0, 0)
        attend_far(out, rows, None, own, Far([queries]), style, None)
        return out[since:]

    together = attend(0)
    with one_thread_each():
        return all(
            attend(since).equal(together[since:])
            for since in (1, 7, 30, FAR_BLOCK - 3, FAR_BLOCK - 1)
        )


def drawn(dtype: torch.dtype, *shape: int, seed: int) -> Tensor:
    """Random numbers of ordinary size."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def _linear(weight: Tensor, rows: Tensor) -> Tensor:
    return F.linear(rows, weight)


def _hidden(dtype: torch.dtype, keys: int) -> Tensor:
    """What to add to the scores of the last block's queries: [block, keys]."""
    positions = torch.arange(keys - BLOCK, keys)[:, None]
    future = torch.arange(keys)[None, :] > positions
    return torch.zeros(BLOCK, keys, dtype=dtype).masked_fill(future, float("-inf"))
