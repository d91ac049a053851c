"""How much memory a chunk takes: measured on this model, not guessed.

Peak memory of a chunk is linear in its rows and in its cells. Three small runs give the three
coefficients, for one prompt length, once. The same measurement checks the promise in the tests.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from sonde.backends.torch.packed.rows import padded
from sonde.errors import RequestTooLarge


def default_bytes(device: torch.device) -> int:
    """The budget when none is given: modest in main memory, larger on an accelerator."""
    return (2 if device.type == "cpu" else 16) * 2**30


def out_of_memory(error: BaseException) -> bool:
    """Whether an allocation failed; the CPU's allocator raises a plain `RuntimeError`."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


class PeakBytes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes of tensors that come to life inside it, and remembers the most at once."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.peak = 0
        self._live: dict[int, tuple[Any, int]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = {_key(t) for t in tree_leaves((args, kwargs)) if _has_storage(t)}
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if _has_storage(tensor) and _key(tensor) not in given:
                storage = tensor.untyped_storage()
                reference: Any = StorageWeakRef(storage)  # type: ignore[no-untyped-call]
                self._live[_key(tensor)] = (reference, storage.nbytes())
        self._live = {k: held for k, held in self._live.items() if not held[0].expired()}
        self.peak = max(self.peak, sum(size for _, size in self._live.values()))
        return out


def _has_storage(value: object) -> bool:
    """Whether it is a tensor, and not a weight in a kernel's own order."""
    return isinstance(value, Tensor) and not value.is_mkldnn


def _key(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def peak_bytes(run: Callable[[], object], device: torch.device) -> int:
    """The most memory `run` has in tensors of its own at any time."""
    if device.type == "cuda":
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        run()
        torch.cuda.synchronize()
        return int(torch.cuda.max_memory_allocated() - before)
    with PeakBytes() as counter:
        run()
    return int(counter.peak)


@dataclass(frozen=True)
class ChunkBytes:
    """Peak memory of a chunk: `fixed + per_row · rows + per_cell · cells`, rows as padded."""

    fixed: float
    per_row: float
    per_cell: float
    multiple: int

    def of(self, cells: int, rows: int) -> int:
        """Bytes of a chunk."""
        return round(
            self.fixed + self.per_cell * cells + self.per_row * padded(rows, self.multiple)
        )


def measure(run: Callable[[int, int], int], n_tokens: int, multiple: int) -> ChunkBytes:
    """Fit the coefficients. `run(cells, first)` runs so many suffixes and tells their peak.

    The runs are small, one or two cells of a long prompt: a measurement must not itself need more
    than what it is to bound.
    """
    length = min(n_tokens, 16)
    first, last = n_tokens - length, n_tokens - 1
    few, many = -(-16 // length), -(-32 // length)
    rows = [padded(n, multiple) for n in (few * length, many * length, many)]
    a, b, c = run(few, first), run(many, first), run(many, last)
    if length == 1:
        per_row, per_cell = 0.0, (b - a) / (many - few)
    else:
        per_row = max(0.0, (b - c) / (rows[1] - rows[2])) if rows[1] > rows[2] else 0.0
        per_cell = max(0.0, (b - a - per_row * (rows[1] - rows[0])) / (many - few))
    fixed = max(
        p - per_row * n - per_cell * m for p, n, m in ((a, rows[0], few), (b, rows[1], many))
    )
    return ChunkBytes(max(fixed, 0.0), per_row, per_cell, multiple)


def rough_row_bytes(layer: nn.Module) -> int:
    """More than a row needs in any layer of this kind: every weight's output at once, thrice."""
    widths = sum(max(p.shape) for p in layer.parameters() if p.ndim >= 2)
    size = next(p.element_size() for p in layer.parameters())
    return 3 * size * widths


def rough_cell_bytes(keys: Tensor, heads: int, n_tokens: int) -> int:
    """More than a cell's attention needs: its keys and values, and a block's weights, twice over.

    `keys` are a layer's, [positions, kv_heads, width].
    """
    length = padded(n_tokens, 64)
    gathered = 2 * length * keys[0].numel() * keys.element_size() + 2 * 8 * length * keys.shape[1]
    block = 16 if keys.device.type == "cpu" else length
    return 2 * gathered + 3 * 4 * heads * block * length


def largest_chunk(
    chunk: ChunkBytes, budget: int, held: int, most: int, longest: int
) -> Callable[[int, int], bool]:
    """Whether so many cells and rows may run together: within the budget, and no more than useful.

    `held` bytes are taken by the unpatched runs; `most` rows are useful; `longest` is one cell's.
    """
    needed = held + chunk.of(1, longest)
    if needed > budget:
        raise RequestTooLarge(
            "one cell of this sweep", needed, budget, "raise memory_budget or shorten the prompt"
        )
    return lambda cells, rows: rows <= most and held + chunk.of(cells, rows) <= budget
